"""Choosing a world or a package by name, with options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from regard.errors import RegardError

T = TypeVar("T")


def choose(kind: str, known: Mapping[str, type[T]], name: str, options: Mapping[str, Any]) -> T:
    """known[name](**options), with an error that names the nearest name or option."""
    if name not in known:
        raise RegardError(
            f"there is no {kind} {name!r}; known: {', '.join(known)}.", fix=_nearest(name, list(known))
        )
    made = known[name]
    allowed = {field.name: field.default for field in fields(made)} if is_dataclass(made) else {}
    for option, value in options.items():
        if option not in allowed:
            raise RegardError(
                f"the {kind} {name} has no option {option!r}; it has {', '.join(allowed)}.",
                fix=_nearest(option, list(allowed)),
            )
        _check_option(allowed[option], value, option, f"{kind} {name}")
    return made(**options)


def _check_option(default: Any, value: Any, option: str, where: str) -> None:
    """An option is of its default's kind: a yes or no, or a whole number."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise RegardError(f"{option} is {value!r}, expected true or false.", where=where)
    elif isinstance(default, int) and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise RegardError(f"{option} is {value!r}, expected a whole number.", where=where)


def _nearest(name: str, known: list[str]) -> str:
    nearest = get_close_matches(name, known, n=1)
    return f"Did you mean {nearest[0]!r}?" if nearest else ""
