"""The insides of cells and of other functions with weights: their gates, and the arrows between these."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from regard.describe.board import NOTE
from regard.describe.graph.part_board import PartBoard, bodies
from regard.describe.vertices import Arrow, Inside, Vertex, in_order
from regard.describe.weights import STEP, LetteredWeight, letter
from regard.notation import Equation, Function, Symbol, symbols
from regard.notation.walking import written_symbol


def insides(board: PartBoard, cell_sizes: Mapping[str, int]) -> list[Inside]:
    return [_inside(board, one, cell_sizes) for one in board.lines.functions if _is_worth(board, one)]


def _is_worth(board: PartBoard, function: Function) -> bool:
    """Whether a function has weights worth showing: a cell, a composer, a block, but not layernorm."""
    if function.equation.targets[0].base in board.cells:
        return True
    return any(board.is_weight(one) for body in bodies(function) for one in symbols(body))


def _inside(board: PartBoard, function: Function, cell_sizes: Mapping[str, int]) -> Inside:
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
    if target.base in board.cells:
        _count_gates(board.weights, units)
    size = cell_sizes.get(target.base, 0)
    return Inside(name, function.equation.text, in_order(units, arrows), arrows, size)


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


def _count_gates(weights: Sequence[LetteredWeight], units: Sequence[Vertex]) -> None:
    """Count the weights of a cell gate by gate, if its gates have equal sizes."""
    gated = [
        unit
        for unit in units
        if any(
            letter(one)[:2] in ("W_", "U_") for equation in unit.equations for one in symbols(equation.body)
        )
    ]
    cells: dict[str, dict[str, int]] = {}
    for one in weights:
        if one.letters.startswith(STEP) and re.search(r"\.(weight|bias)_[ih]h$", one.name):
            cell = cells.setdefault(one.name.rpartition(".")[0], {})
            cell[one.name] = cell.get(one.name, 0) + one.count
    sizes = {sum(cell.values()) for cell in cells.values()}
    if gated and len(sizes) == 1 and not next(iter(sizes)) % len(gated):
        for unit in gated:
            unit.weights = {name: count // len(gated) for name, count in next(iter(cells.values())).items()}
