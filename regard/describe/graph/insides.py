"""The insides of cells and of other functions with weights: their gates, and the arrows between these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.describe.graph.part_board import PartBoard, bodies
from regard.describe.six_answers import NOTE
from regard.describe.sizes import BoardSizes, Size
from regard.describe.vertices import Arrow, Inside, Vertex, in_order
from regard.notation import Equation, Function, Symbol, symbols
from regard.notation.walking import written_symbol


def insides(board: PartBoard, sizes: BoardSizes) -> list[Inside]:
    return [_inside(board, one, sizes) for one in board.lines.functions if _is_worth(board, one)]


def _is_worth(board: PartBoard, function: Function) -> bool:
    """Whether a function has weights worth showing: a cell, a composer, a block, but not layernorm."""
    if function.equation.targets[0].base in board.cells:
        return True
    return any(board.is_weight(one) for body in bodies(function) for one in symbols(body))


def _inside(board: PartBoard, function: Function, sizes: BoardSizes) -> Inside:
    target: Any = function.equation.targets[0]
    name = written_symbol(Symbol(target.base, target.items))
    parameters = list(dict.fromkeys(one.base for one in target.arguments))
    texts = _gate_texts(board.texts, function)
    units = [Vertex(parameter, name, parameter, kind="input") for parameter in parameters]
    for gate, body in function.inside.items():
        equation = Equation((Symbol(gate),), body, (), "")
        units.append(Vertex(gate, name, gate, lines=[texts.get(gate, gate)], equations=[equation]))
    said = function.equation.text.partition(" = ")[2]
    units.append(Vertex("result", name, "result", lines=[said], kind="output", equations=[function.equation]))
    known = {*parameters, *function.inside}
    arrows = []
    for unit in units:
        for equation in unit.equations:
            for base in dict.fromkeys(one.base for one in symbols(equation.body) if one.base in known):
                if base != unit.key:
                    arrows.append(Arrow(base, unit.key, base))
    size: Size = 0
    if target.base in board.cells:
        _count_gates(board, units)
        size = sizes.of_function(function, {})
    return Inside(
        name, function.equation.text, in_order(units, arrows), arrows, size if isinstance(size, int) else 0
    )


def _gate_texts(lines: Sequence[str], function: Function) -> dict[str, str]:
    """{gate: its line} of a function."""
    found: dict[str, str] = {}
    inside = False
    for line in lines:
        if not line[:1].isspace():
            inside = line.partition(NOTE)[0].strip() == function.equation.text.partition(NOTE)[0].strip()
        elif inside:
            said = line.partition(NOTE)[0].strip()
            found[said.partition(" = ")[0]] = said
    return found


def _count_gates(board: PartBoard, units: Sequence[Vertex]) -> None:
    """Count the weights of a cell gate by gate, if the cells with this function have equal sizes."""
    cells: dict[str, dict[str, dict[str, int]]] = {}  # {cell: {gate: {parameter: number}}}
    for unit in units:
        for weight in board.weights_in([equation.body for equation in unit.equations]):
            gates = cells.setdefault(weight.name.rpartition(".")[0], {})
            counts = gates.setdefault(unit.key, {})
            counts[weight.name] = counts.get(weight.name, 0) + weight.count
    totals = [{gate: sum(counts.values()) for gate, counts in gates.items()} for gates in cells.values()]
    if totals and all(one == totals[0] for one in totals):
        for unit in units:
            unit.weights = next(iter(cells.values())).get(unit.key, {})
