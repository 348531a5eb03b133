"""Assign weights to vertices by the letters in their equations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from regard.describe.graph.defining import Definitions
from regard.describe.graph.part_board import GIVEN, PartBoard, bodies
from regard.describe.vertices import Vertex
from regard.describe.weights import FIRST, LetteredWeight
from regard.notation import Call, Equation, Node, Symbol, symbols
from regard.notation.walking import bind, items_in, parts_below, said_symbols


def assign_weights(board: PartBoard, definitions: Definitions, units: Sequence[Vertex]) -> list[Vertex]:
    """Give each vertex its weights and a name for them. Returns boxes for weights that are in no equation."""
    used = {unit.key: list(dict.fromkeys(letters_of(board, unit))) for unit in units}
    unknown = []
    for weight in board.weights:
        users = _users(board, definitions, weight, units, used)
        for unit in users:
            unit.held.append(weight)
        if not users:
            unknown.append(weight)
    boxes = _boxes_of_rest(board, unknown, units, used)
    for unit in (*units, *boxes):
        owners = sorted(dict.fromkeys(one.owner for one in unit.held), key=FIRST.__eq__)
        unit.name = ", ".join(owners[:3]) if len(owners) < 4 else f"{owners[0]}, …"
    return boxes


def letters_of(board: PartBoard, unit: Vertex) -> Iterator[Symbol]:
    """The symbols in the equations of a vertex and in the functions they call."""
    for equation in unit.equations:
        yield from _letters_in(board, equation.body, {})


def _letters_in(board: PartBoard, node: Node, bound: Mapping[str, Node]) -> Iterator[Symbol]:
    """The symbols of a node, including those of functions it calls, with their indices substituted."""
    if isinstance(node, Symbol):
        known = bind(node, bound)
        if isinstance(known, Symbol):
            yield known
    if isinstance(node, Call):
        for function in board.called(node):
            names = [one.base for one in function.equation.targets[0].items if isinstance(one, Symbol)]
            values = [bind(item, bound) for item in node.items]
            inner = {**bound, **dict(zip(names, values, strict=False))}
            for body in bodies(function):
                yield from _letters_in(board, body, inner)
    for part in parts_below(node):
        yield from _letters_in(board, part, bound)


def _users(
    board: PartBoard,
    definitions: Definitions,
    weight: LetteredWeight,
    units: Sequence[Vertex],
    used: Mapping[str, Sequence[Symbol]],
) -> list[Vertex]:
    """The vertices that use a weight's letters, or define the value that is learned."""
    values = [one for one in weight.letters if board.is_value(one)]
    if values:
        return _definers(board, definitions, values)
    matching = [unit for unit in units if any(board.is_of(weight, one) for one in used[unit.key])]
    if not matching:
        near = [
            one for one in board.beside if any(board.is_of(weight, symbol) for symbol in symbols(one.body))
        ]
        named = [symbol for equation in _beside(board, near) for symbol in said_symbols(equation.body)]
        matching = _definers(board, definitions, named)
    tables = [unit for unit in matching if unit.target is None]
    if not tables:
        return matching
    # A table with its own vertex is held there. Elsewhere it occurs as a matrix, in an output that shares it.
    return tables + [unit for unit in matching if unit.target is not None and _as_matrix(board, unit, weight)]


def _definers(board: PartBoard, definitions: Definitions, wanted: Sequence[Symbol]) -> list[Vertex]:
    """The vertices that define symbols at all steps, or at those alone."""
    found: dict[str, Vertex] = {}
    for symbol in wanted:
        units = definitions.definers(board, symbol)
        for unit in units[-1:]:
            found[unit.key] = unit
    return list(found.values())


def _beside(board: PartBoard, near: Sequence[Equation]) -> list[Equation]:
    """Equations of the loss, and those that use what they define: ς = d_y u_y, and the loss of ς."""
    made = {equation.targets[0].base for equation in near}
    return [
        one
        for one in board.beside
        if one in near or any(symbol.base in made for symbol in said_symbols(one.body))
    ]


def _as_matrix(board: PartBoard, unit: Vertex, weight: LetteredWeight) -> bool:
    for equation in unit.equations:
        looked = {id(entry.of) for entry in items_in(equation.body)}
        for symbol in symbols(equation.body):
            if id(symbol) not in looked and board.is_of(weight, symbol):
                return True
    return False


def _boxes_of_rest(
    board: PartBoard,
    unknown: Sequence[LetteredWeight],
    units: Sequence[Vertex],
    used: Mapping[str, Sequence[Symbol]],
) -> list[Vertex]:
    """Assign parameters without letters to vertices with unassigned letters, else to boxes."""
    bare = [
        unit
        for unit in units
        if any(
            _is_free(board, symbol) and not any(board.is_of(one, symbol) for one in board.weights)
            for symbol in used[unit.key]
        )
    ]
    boxes: dict[str, Vertex] = {}
    known = {id(weight.tensor) for unit in units for weight in unit.held}
    for one in unknown:
        if id(one.tensor) in known:
            continue  # shared under another name, such as output weights that are the embedding
        if bare and not one.letters:
            bare[0].held.append(one)
            continue
        box = Vertex(f"{board.key}/box {one.owner}", board.key, one.owner, one.owner, kind="box")
        boxes.setdefault(one.owner, box).held.append(one)
    return list(boxes.values())


def _is_free(board: PartBoard, symbol: Symbol) -> bool:
    """Whether a letter can denote a weight: W_s, but not h_j."""
    below = [getattr(item, "base", "") for item in symbol.items]
    weight = len(symbol.base) <= 2 and bool(below) and not any(one in board.lines.ranges for one in below)
    return weight and symbol.base not in GIVEN and not board.is_defined(symbol.base, len(below))
