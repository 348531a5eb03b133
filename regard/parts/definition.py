"""Classes as they were defined, so that a method that is replaced later is noticed, whoever asks first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Made = TypeVar("Made", bound=type)
KEPT = "__as_defined__"


def remember(made: Made) -> Made:
    """Keep the attributes that a class has now. `base` and `register` do so; another class that a fast path replaces
    is decorated: `@remember`."""
    if isinstance(made, type):
        setattr(made, KEPT, dict(vars(made)))
    return made


def attributes(made: type) -> Mapping[str, Any]:
    """The attributes of a class alone, as it was defined; as they are now for a class that was not remembered."""
    kept: Mapping[str, Any] | None = vars(made).get(KEPT)
    return vars(made) if kept is None else kept


def as_defined(made: type, name: str) -> Any:
    """An attribute of a class or of its bases, as they were defined."""
    for one in made.__mro__:
        if name in attributes(one):
            found = attributes(one)[name]
            return found.__func__ if isinstance(found, staticmethod) else found
    raise AttributeError(f"type object {made.__name__!r} has no attribute {name!r}")
