"""Assign weights to vertices by the letters in their equations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from regard.describe.graph.part_board import GIVEN, PartBoard, bodies
from regard.describe.vertices import Vertex
from regard.describe.weights import FIRST, STEP, LetteredWeight, letter
from regard.notation import Call, Node, Symbol, symbols
from regard.notation.walking import bind, items_in, parts_below


def hold(board: PartBoard, units: Sequence[Vertex]) -> list[Vertex]:
    """Give each vertex its weights and a name for them. Returns boxes for weights that are in no equation."""
    used = {unit.key: list(dict.fromkeys(letters_of(board, unit))) for unit in units}
    unknown = []
    for weight in _shares(board.weights, {one for found in used.values() for one in found}):
        users = _users(weight, units, used)
        for unit in users:
            unit.held.append(weight)
        if not users:
            unknown.append(weight)
    boxes = _hold_unknown(board, unknown, units, used)
    for unit in (*units, *boxes):
        owners = sorted(dict.fromkeys(one.owner for one in unit.held), key=FIRST.__eq__)
        unit.name = ", ".join(owners[:3]) if len(owners) < 4 else f"{owners[0]}, …"
    return boxes


def letters_of(board: PartBoard, unit: Vertex) -> Iterator[str]:
    """The letters in the equations of a vertex; `=s` for the symbol it defines, `@y` for its cell."""
    for equation in unit.equations:
        if unit.target is not None and not board.is_certain(unit.target):
            yield "=" + unit.target.base.replace("′", "").lstrip("→←")
        yield from _letters_in(board, equation.body, {})


def _letters_in(board: PartBoard, node: Node, bound: Mapping[str, Node]) -> Iterator[str]:
    """The letters of a node, including those of functions it calls, with their indices substituted."""
    if isinstance(node, Symbol):
        known = bind(node, bound)
        if isinstance(known, Symbol):
            yield letter(known)
    if isinstance(node, Call):
        if node.base in board.cells:
            yield STEP + letter(replace(node, base="")).lstrip("_")
        for function in board.called(node):
            names = [one.base for one in function.equation.targets[0].items if isinstance(one, Symbol)]
            values = [bind(item, bound) for item in node.items]
            inner = {**bound, **dict(zip(names, values, strict=False))}
            for body in bodies(function):
                yield from _letters_in(board, body, inner)
    for part in parts_below(node):
        yield from _letters_in(board, part, bound)


def _shares(weights: Sequence[LetteredWeight], used: set[str]) -> list[LetteredWeight]:
    """The weights, with those of a bridge split by letter: W_s and W_n, for the initial state and the initial
    memory."""
    found: list[LetteredWeight] = []
    for one in weights:
        marks = {name.partition("_")[2] for name in used if re.fullmatch(one.letters, name)}
        if one.owner == "bridge" and len(marks) > 1:
            share = one.count // len(marks)
            found += [replace(one, letters=f"[Wb]_{mark}", count=share) for mark in sorted(marks)]
        else:
            found.append(one)
    return found


def _users(
    weight: LetteredWeight, units: Sequence[Vertex], used: Mapping[str, Sequence[str]]
) -> list[Vertex]:
    """The vertices that use a weight's letters; `W_h|=r` belongs to r if no equation contains W_h."""
    first, *others = weight.letters.split("|=")
    matching: list[Vertex] = []
    for pattern in (first, *(f"={other}" for other in others)):
        if pattern and not matching:
            matching = [unit for unit in units if any(re.fullmatch(pattern, one) for one in used[unit.key])]
    tables = [unit for unit in matching if unit.target is None]
    if not tables:
        return matching
    # A table with its own vertex is held there. Elsewhere it occurs as a matrix, in an output that shares it.
    return tables + [unit for unit in matching if unit.target is not None and _as_matrix(unit, weight)]


def _as_matrix(unit: Vertex, weight: LetteredWeight) -> bool:
    for equation in unit.equations:
        looked = {id(entry.of) for entry in items_in(equation.body)}
        for symbol in symbols(equation.body):
            if id(symbol) not in looked and re.fullmatch(weight.letters, letter(symbol)):
                return True
    return False


def _hold_unknown(
    board: PartBoard,
    unknown: Sequence[LetteredWeight],
    units: Sequence[Vertex],
    used: Mapping[str, Sequence[str]],
) -> list[Vertex]:
    """Assign parameters without known letters to vertices with unassigned letters, else to boxes."""
    patterns = [one.letters for one in board.weights if one.letters]
    bare = [
        unit
        for unit in units
        if any(
            _is_free(board, name) and not any(re.fullmatch(one, name) for one in patterns)
            for name in used[unit.key]
        )
    ]
    boxes: dict[str, Vertex] = {}
    for one in unknown:
        if bare and not one.letters:
            bare[0].held.append(one)
            continue
        box = Vertex(f"{board.key}/box {one.owner}", board.key, one.owner, one.owner, kind="box")
        boxes.setdefault(one.owner, box).held.append(one)
    return list(boxes.values())


def _is_free(board: PartBoard, name: str) -> bool:
    """Whether a letter can denote a weight: W_s, but not h_j."""
    base, _, below = name.partition("_")
    weight = len(base) <= 2 and bool(below) and not any(one in board.lines.ranges for one in below)
    return weight and base not in GIVEN and not board.is_defined(base, len(below))
