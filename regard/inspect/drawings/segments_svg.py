"""The marks of segments: below the source, a band for each output piece, shaded by p(inside), with its segments marked.

The best segmentation is a bar below the band, the true one an outline around it. Each run of neighboring positions is
one segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from regard.inspect.handles import PieceHandle, SegmentHandle, WeightHandle, WordHandle
from regard.inspect.layout import Block, color_scale
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Text
from regard.inspect.writing import is_special, text_width, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.segments import SegmentBands

WIDEST = 980.0
"""Maximum width of the source, if smaller letters can achieve it."""


def runs(inside: Sequence[int] | NDArray[Any], order: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last position, in drawing order, of each run of positions inside a segment."""
    start = None
    for place, position in enumerate(order):
        if inside[position] and start is None:
            start = place
        if not inside[position] and start is not None:
            yield start, place - 1
            start = None
    if start is not None:
        yield start, len(order) - 1


@dataclass(frozen=True)
class _Sizes:
    font: float
    band: float
    gap: float


def _sizes(bands: SegmentBands) -> _Sizes:
    for sizes in (_Sizes(15, 22, 13), _Sizes(12.5, 17, 10), _Sizes(10, 12, 8)):
        if sum(_cells(bands, sizes.font)) <= WIDEST:
            break
    return sizes


def _cells(bands: SegmentBands, font: float) -> list[float]:
    """The width of each source piece, in drawing order: equal for letters, as needed for words."""
    labels = [visible(bands.sources[i]) for i in bands.order]
    widths = [text_width(label, font) for label in labels]
    if all(len(bands.sources[i]) <= 1 for i in bands.order):
        return [max([*widths, font * 0.9]) + font * 0.35] * len(labels)
    return [max(width, font) + font * 0.8 for width in widths]


def draw_segments(bands: SegmentBands, *, row_labels: bool = True) -> Block:
    """The source with the bands below; the baseline is the upper edge of the first band."""
    sizes = _sizes(bands)
    cells = _cells(bands, sizes.font)
    names = [visible(target) if target else "" for target in bands.targets]
    widest = max((text_width(name, sizes.font) for name in names), default=0.0) if row_labels else 0.0
    left = widest + 12 if widest else 0.0
    edges = [left]
    for cell in cells:
        edges.append(edges[-1] + cell)
    top = (24.0 if bands.title else 0.0) + sizes.font + 9
    marks: list[Mark] = [Text(left, 12, bands.title, size=13, bold=True)] if bands.title else []
    pieces: list[Mark] = []
    for place, source in enumerate(bands.order):
        piece = bands.sources[source]
        pieces.append(
            Text((edges[place] + edges[place + 1]) / 2, top - 8, visible(piece), size=sizes.font, anchor="middle",
                 color="muted" if is_special(piece) else "ink", tags=(("column", str(source)),),
                 at=WordHandle(bands.over, source) if bands.over else None)
        )  # fmt: skip
    rows = [
        _band(
            bands, row, edges, top + row * (sizes.band + sizes.gap), sizes, names[row] if row_labels else ""
        )
        for row in range(len(names))
    ]
    marks += [Group(tuple(pieces), kind="columns"), Group(tuple(rows), kind="rows")]
    width = max(edges[-1], left + text_width(bands.title, 15))
    height = top + max(1, len(names)) * (sizes.band + sizes.gap) - sizes.gap + 8
    if not names or not cells:
        marks.append(Text(left, top + 16, "nothing to show", size=13, color="muted", italic=True))
        width, height = max(width, left + 110), top + 26.0
    return Block((Group(tuple(marks), kind="segments", content=bands),), width, height, baseline=top)


def _band(
    bands: SegmentBands, row: int, edges: Sequence[float], y: float, sizes: _Sizes, label: str
) -> Group:
    target, found = bands.targets[row], bands.segments
    whole = sizes.band + sizes.gap
    # Invisible, but makes the whole row respond to a pointer, gaps included.
    marks: list[Mark] = [Rect(0, y - sizes.gap / 2, edges[-1], whole, fill="paper", opacity=0)]
    if label:
        color = "muted" if is_special(target) else "ink"
        marks.append(
            Text(edges[0] - 11, y + sizes.band / 2 + sizes.font * 0.35, label, size=sizes.font, anchor="end",
                 color=color, at=PieceHandle(row) if bands.over else None)
        )  # fmt: skip
    for place, source in enumerate(bands.order):
        marks += _cell(bands, row, source, edges[place], edges[place + 1], y, sizes)
    if found.best is not None:
        for first, last in runs(found.best[row], bands.order):
            x, wide = edges[first] + 1.5, edges[last + 1] - edges[first] - 3
            marks.append(
                Rect(
                    x,
                    y + sizes.band + 2.5,
                    wide,
                    3,
                    fill="accent",
                    radius=1.5,
                    tags=(("best", "1"),),
                    at=_segment(bands, row, first, last),
                )
            )
    if found.truth is not None:
        for first, last in runs(found.truth[row], bands.order):
            x, wide = edges[first] + 0.75, edges[last + 1] - edges[first] - 1.5
            marks.append(
                Rect(x, y - 0.75, wide, sizes.band + 1.5, stroke="truth", stroke_width=2, radius=4,
                     tags=(("truth", "1"),))
            )  # fmt: skip
    return Group(tuple(marks), kind="row", tags=(("row", str(row)), ("label", target)))


def _segment(bands: SegmentBands, row: int, first: int, last: int) -> SegmentHandle | None:
    """What a bar stands for: its positions in the order of the input, with their mean p(inside)."""
    if not bands.over:
        return None
    places = sorted((bands.order[first], bands.order[last]))
    inside = bands.segments.weights[row, places[0] : places[1] + 1]
    return SegmentHandle(bands.over, row, places[0], places[1] + 1, float(inside.mean()))


def _cell(bands: SegmentBands, row: int, source: int, x: float, end: float, y: float,
          sizes: _Sizes) -> list[Mark]:  # fmt: skip
    weight = float(bands.segments.weights[row, source])
    shade = Shade(bands.share(row, source))
    piece = visible(bands.sources[source])
    tip = f"{visible(bands.targets[row])} ← {piece}  {weight:.3f}"
    tags = (("column", str(source)), ("value", f"{weight:.6g}"))
    at = WeightHandle(bands.over, row, source, weight) if bands.over else None
    # Each cell extends below the next one, so that no gap shows between them.
    reach = 0.6 if source != bands.order[-1] else 0.0
    marks: list[Mark] = [Rect(x, y, end - x + reach, sizes.band, fill=shade, tip=tip, tags=tags, at=at)]
    if shade.value >= 0.2:  # repeat the source piece in cells with attention
        marks.append(
            Text((x + end) / 2, y + sizes.band / 2 + sizes.font * 0.31, piece, size=sizes.font * 0.86, anchor="middle",
                 color=Over(shade))
        )  # fmt: skip
    return marks


def segment_legend(shown: Sequence[SegmentBands]) -> Block:
    """The scale of the shades, the bar of the best segmentation and the outline of the true one."""
    limit = max((bands.limit for bands in shown), default=1.0)
    scale = color_scale(name="inside", limit=limit)
    marks: list[Mark] = list(scale.marks)
    x = scale.width
    if any(bands.segments.best is not None for bands in shown):
        marks += [Rect(x + 18, 4, 22, 3, fill="accent", radius=1.5), _word("best segments", x + 47)]
        x += 47 + text_width("best segments", 11)
    if any(bands.segments.truth is not None for bands in shown):
        marks += [
            Rect(x + 18, 0, 22, 10, stroke="truth", stroke_width=1.75, radius=3),
            _word("true segments", x + 47),
        ]
        x += 47 + text_width("true segments", 11)
    return Block(tuple(marks), x, 11.0)


def _word(text: str, x: float) -> Text:
    return Text(x, 9, text, size=11, color="muted")
