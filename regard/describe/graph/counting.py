"""Count the parameters of each vertex, and find vertices that share parameters."""

from __future__ import annotations

from collections.abc import Mapping

from regard.describe.vertices import Graph, Vertex
from regard.model.count_formula import CountFormula


def count(made: Graph, formulas: Mapping[str, CountFormula]) -> None:
    """Count each parameter at the first vertex that uses it.

    formulas   {parameter: its number of entries}, if it depends on vocabularies that are not yet known
    """
    counted: set[tuple[int, int]] = set()
    sizes = {weight.name: weight.tensor.numel() for unit in made.units() for weight in unit.held}
    for part in made.parts:
        for unit in part.units:
            for weight in unit.held:
                if weight.identity in counted:
                    continue
                counted.add(weight.identity)
                unit.weights[weight.name] = unit.weights.get(weight.name, 0) + weight.count
                whole = weight.tensor.numel()
                grown = formulas.get(weight.name, CountFormula.constant(whole))
                unit.formula += grown.share(weight.count, whole)
        part.count = sum(unit.count for unit in part.units)
        for unit in (one for inside in part.insides for one in inside.units if one.weights):
            unit.formula = _of_gate(unit, formulas, sizes)


def _of_gate(unit: Vertex, formulas: Mapping[str, CountFormula], sizes: Mapping[str, int]) -> CountFormula:
    """The number of weights of one gate of a cell."""
    total = CountFormula()
    for name, share in unit.weights.items():
        known = name not in formulas
        total += CountFormula.constant(share) if known else formulas[name].share(share, sizes[name])
    return total


def group(made: Graph) -> None:
    """Give vertices that share a weight the same group number, and likewise the inside of a cell they call."""
    users: dict[tuple[int, int], list[Vertex]] = {}
    for unit in made.units():
        for weight in unit.held:
            users.setdefault(weight.identity, []).append(unit)
    number = 0
    for unit in made.units():
        if unit.group is not None or not unit.held:
            continue
        waiting = [unit]
        while waiting:
            reached = waiting.pop()
            if reached.group is None:
                reached.group = number
                waiting += [other for weight in reached.held for other in users[weight.identity]]
        number += 1
    for part in made.parts:
        for inside in part.insides:
            callers = [unit for unit in part.units if any(inside.name in line for line in unit.lines)]
            inside.group = next((unit.group for unit in callers if unit.group is not None), None)
