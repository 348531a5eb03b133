"""A binary tree as a chart: the words at the bottom, a cell for every span above them, shaded by its marginal.

The cell of the span from i to j is centered above its words, one row higher for each additional word. Spans of the best
tree are outlined and joined to their two parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.inspect.drawings.matrix import Matrix
from regard.inspect.layout import Block
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Text, line
from regard.inspect.writing import is_special, runs_right_to_left, text_width, visible
from regard.trace import Array
from regard.trace.structure import Places

SIZE = 14.0
BEST = "series-5"
"""Color of outlines in the best structure, for shades as dark as ink."""


def bracketed(words: Sequence[str], best: Array | Places) -> str:
    """The best tree in brackets, ((the dog) barks), from `best` (N, N), 1 for each of its spans."""
    texts = [visible(word) for word in words]

    def written(i: int, j: int) -> str:
        if i == j:
            return texts[i]
        cut = split(best, i, j)
        return f"({written(i, cut)} {written(cut + 1, j)})" if cut is not None else " ".join(texts[i : j + 1])

    return written(0, len(texts) - 1) if texts else ""


def split(best: Array | Places, i: int, j: int) -> int | None:
    """The last word of the left part of the span i .. j; None if the tree does not split it."""
    return next((k for k in range(i, j) if best[i, k] and best[k + 1, j]), None)


def draw_brackets(matrix: Matrix) -> Block:
    """The chart of a matrix of spans: `values[i, j]` is the marginal of i .. j, `truth` is 1 for spans of the best
    tree."""
    chart = _Chart(matrix)
    count, longer = len(matrix.rows), range(1, len(matrix.rows))
    places = [(i, i + width) for width in longer for i in range(count - width)]
    best = [place for place in places if matrix.is_true(*place)]
    others = [place for place in places if not matrix.is_true(*place)]
    marks: list[Mark] = [Text(0, 11, matrix.title, size=13, bold=True)] if matrix.title else []
    marks += [chart.cell(i, j) for i, j in others]
    marks += chart.ties()
    marks += [chart.cell(i, j) for i, j in best]
    marks += [mark for i, j in places for mark in chart.number(i, j)]
    marks += [chart.word(place) for place in range(count)]
    if not count:
        marks.append(Text(0, chart.top + 14, "nothing to show", size=13, color="muted", italic=True))
    width = max(count * chart.pitch, text_width(matrix.title, 15), 110.0)
    group = Group(tuple(marks), kind="brackets", content=matrix)
    return Block((group,), width, chart.y(0, 0) + SIZE / 2 + 6, baseline=chart.top)


class _Chart:
    """The positions of the spans, and their marks. A single word is a certain span, drawn as the word."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.count = matrix, len(matrix.rows)
        self.side = 34.0 if self.count <= 12 else 22.0
        widest = max((text_width(visible(word), SIZE) for word in matrix.rows), default=0.0)
        self.pitch = max(self.side + 6, widest + 12)
        self.mirrored = runs_right_to_left(matrix.rows)
        self.top = 24.0 if matrix.title else 0.0

    def x(self, i: int, j: int) -> float:
        middle = ((i + j) / 2 + 0.5) * self.pitch
        return self.count * self.pitch - middle if self.mirrored else middle

    def y(self, i: int, j: int) -> float:
        return self.top + (max(0, self.count - 1) - (j - i)) * (self.side + 8) + self.side / 2

    def word(self, place: int) -> Text:
        word = self.matrix.rows[place]
        color = "muted" if is_special(word) else "ink"
        y = self.y(place, place) + SIZE * 0.35
        return Text(self.x(place, place), y, visible(word), size=SIZE, anchor="middle", color=color)

    def cell(self, i: int, j: int) -> Rect:
        matrix, side = self.matrix, self.side
        value, best = float(matrix.values[i, j]), matrix.is_true(i, j)
        words = " ".join(map(visible, matrix.rows[i : j + 1]))
        tip = f"{words}  {value:.3f}" + (f"\n{matrix.outlined}" if best else "")
        tags = (
            ("row", str(i)),
            ("column", str(j)),
            ("value", f"{value:.6g}"),
            *((("best", "1"),) if best else ()),
        )
        return Rect(
            self.x(i, j) - side / 2, self.y(i, j) - side / 2, side, side, fill=Shade(matrix.share(i, j)),
            stroke=matrix.outline if best else None, stroke_width=2.25, radius=4, tip=tip, tags=tags,
        )  # fmt: skip

    def number(self, i: int, j: int) -> list[Text]:
        shade = Shade(self.matrix.share(i, j))
        if self.side < 30 or shade.value < 0.005:
            return []
        text = self.matrix.digits.format(float(self.matrix.values[i, j])).removeprefix("0")
        y = self.y(i, j) + 4
        return [Text(self.x(i, j), y, text, size=11, anchor="middle", color=Over(shade))]

    def ties(self) -> list[Mark]:
        """Lines from each span of the best tree to its two parts."""
        best = self.matrix.truth
        marks: list[Mark] = []
        for i in range(self.count):
            for j in range(i + 1, self.count):
                cut = split(best, i, j) if best is not None and best[i, j] > 0 else None
                for a, b in [] if cut is None else [(i, cut), (cut + 1, j)]:
                    end = self.y(a, b) - (SIZE * 0.6 if a == b else 0.0)
                    ends = (self.x(i, j), self.y(i, j), self.x(a, b), end)
                    marks.append(line(*ends, color=self.matrix.outline, width=1.75))
        return marks
