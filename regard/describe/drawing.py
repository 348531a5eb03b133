"""A model as a figure: rolled, unrolled over its steps, and inside its cells. `regard describe NAME -o net.svg`"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regard.describe.graph import graph
from regard.describe.outlines import color_of, outline
from regard.describe.unrolling import unrolled
from regard.describe.vertices import Arrow, Graph, Inside, Vertex
from regard.inspect.drawings.lines import Lines
from regard.inspect.layout import BOLDER, WIDEST, Block, below, flowing, frame
from regard.inspect.scene import Circle, Group, Mark, Rect, Scene, Text
from regard.inspect.wiring import PlacedBox, Wire, wired
from regard.inspect.writing import shorten, text_width, wrap
from regard.model.count_formula import CountFormula
from regard.spec import Spec

WIDE, SMALL, TEXT = 400.0, 280.0, 12.0
LINE = 15.0
GAP = 40.0
OPTION_LINES = 6
"""Maximum number of lines for the options of a part."""
FIRM = "\u00a0"
"""A blank at which no line breaks."""
WIDER = 1.3
"""Factor by which bold letters and signs may exceed the estimate of `text_width`."""


def draw(spec: Spec, what: str = "", *, widest: float = WIDEST) -> Scene:
    """The figure of a model; for the folder of a run, with its fitted vocabularies.

    widest   maximum width of drawings side by side; wider ones are stacked
    """
    made = graph(spec, what)
    steps = unrolled(made)
    rolled = _captioned("rolled", _rolled(made))
    beside = [] if steps is None else [_captioned("unrolled", steps)]
    insides = [
        _captioned(_inside_name(alike), _inside(alike[0], made.vocabularies))
        for alike in _alike([one for part in made.parts if part.count for one in part.insides])
    ]
    room = max(widest - rolled.width - GAP, steps.width if steps is not None else 0.0)
    beside += [flowing(insides, widest=room, gap=24, drop=30)] if insides else []
    blocks = [rolled, *([below(beside, gap=30)] if beside else [])]
    block = below([flowing(blocks, widest=widest, gap=GAP), _legend(made, widest)])
    total = _written(made, made.units())
    parts = "; ".join(f"{part.title}, {_written(made, part.units)} parameters" for part in made.parts)
    return frame(
        block,
        title=made.title or "model",
        subtitle=f"{total} parameters",
        description=f"The network of {made.title or 'the model'}: {parts}. Rolled, inside its cells, and unrolled.",
    )


def _written(made: Graph, units: Iterable[Vertex]) -> str:
    """`1,234 + 257 V(target)`: the number of parameters of some units."""
    return sum((unit.formula for unit in units), start=CountFormula()).written(made.vocabularies)


def _captioned(caption: str, block: Block) -> Block:
    lines = wrap(caption, max(block.width, 200.0), 13 * BOLDER)
    texts = tuple(
        Text(0, 12 + 17 * place, line, size=13, bold=True, color="muted") for place, line in enumerate(lines)
    )
    wide = max(text_width(line, 13 * BOLDER) for line in lines)
    return below([Block(texts, wide, 17.0 * len(lines) - 3), block], gap=8)


def _legend(made: Graph, widest: float) -> Block:
    said = [
        "Boxes of one color share their weights, which are counted once.",
        "Right of a box: its number of parameters. Below a box: its output and the size of the output.",
        "Dashed arrow: from another step or layer. Solid arrow: from the same step.",
    ]
    if any(unit.latent for unit in made.units()):
        said.append(
            "Round: a latent variable, the attended position; the attention weights are its distribution."
        )
    if made.vocabularies:
        said.append("V(name): the size of a vocabulary, or of a vector, known once it is fitted to data.")
    marks: list[Mark] = []
    width, y = 0.0, 0.0
    for sentence in said:
        for line in wrap(sentence, min(widest, 620.0), 11.5 * 1.12):
            marks.append(Text(0, y + 10, line, size=11.5, color="muted"))
            width = max(width, text_width(line, 11.5))
            y += LINE
    return Block(tuple(marks), width, y)


# Rolled


def _rolled(made: Graph) -> Block:
    boxes: list[PlacedBox] = []
    heads: dict[int, float] = {}
    rows: dict[str, tuple[int, int]] = {}
    titles: dict[str, list[str]] = {}
    row = 0
    for part in made.parts:
        titles[part.key] = _option_lines(part.options)
        heads[row] = 36.0 + 14 * len(titles[part.key])
        rows[part.key] = (row, row + len(part.units) - 1)
        for unit in part.units:
            boxes.append(_box(unit, row, WIDE, _label(unit, made.arrows), made.vocabularies))
            row += 1
    owner = {unit.key: part.key for part in made.parts for unit in part.units}
    wires = [
        Wire(arrow.source, arrow.target, "left" if arrow.delayed else "right", arrow.delayed)
        for arrow in made.arrows
        if arrow.source in owner and arrow.target in owner
    ]
    row_of = {box.key: box.row for box in boxes}
    # A wire that would go up within the same step is a cycle within one step.
    wires = [
        Wire(one.source, one.target, "left", one.dashed) if row_of[one.target] <= row_of[one.source] else one
        for one in wires
    ]
    block, extents = wired(
        boxes, wires, heads=heads, straight=lambda a, b: owner[a.key] == owner[b.key], least=16.0
    )
    marks: list[Mark] = []
    left = boxes[0].x
    for part in made.parts:
        first, last = rows[part.key]
        top, bottom = extents[first][0] + 8, extents[last][1] + 3
        marks.append(Rect(1, top, block.width - 2, bottom - top, stroke="faint", stroke_width=1.2, radius=8))
        marks.append(Text(left, top + 17, part.title, size=13, bold=True, tags=(("part", part.key),)))
        count = _written(made, part.units)
        marks.append(
            Text(
                left + WIDE,
                top + 17,
                count,
                size=12,
                anchor="end",
                color="muted",
                tags=(("count", part.key),),
            )
        )
        for place, line in enumerate(titles[part.key]):
            marks.append(Text(left, top + 32 + 14 * place, line, size=11, color="muted"))
    whole = Group((*marks, *block.marks), kind="rolled", content=_listed(made))
    return Block((whole,), block.width, block.height + 6)


def _option_lines(options: str) -> list[str]:
    """The options of a part, in as many lines as they need; lines break between options."""
    width, size = WIDE - 10, 11 * 1.12
    kept = [one.replace(" ", FIRM) if text_width(one, size) <= width else one for one in options.split(", ")]
    return [line.replace(FIRM, " ") for line in wrap(", ".join(kept), width, size, lines=OPTION_LINES)]


def _listed(made: Graph) -> Lines:
    """The same as lines of text, for a terminal."""
    said = [(f"{_written(made, made.units())} parameters", "ink")]
    for part in made.parts:
        said += [("", "muted"), (f"{part.title}: {part.options}", "accent")]
        for unit in part.units:
            count = _written(made, [unit]) if unit.count else ""
            shapes = [shape for shape in unit.shapes.values() if shape]
            notes = [unit.name, shapes[0] if shapes else "", count, "shared" if unit.shared else ""]
            said.append((f"  {unit.symbol}   {', '.join(filter(None, notes))}".rstrip(), "ink"))
    return Lines(tuple(said))


def _label(unit: Vertex, arrows: Sequence[Arrow]) -> str:
    """The value that leaves a unit, with its size."""
    used = [arrow.symbol.partition("_")[0] for arrow in arrows if arrow.source == unit.key]
    room, said = WIDE / 2 - 34, ""
    for symbol, shape in unit.shapes.items():
        base = symbol.partition("_")[0]
        if base in used or symbol in {arrow.symbol for arrow in arrows if arrow.source == unit.key}:
            more = f"{symbol}  {shape}" if shape else symbol
            longer = f"{said},  {more}" if said else more
            if text_width(longer, 11 * 1.12) > room:
                break
            said = longer
    return said


def _box(unit: Vertex, row: int, width: float, label: str, vocabularies: Mapping[str, int]) -> PlacedBox:
    indent = 44.0 if unit.kind == "latent" else 10.0
    count = unit.formula.written(vocabularies) if unit.count else ""
    if unit.shared:
        count = f"{count} + shared" if count else "shared"
    name = {"input": "", "output": "", "box": "a part of its own"}.get(unit.kind, unit.name)
    if unit.kind == "latent":
        name = ", ".join(filter(None, (unit.name, f"{unit.latent}: where to look")))
    room = width - indent - 16 - text_width(count, TEXT * 1.12)
    symbol = unit.symbol
    while text_width(symbol, 13 * WIDER) > room and len(symbol) > 2:
        symbol = symbol.rstrip("…")[:-1] + "…"
    taken = text_width(symbol, 13 * WIDER) + 12
    beside = bool(name) and taken + text_width(name, TEXT * 1.12) < room
    lines = [] if beside or not name else wrap(name, width - indent - 10, TEXT * 1.12, lines=1)
    said = [piece for line in unit.lines for piece in wrap(line, width - indent - 10, TEXT * 1.12, lines=4)]
    height = 26.0 + LINE * (len(lines) + len(said)) + (4 if lines or said else 0)
    color, dashes = color_of(unit.group)
    if unit.kind == "latent":
        height = max(height, 42.0)

    def marks(wide: float, high: float) -> list[Mark]:
        tags = (("weights", str(unit.group)),) if unit.group is not None else ()
        found: list[Mark] = [Rect(0, 0, wide, high, fill="paper", radius=5)]
        round_ = high / 2 if unit.kind == "latent" else 5.0
        if unit.group is not None:
            found.append(Rect(0, 0, wide, high, fill=color, opacity=0.15, radius=min(round_, 21), tags=tags))
        edge = "ink" if unit.kind == "latent" and unit.group is None else color
        found.append(outline(wide, high, edge, dashes, min(round_, 21)))
        if unit.kind == "latent":
            found.append(Circle(22, high / 2, 16, fill="paper", stroke="ink", stroke_width=1.2))
            size = 12.0 if text_width(unit.latent, 12) < 28 else 9.0
            found.append(
                Text(22, high / 2 + 4, shorten(unit.latent, 6), size=size, anchor="middle", italic=True)
            )
        found.append(Text(indent, 17, symbol, size=13, bold=True, tip=unit.symbol))
        if beside:
            found.append(Text(indent + taken, 17, name, size=TEXT, color="muted"))
        if count:
            found.append(
                Text(wide - 10, 17, count, size=TEXT, anchor="end", tags=(("parameters", unit.key),))
            )
        for place, line in enumerate(lines):
            found.append(Text(indent, 33 + LINE * place, line, size=TEXT, color="muted"))
        for place, line in enumerate(said, len(lines)):
            found.append(Text(indent, 34 + LINE * place, line, size=TEXT))
        return found

    return PlacedBox(unit.key, row, 0, width, height, marks, label)


# Inside a cell


def _alike(insides: Sequence[Inside]) -> list[list[Inside]]:
    """Cells with the same equations and sizes, but for subscripts, are drawn once."""
    found: dict[Any, list[Inside]] = {}
    for one in insides:
        lines = tuple(
            (
                unit.symbol,
                unit.formula.terms,
                *(re.sub(r"_\{[^}]*\}|_\w+[→←]?|′", "", line) for line in unit.lines),
            )
            for unit in one.units
        )
        key = (one.size, one.group, repr(lines))
        found.setdefault(key, []).append(one)
    return list(found.values())


def _inside_name(alike: Sequence[Inside]) -> str:
    first, *others = (one.name for one in alike)
    return f"inside {first}" + (f"; {' and '.join(others)} alike" if others else "")


def _inside(one: Inside, vocabularies: Mapping[str, int]) -> Block:
    boxes = []
    for row, unit in enumerate(one.units):
        unit.group = one.group if unit.count else None
        label = f"{unit.symbol}  {one.size}" if one.size and unit.kind == "computed" else ""
        boxes.append(_box(unit, row, SMALL, label, vocabularies))
    wires = [Wire(arrow.source, arrow.target) for arrow in one.arrows]
    block, _ = wired(boxes, wires, least=14.0)
    return Block((Group(block.marks, kind="inside"),), block.width, block.height)
