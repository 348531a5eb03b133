"""Keys of a spec whose value chooses a part: `cell: gru` or `cell: {type: gru, update: cho}`.

In a section the options of the part stand beside its name:

search: {method: beam, beam: 5}   →   search: {method: {type: beam, beam: 5}}
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import GetCoreSchemaHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from regard.errors import RegardError
from regard.parts.options import Options, Settings, as_data, upgraded
from regard.parts.registry import load_own, names, part, registered

FEW = 6
"""Largest number of names to suggest instead of an unknown one."""
AnyOptions = TypeVar("AnyOptions", bound=Options)


@dataclass(frozen=True)
class OneOf:
    """Marks a field that holds the options of one part of a kind; see `one_of`."""

    kind: str
    default: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_plain_validator_function(self.validate)

    def validate(self, value: Any) -> Options:
        if isinstance(value, Options):
            if value.kind != self.kind:
                raise PydanticCustomError(
                    "wrong_part",
                    "expected a {wanted}, received the {kind} {name}",
                    {"wanted": self.kind, "kind": value.kind or "options of", "name": repr(value.type)},
                )
            return value
        options = self.options_of(value)
        given = (
            {key: item for key, item in value.items() if key != "type"} if isinstance(value, Mapping) else {}
        )
        return options.model_validate(upgraded(options, self.kind, self._named(value), given))

    def _named(self, value: Any) -> str:
        """The name of the part, as a value writes it."""
        return str(value.get("type", self.default) if isinstance(value, Mapping) else value)

    def options_of(self, value: Any) -> type[Options]:
        """The options class of the part that a value names; raises a ValidationError if there is none."""
        place: tuple[str, ...] = ()
        if isinstance(value, str):
            name: Any = value
        elif isinstance(value, Mapping):
            if value.get("type", self.default) is None:
                raise _mistake("missing_part", "the key 'type' is missing", ("type",), value, self.kind, "")
            name, place = value.get("type", self.default), ("type",)
        else:
            raise _mistake(
                "part_type", "expected a name or a mapping of options", (), value, self.kind, value
            )
        found = part(self.kind, name) if isinstance(name, str) else None
        if found is None:
            raise _mistake("unknown_part", "{name} is not a known {kind}", place, value, self.kind, name)
        chosen: type[Options] = (
            found if isinstance(found, type) and issubclass(found, Options) else found.Options
        )
        return chosen


def one_of(kind: str, default: str | None = None) -> OneOf:
    """Annotation for a field of options: `cell: Annotated[Any, one_of("cell")] = "gru"`.

    default   the part to use for a mapping without `type`
    """
    return OneOf(kind, default)


def find(kind: str, name: str) -> Any:
    """The part with this name, or an error with the nearest name."""
    found = part(kind, name)
    if found is None:
        raise RegardError(f"there is no {kind} {name!r}.", fix=suggestion(kind, name))
    return found


def suggestion(kind: str, name: str) -> str:
    """What to write instead of an unknown name."""
    before = name.partition(":")[0]
    if before != name and before in names(kind):  # timm:resnet18
        return f"Write  {{type: {before}, …}}  with its options."
    return nearest(name, names(kind))


def nearest(word: str, known: Sequence[str]) -> str:
    """`Did you mean size?`: the closest name, or the few that contain the word; else all names. Empty without names."""
    match = difflib.get_close_matches(word, known, n=1, cutoff=0.55)
    if match:
        return f"Did you mean {match[0]}?"
    containing = sorted(name for name in known if len(word) > 1 and word.lower() in name.lower())
    if 0 < len(containing) <= max(FEW, len(known) // 6):
        return f"Did you mean {' or '.join(containing)}?"
    return f"Known: {', '.join(sorted(known))}." if known else ""


def _mistake(
    kind: str, message: str, place: tuple[str, ...], received: Any, part_kind: str, name: Any
) -> ValidationError:
    error = PydanticCustomError(kind, message, {"kind": part_kind, "name": repr(name)})  # type: ignore[arg-type]
    details = InitErrorDetails(type=error, loc=place, input=received, ctx={})
    return ValidationError.from_exception_data(part_kind, [details])


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
        load_own(kind)
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


def choose(kind: str, name: str, options: Mapping[str, Any]) -> Any:
    """The part with this name, created with these options; a mistake raises a `RegardError`."""
    made = find(kind, name)
    try:
        return made(**options)
    except ValidationError as error:
        raise _refusal(error, made, f"{kind} {name}") from None


def _refusal(error: ValidationError, made: type[Options], where: str) -> RegardError:
    """The error for the first mistake. Unknown options come first, because they often cause the others."""
    mistakes = error.errors(include_url=False)
    mistake = min(mistakes, key=lambda found: found["type"] != "extra_forbidden")
    option = ".".join(str(step) for step in mistake["loc"])
    if mistake["type"] == "extra_forbidden":
        known = list(made.model_fields)
        return RegardError(
            f"the {where} has no option {option!r}; it has {', '.join(known)}.", fix=nearest(option, known)
        )
    cause = mistake.get("ctx", {}).get("error")
    if isinstance(cause, RegardError):
        return RegardError(cause.what, where=where, fix=cause.fix)
    expected = mistake["msg"].replace("Input should be", "expected").rstrip(".")
    return RegardError(f"{option} is {mistake['input']!r}, {expected}.", where=where)
