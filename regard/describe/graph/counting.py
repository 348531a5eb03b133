"""Count the parameters of each vertex, and find vertices that share parameters."""

from __future__ import annotations

from collections.abc import Mapping

from regard.describe.vertices import Graph, Vertex


def count(made: Graph, slopes: Mapping[str, Mapping[str, int]]) -> None:
    """Count each parameter at the first vertex that uses it.

    slopes   {column: {parameter: its growth with each unit of the column's vocabulary}}
    """
    counted: set[tuple[int, str]] = set()
    for part in made.parts:
        for unit in part.units:
            for weight in unit.held:
                if weight.identity in counted:
                    continue
                counted.add(weight.identity)
                unit.weights[weight.name] = unit.weights.get(weight.name, 0) + weight.count
                for column, grown in slopes.items():
                    if weight.name in grown:
                        unit.slopes[column] = unit.slopes.get(column, 0) + grown[weight.name]
        part.count = sum(unit.count for unit in part.units)


def group(made: Graph) -> None:
    """Give vertices that share a weight the same group number, and likewise the inside of a cell they call."""
    users: dict[tuple[int, str], list[Vertex]] = {}
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
