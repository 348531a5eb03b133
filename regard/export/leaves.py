"""The tensors inside memories and states, by name, and the same objects with other tensors in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor

Leaf = tuple[str, Any]


def leaves(value: Any, name: str = "") -> Iterator[Leaf]:
    """The tensors and the numbers inside dataclasses, mappings, tuples and lists: (`state.layers.0`, tensor)."""
    if isinstance(value, Tensor) or (isinstance(value, int) and not isinstance(value, bool)):
        yield name, value
        return
    for key, part in _parts(value):
        yield from leaves(part, f"{name}.{key}" if name else key)


def with_leaves(value: Any, put: Callable[[str, Any], Any], name: str = "") -> Any:
    """The same object, with `put(name, leaf)` in the place of every leaf."""
    if isinstance(value, Tensor) or (isinstance(value, int) and not isinstance(value, bool)):
        return put(name, value)
    made = {key: with_leaves(part, put, f"{name}.{key}" if name else key) for key, part in _parts(value)}
    if isinstance(value, Mapping):
        return made
    if isinstance(value, tuple | list):
        return type(value)(made.values())
    return replace(value, **made) if made else value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), part) for key, part in value.items())
    elif isinstance(value, tuple | list):
        yield from ((str(place), part) for place, part in enumerate(value))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value) if field.init)
