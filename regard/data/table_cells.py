"""Tables as text: `name=The Mill|food=Italian`, or JSON; their cells, and the batch that holds them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import Sentences, moved
from regard.data.contents import Unreadable
from regard.data.readers.row import OBJECT
from regard.private import tensor_node

Cell = tuple[str, str]
"""The name of a field, and its value."""
SHORT = 40


@tensor_node()
@dataclass(frozen=True, kw_only=True)
class TableCells(Sentences):
    """A batch of tables: the value of each cell is a sentence, and `names` (N,) holds the number of its field."""

    names: Tensor

    def laid_names(self) -> Tensor:
        """(B, S) the number of the field of each cell; 0 beyond the length."""
        mask = self.mask
        return torch.zeros_like(mask, dtype=torch.int64).masked_scatter(mask, self.names)

    def to(self, device: torch.device | str) -> TableCells:
        there = super().to(device)
        shared = {one.name: getattr(there, one.name) for one in fields(Sentences)}
        return TableCells(**shared, names=moved(self.names, device))


def cells(text: str) -> list[Cell]:
    """The cells of a table that have a value, in their order; raises `Unreadable` with the reason.

    A record in a record has fields `address.city`, and the rows of a table `1.name`, `2.name`.
    """
    plain = text.removesuffix(OBJECT).strip()
    found = list(_of_json(plain) if plain.startswith(("{", "[")) else _of_pairs(plain))
    known = set[str]()
    for name, _ in found:
        if name in known:
            raise Unreadable(f"has the field {name[:SHORT]!r} twice")
        known.add(name)
    kept = [(name, value) for name, value in found if value]
    if not kept:
        raise Unreadable("has no cell with a value")
    return kept


def _of_pairs(text: str) -> Iterator[Cell]:
    for pair in text.split("|"):
        name, sign, value = (part.strip() for part in pair.partition("="))
        if not (name or sign or value):
            continue
        if not sign or not name:
            raise Unreadable(
                f"has {pair.strip()[:SHORT]!r}, expected cells such as name=The Mill|food=Italian"
            )
        yield name, " ".join(value.split())


def _of_json(text: str) -> Iterator[Cell]:
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise Unreadable("has records in too many others") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not JSON: {error}") from None
    yield from _flat("", value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Unreadable(f"has the field {name[:SHORT]!r} twice")
        found[name] = value
    return found


def _flat(before: str, value: Any) -> Iterator[Cell]:
    """The cells of a record, of the records in it, and of rows."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not name.strip():
                raise Unreadable("has a field without a name")
            yield from _flat(f"{before}.{name}" if before else name, one)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        for number, one in enumerate(value, 1):
            yield from _flat(f"{before}.{number}" if before else str(number), one)
    elif not before:
        raise Unreadable('is a list, expected cells such as {"name": "The Mill", "food": "Italian"}')
    elif isinstance(value, list):
        yield " ".join(before.split()), " , ".join(_text(before, one) for one in value)
    else:
        yield " ".join(before.split()), _text(before, value)


def _text(name: str, value: Any) -> str:
    """A value as text: numbers and truth values in JSON notation; null is empty."""
    if isinstance(value, Mapping | list):
        raise Unreadable(f"has a list in a list in the field {name[:SHORT]!r}")
    if value is None:
        return ""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
