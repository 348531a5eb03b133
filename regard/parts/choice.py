"""Keys of a spec whose value chooses a part: `cell: gru` or `cell: {type: gru, update: cho}`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from regard.parts.options import Options
from regard.parts.registry import names, part
from regard.parts.saved import upgraded

FEW = 6
"""Largest number of names to suggest instead of an unknown one."""


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
        from regard.errors import RegardError

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
