"""The input or output of a part: the vertex of its column, and the arrows from or to it."""

from __future__ import annotations

from collections.abc import Sequence

from regard.describe.graph.part_board import GIVEN, PartBoard
from regard.describe.graph.tables import Tables
from regard.describe.vertices import Arrow, Vertex
from regard.notation import Number, Operation, Symbol, symbols
from regard.notation.walking import items_in, said_symbols


def reads(board: PartBoard, tables: Tables, unit: Vertex) -> bool:
    """Whether a vertex reads the column: words in an encoder, previously generated ones in a decoder."""
    for equation in unit.equations:
        looked = [] if unit.target is None else list(items_in(equation.body))
        elsewhere = {id(one) for entry in looked if tables.have(entry) for one in symbols(entry.items)}
        for one in symbols(equation.body):
            base = one.base.replace("′", "")
            if id(one) in elsewhere or board.is_defined(one.base, len(one.items)):
                continue
            given = (base in GIVEN and bool(one.items)) or base == "X"
            if given and (base == "y") == board.decodes:
                return True
    return False


def with_given(
    board: PartBoard,
    tables: Tables,
    units: Sequence[Vertex],
    arrows: Sequence[Arrow],
    name: str,
    described: str,
) -> tuple[list[Vertex], list[Arrow]]:
    """The vertices and arrows of a part, including those of its column."""
    given = Vertex(f"{board.key}/given", board.key, name, lines=[described.removeprefix(f"{name}: ")])
    readers = [unit for unit in units if reads(board, tables, unit)]
    if board.decodes:
        given.kind = "output"
        return _with_output(board, units, arrows, given, readers)
    given.kind = "input"
    return _with_input(board, units, arrows, given, readers)


def _with_input(
    board: PartBoard,
    units: Sequence[Vertex],
    arrows: Sequence[Arrow],
    given: Vertex,
    readers: Sequence[Vertex],
) -> tuple[list[Vertex], list[Arrow]]:
    taken = {arrow.target for arrow in arrows}
    first = readers or [unit for unit in units if unit.key not in taken][:1]
    given.target = _read_symbol(board, first)
    given.indices = () if given.target is None else board.indices(given.target)
    return [given, *units], [*arrows, *(Arrow(given.key, unit.key, "") for unit in first)]


def _with_output(
    board: PartBoard,
    units: Sequence[Vertex],
    arrows: Sequence[Arrow],
    given: Vertex,
    readers: Sequence[Vertex],
) -> tuple[list[Vertex], list[Arrow]]:
    """Add arrows from the final vertices to the output, and delayed ones from the output to its readers."""
    symbol, used = "y" + board.primes, {arrow.source for arrow in arrows}
    answers = [unit for unit in units if unit.key not in used and unit.kind != "box"]
    if answers and answers[-1].target is not None:
        given.target, given.indices = Symbol(symbol, answers[-1].target.items), answers[-1].indices
    to = [Arrow(unit.key, given.key, unit.symbol) for unit in answers]
    back = [
        Arrow(given.key, unit.key, symbol, -1, reach=_reach(unit, symbol))
        for unit in readers
        if unit not in answers
    ]
    return [*units, given], [*arrows, *to, *back]


def _reach(unit: Vertex, symbol: str) -> int:
    """The most steps that a vertex goes back in the output: 3 where y_{t−3} is read."""
    return max(
        (
            int(item.right.value)
            for equation in unit.equations
            for one in symbols(equation.body)
            if one.base == symbol
            for item in one.items
            if isinstance(item, Operation) and item.sign == "−" and isinstance(item.right, Number)
        ),
        default=1,
    )


def _read_symbol(board: PartBoard, readers: Sequence[Vertex]) -> Symbol | None:
    """The symbol of the input, such as w_j."""
    for unit in readers:
        for equation in unit.equations:
            for one in said_symbols(equation.body):
                if one.base.replace("′", "") in GIVEN and not board.is_defined(one.base, len(one.items)):
                    return one
    return None
