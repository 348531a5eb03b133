"""Create a world, package or reader in Python by name and options. Mistakes raise a `RegardError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from regard.errors import RegardError
from regard.parts import Options, find, nearest


def choose(kind: str, name: str, options: Mapping[str, Any]) -> Any:
    """The part with this name, created with these options."""
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
