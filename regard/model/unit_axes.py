"""The axes of a network's weights that have a row for each unit of a column: a word, a character, a class.

No part has to name these axes. The network is built once more, without memory, with one more unit of a column: an axis
that grows by one, and is as long as the list of units, has a row for each unit. A module whose rows are arranged in
another way says so in a method `unit_rows`:

    def unit_rows(self) -> Mapping[str, Sequence[int | Hashable]]:
        # for each of its weights, along the first axis: the number of a unit, or a name for any other row
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

import torch
from torch import nn

from regard.data.columns import Column
from regard.model.building import build_network, shared_with
from regard.spec import Spec

Names = Sequence[Hashable]
UnitKind = tuple[str, str]
"""A column, and the kind of its units."""


@dataclass(frozen=True)
class UnitAxes:
    """names    {weight: {axis: the name of each row}}
    unknown    weights whose shapes depend on a vocabulary in a way that no rule and no part explains
    """

    names: dict[str, dict[int, Names]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


def unit_axes(spec: Spec, columns: Mapping[str, Column], kinds: Iterable[UnitKind]) -> UnitAxes:
    """The axes that have a row for each unit of these kinds, with the names of their rows."""
    found = UnitAxes()
    network = _without_memory(spec, columns)
    shapes, declared = _shapes(network), dict(_declared(network))
    for column, kind in kinds:
        units = columns[column].units()[kind]
        grown = _shapes(_without_memory(spec, _grown(spec, columns, column, kind)))
        growing = {name for name, shape in shapes.items() if grown.get(name, shape) != shape}
        modules = {module for name, (module, _) in declared.items() if name in growing}
        for name, (module, rows) in declared.items():
            if module in modules:
                names = [units[row] if isinstance(row, int) else row for row in rows]
                found.names.setdefault(name, {})[0] = names
        for name in growing - set(declared):
            axes = [axis for axis, size in enumerate(shapes[name]) if grown[name][axis : axis + 1] != (size,)]
            plain = len(grown[name]) == len(shapes[name]) and all(
                shapes[name][axis] == len(units) and grown[name][axis] == len(units) + 1 for axis in axes
            )
            if not plain or any(axis in found.names.get(name, {}) for axis in axes):
                found.unknown.add(name)
            for axis in axes:
                found.names.setdefault(name, {})[axis] = units
    return found


def _grown(spec: Spec, columns: Mapping[str, Column], name: str, kind: str) -> dict[str, Column]:
    """The columns, with one more unit for a column and those that share its vocabulary."""
    grown = dict(columns)
    for other in (name, *(one for one, owner in shared_with(spec).items() if owner == name)):
        if other in grown and kind in grown[other].units():
            grown[other] = copy(grown[other])
            grown[other].grow(kind)
    return grown


def _without_memory(spec: Spec, columns: Mapping[str, Column]) -> nn.Module:
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        return build_network(spec, columns, read_files=False)


def _shapes(network: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


def _declared(network: nn.Module) -> Iterator[tuple[str, tuple[str, Sequence[int | Hashable]]]]:
    """(weight, (its module, its rows)) for all modules that declare them."""
    for path, module in network.named_modules():
        if hasattr(type(module), "unit_rows"):
            for name, rows in module.unit_rows().items():  # type: ignore[operator]
                yield (f"{path}.{name}" if path else name), (path, rows)
