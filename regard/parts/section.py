"""Sections of a spec in which the options of a part stand beside its name.

search: {method: beam, beam: 5}   →   search: {method: {type: beam, beam: 5}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from regard.parts.choice import OneOf
from regard.parts.options import Options, Settings, as_data
from regard.parts.registry import names, part, registered

AnyOptions = TypeVar("AnyOptions", bound=Options)


class Section(Settings):
    """Settings with one key that chooses a part; the options of this part may be written beside that key.

    chooser    the key
    tolerant   whether options of parts that were not chosen may be written too. They are validated and kept, so that
               the choice can be changed later without writing them again; else they are refused
    """

    chooser: ClassVar[str] = ""
    tolerant: ClassVar[bool] = False

    @classmethod
    def choice(cls) -> OneOf:
        """The kind of part that is chosen."""
        return next(one for one in cls.model_fields[cls.chooser].metadata if isinstance(one, OneOf))

    @classmethod
    def all_options(cls) -> Iterator[type[Options]]:
        """The options of every part that may be chosen."""
        kind = cls.choice().kind
        yield from (part(kind, name).Options for name in names(kind))

    @classmethod
    def gathered(cls, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The section with the options of the chosen part below its name, and the keys that moved there."""
        chosen = data.get(cls.chooser, cls.choice().default)
        try:
            options = type(chosen) if isinstance(chosen, Options) else cls.choice().options_of(chosen)
        except ValidationError:  # told when the section is validated
            return dict(data), []
        moved = [key for key in data if key in options.model_fields and key not in cls.model_fields]
        if not moved:
            return dict(data), []
        inside = {"type": chosen} if isinstance(chosen, str) else dict(as_data(chosen))
        kept = {key: value for key, value in data.items() if key not in moved}
        return {**kept, cls.chooser: {**inside, **{key: data[key] for key in moved}}}, moved

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        data, _ = cls.gathered(value)
        others = [key for key in data if key not in cls.model_fields]
        mistakes = []
        for key in others if cls._is_known(data) else ():
            try:
                data[key] = cls._of_another(key, data)
            except ValidationError as error:
                mistakes += _below(key, error)
            except PydanticCustomError as error:
                mistakes.append(InitErrorDetails(type=error, loc=(key,), input=data[key], ctx={}))
            except LookupError:
                if cls.tolerant:
                    details = InitErrorDetails(type="extra_forbidden", loc=(key,), input=data[key], ctx={})
                    mistakes.append(details)
        if mistakes:
            raise ValidationError.from_exception_data(cls.__name__, mistakes)
        if not cls._is_known(data):  # the name is the mistake
            data = {key: value for key, value in data.items() if key not in others}
        return data

    @classmethod
    def _is_known(cls, data: Mapping[str, Any]) -> bool:
        chosen = data.get(cls.chooser, cls.choice().default)
        try:
            return isinstance(chosen, Options) or bool(cls.choice().options_of(chosen))
        except ValidationError:
            return False

    @classmethod
    def _of_another(cls, key: str, data: Mapping[str, Any]) -> Any:
        """The value of an option of a part that was not chosen; a LookupError if no part has this option."""
        kind, chosen = cls.choice().kind, data.get(cls.chooser, cls.choice().default)
        loaded = [made.Options for one, _, made in registered() if one == kind]
        owners = [one for one in loaded if key in one.model_fields]
        owners = owners or [one for one in cls.all_options() if key in one.model_fields]
        if not owners:
            raise LookupError(key)
        if cls.tolerant:
            return _validated(owners[0], key, data[key])
        options = type(chosen) if isinstance(chosen, Options) else cls.choice().options_of(chosen)
        own = [one for one in options.model_fields if one not in owners[0].model_fields]
        found = sorted(one.type for one in owners)
        belongs = f"{cls.chooser}: {found[0]}" if len(found) == 1 else " and ".join(found)
        instead = f"; {options.type} has {', '.join(own)}" if own else ""
        told = f"{key} has no effect: it belongs to {belongs}{instead}. Remove it."
        raise PydanticCustomError("value_error", "{told}", {"told": told})

    def options_of(self, options: type[AnyOptions]) -> AnyOptions:
        """The options of a part as this section writes them, whether it is chosen or not."""
        chosen = getattr(self, self.chooser)
        if isinstance(chosen, options):
            return chosen
        others = self.model_extra or {}
        return options(**{key: value for key, value in others.items() if key in options.model_fields})

    def beside(self) -> dict[str, Any]:
        """The section as plain data, with the options of the part beside its name."""
        data: dict[str, Any] = as_data(self)
        inside = data.get(self.chooser, {})
        if type(self).model_fields.keys() & inside.keys():  # an option with the name of another key
            return data
        return {**data, self.chooser: inside["type"], **_without_type(inside)} if inside else data

    @property
    def given(self) -> set[str]:
        """The keys that were written, those of the chosen part among them."""
        return {*self.model_fields_set, *getattr(self, self.chooser).model_fields_set}


def _without_type(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != "type"}


def _validated(options: type[Options], key: str, value: Any) -> Any:
    """One option of a part, without the others."""
    try:
        return getattr(options.model_validate({key: value}), key)
    except ValidationError as error:
        if all(mistake["loc"][:1] != (key,) for mistake in error.errors()):
            return value  # another option is needed, which nobody asks for
        raise


def _below(key: str, error: ValidationError) -> list[InitErrorDetails]:
    return [
        InitErrorDetails(
            type=PydanticCustomError(one["type"], "{told}", {**one.get("ctx", {}), "told": one["msg"]}),
            loc=one["loc"],
            input=one["input"],
            ctx={},
        )
        for one in error.errors(include_url=False)
        if one["loc"][:1] == (key,)
    ]
