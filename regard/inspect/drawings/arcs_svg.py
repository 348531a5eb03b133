"""Draw dependency arcs: the words on a line, a flat-topped arc from each head to its child, labels on top.

Shapes repeat the meaning of colors. Arcs of the best tree are solid, wrong ones have a cross, missed true ones are
dashed below the words, and other probable arcs are dotted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from regard.inspect.drawings.arcs_layout import Arc, Role, Side, arcs_above, arcs_below
from regard.inspect.handles import ArcHandle, WordHandle
from regard.inspect.layout import Block
from regard.inspect.scene import Anchor, Group, Mark, Rect, Shape, Step, Text, line
from regard.inspect.writing import is_special, runs_right_to_left, text_width, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.arcs import ArcDiagram

ROOT = "root"
WIDEST = 1100.0
"""Maximum width of a sentence; in wider ones the words are rotated, so that they fit on one screen."""
PORT = 6.0
TIGHT_PORT = 3.5
"""Distance between two arcs that end at the same word, horizontal or rotated."""
LABEL = 10.5
CROSS = 12.0
"""Space for the cross before the label of a wrong arc."""
THINNEST, THICKEST = 0.9, 2.6
BEND = 9.0
POINT = 7.0
COLORS: Mapping[Role, str] = {"best": "accent", "wrong": "series-3", "missed": "truth", "other": "accent"}
DASHES: Mapping[Role, tuple[float, ...]] = {"best": (), "wrong": (), "missed": (5, 3.5), "other": (1, 3.5)}
MEANINGS: Mapping[Role, str] = {
    "best": "best tree", "wrong": "not true", "missed": "true, but missed", "other": "also probable",
}  # fmt: skip


@dataclass(frozen=True)
class _Line:
    """Positions and sizes of the words: centers, font, height, and the height of a level of arcs."""

    middles: tuple[float, ...]
    width: float
    size: float
    height: float
    level: float
    upright: bool
    mirrored: bool

    def x(self, word: int, place: int, count: int) -> float:
        """The x coordinate of end number `place` of `count` at a word."""
        shift = (place - (count - 1) / 2) * (TIGHT_PORT if self.upright else PORT)
        return self.middles[word - 1] + (-shift if self.mirrored else shift)


def draw_arcs(diagram: ArcDiagram) -> Block:
    """The block of a diagram; its baseline is the upper edge of the words."""
    count = len(diagram.words)
    over, under = Side.of(arcs_above(diagram), count), Side.of(arcs_below(diagram), count)
    words = _stand(diagram, over, under)
    top = (14.0 if diagram.title else 0.0) + (over.height * words.level + 20 if over.arcs else 4.0)
    marks: list[Mark] = [Text(0, 11, diagram.title, size=13, bold=True)] if diagram.title else []
    marks += _bows(diagram, over, words, top, -1)
    marks += _bows(diagram, under, words, top + words.height, 1)
    marks += [_word(diagram, place, words, top, hung=not under.arcs) for place in range(count)]
    height = top + words.height + (under.height * words.level + 18 if under.arcs else 0.0)
    if not count:
        marks.append(Text(0, top + 14, "nothing to show", size=13, color="muted", italic=True))
    width = max(words.width, text_width(diagram.title, 15), 0.0 if count else 110.0)
    return Block((Group(tuple(marks), kind="arcs", content=diagram),), width, height, baseline=top)


def _stand(diagram: ArcDiagram, over: Side, under: Side) -> _Line:
    """Place words as close as their letters, the ends of their arcs and, if there is room, the labels above them allow.

    If the line would be too wide, labels get no extra room; if that is not enough, the words are rotated.
    """
    names = [visible(word) for word in diagram.words]
    ends = [max(a, b) for a, b in zip(over.ports.count, under.ports.count, strict=True)]
    level = 22.0 if diagram.arcs.relations else 17.0
    width = 0.0
    for size, labeled in ((15.0, (over, under)), (14.0, ())):
        halves = [max(text_width(name, size), n * PORT) / 2 + 8 for name, n in zip(names, ends, strict=True)]
        middles, height, upright = _spread(halves, labeled), size + 10, False
        width = middles[-1] + halves[-1] if middles else 0.0
        if width <= WIDEST:
            break
    else:
        size, level, upright = 12.0, 17.0, True
        halves = [max(size + 5, n * TIGHT_PORT) / 2 + 1 for n in ends]
        middles, height = _spread(halves, ()), max(text_width(name, size) for name in names) + 12
        width = middles[-1] + halves[-1]
    mirrored = runs_right_to_left(diagram.words)
    placed = tuple(width - x for x in middles) if mirrored else tuple(middles)
    return _Line(placed, width, size, height, level, upright, mirrored)


def _spread(halves: Sequence[float], sides: Sequence[Side]) -> list[float]:
    """Centers from left to right, such that neighbors do not touch and each arc has room for its label."""
    middles: list[float] = []
    for place, half in enumerate(halves):
        x = middles[-1] + halves[place - 1] + half if middles else half
        for side in sides:
            for arc in side.arcs:
                if arc.label and arc.head and arc.right == place + 1:
                    ends = PORT * (side.ports.count[arc.left - 1] + side.ports.count[place] - 2) / 2
                    room = text_width(arc.label, LABEL) + 20 + (CROSS if arc.role == "wrong" else 0.0)
                    x = max(x, middles[arc.left - 1] + room + max(0.0, ends))
        middles.append(x)
    return middles


def _word(diagram: ArcDiagram, place: int, words: _Line, top: float, *, hung: bool) -> Text:
    """A word; a rotated one hangs below the arcs, or stands between the arcs above and below."""
    word, x, middle = diagram.words[place], words.middles[place], top + words.height / 2
    y, anchor, turn = middle + words.size * 0.34, "middle", 0.0
    if words.upright:
        x, turn = x + words.size * 0.35, -90.0
        y, anchor = (top + 5, "end") if hung else (middle, "middle")
    side: Anchor = "end" if anchor == "end" else "middle"
    color = "muted" if is_special(word) else "ink"
    tags = (("token", str(place + 1)),)
    at = WordHandle(diagram.over, place) if diagram.over else None
    return Text(x, y, visible(word), size=words.size, anchor=side, rotate=turn, color=color, tags=tags, at=at)


def _bows(diagram: ArcDiagram, side: Side, words: _Line, base: float, direction: int) -> list[Mark]:
    """Arcs from y = base upward (direction −1) or downward (+1); weak ones first, labels last."""
    marks: list[Mark] = []
    labels: list[Mark] = []
    order = sorted(range(len(side.arcs)), key=lambda i: (side.arcs[i].role != "other", side.arcs[i].strength))
    for i in order:
        arc, (start, end) = side.arcs[i], side.ports.ends[i]
        x2 = words.x(arc.child, end, side.ports.count[arc.child - 1])
        x1 = words.x(arc.head, start, side.ports.count[arc.head - 1]) if arc.head else x2
        bow = _Bow(arc, x1, x2, base, base + direction * side.levels[i] * words.level, direction)
        label = bow.label()
        at = ArcHandle(diagram.over, arc.head, arc.child, arc.strength) if diagram.over else None
        marks.append(replace(bow.group(_tip(diagram, arc), crossed=not label), at=at))
        labels += label
    return [*marks, *labels]


@dataclass(frozen=True)
class _Bow:
    """One arc, from (x1, base) at the head over y = crown to (x2, base) at the child."""

    arc: Arc
    x1: float
    x2: float
    base: float
    crown: float
    direction: int

    def group(self, tip: str, *, crossed: bool) -> Group:
        """The line and its arrowhead; a cross if the arc is wrong and has no label."""
        arc, color = self.arc, COLORS[self.arc.role]
        certain = not arc.known or arc.role == "missed"
        width = 1.6 if certain else THINNEST + arc.strength * (THICKEST - THINNEST)
        opacity = 1.0 if certain else 0.25 + 0.75 * arc.strength
        value = f"{arc.strength:.6g}" if arc.known else ""
        tags = (("head", str(arc.head)), ("child", str(arc.child)), ("role", arc.role), ("value", value))
        marks: list[Mark] = [
            Shape(
                self._steps(), stroke=color, width=width, opacity=opacity, dashes=DASHES[arc.role], tags=tags
            ),
            Shape(self._point(), stroke=None, fill=color, opacity=opacity),
        ]
        if arc.role == "wrong" and (crossed or not arc.head):
            marks += cross((self.x1 + self.x2) / 2, self.crown if arc.head else (self.base + self.crown) / 2)
        return Group(tuple(marks), kind="arc", tip=tip)

    def _steps(self) -> tuple[Step, ...]:
        """A path with a flat top, so that arcs of neighboring levels stay apart at any width."""
        x1, x2, base, crown = self.x1, self.x2, self.base, self.crown
        stop = base + self.direction * (POINT - 1)  # the arrowhead starts there
        if not self.arc.head:
            return ("M", (x2, crown)), ("L", (x2, stop))
        bend = min(BEND, abs(x2 - x1) / 2) * (1 if x2 > x1 else -1)
        low = crown - min(BEND, abs(crown - base)) * self.direction
        return (
            ("M", (x1, base)), ("L", (x1, low)), ("Q", (x1, crown, x1 + bend, crown)),
            ("L", (x2 - bend, crown)), ("Q", (x2, crown, x2, low)), ("L", (x2, stop)),
        )  # fmt: skip

    def _point(self) -> tuple[Step, ...]:
        x, half, back = self.x2, POINT * 0.46, self.base + self.direction * POINT
        return ("M", (x, self.base)), ("L", (x - half, back)), ("L", (x + half, back)), ("Z", ())

    def label(self) -> list[Mark]:
        """The relation, on top of the arc if there is room; for the root, at its start."""
        arc, x, span = self.arc, (self.x1 + self.x2) / 2, abs(self.x2 - self.x1)
        text = arc.label or ("" if arc.head else ROOT)
        wide = text_width(text, LABEL)
        sign = CROSS if arc.role == "wrong" and arc.head else 0.0
        if not text or (arc.head and wide + sign + 8 > span):
            return []
        mistaken = "≠" in text or arc.role == "wrong"
        color = COLORS["wrong"] if mistaken else COLORS[arc.role] if arc.role == "missed" else "muted"
        if not arc.head:
            y = self.crown - 4 if self.direction < 0 else self.crown + 12
            return [Text(x, y, text, size=LABEL, anchor="middle", color=color)]
        start = x - (wide + sign) / 2
        marks: list[Mark] = [Rect(start - 3, self.crown - 7, wide + sign + 6, 14, fill="paper")]
        marks += cross(start + 4, self.crown) if sign else []
        middle = start + sign + wide / 2
        return [
            *marks,
            Text(middle, self.crown + LABEL * 0.34, text, size=LABEL, anchor="middle", color=color),
        ]


def cross(x: float, y: float) -> list[Mark]:
    """The sign of a wrong arc, on a background of paper."""
    reach, color = 3.2, COLORS["wrong"]
    return [
        Rect(x - 5, y - 5, 10, 10, fill="paper", radius=5),
        line(x - reach, y - reach, x + reach, y + reach, color=color, width=1.7),
        line(x - reach, y + reach, x + reach, y - reach, color=color, width=1.7),
    ]


def word_at(diagram: ArcDiagram, place: int) -> str:
    """The text of word number `place`; 0 is the root."""
    return visible(diagram.words[place - 1]) if place else ROOT


def _tip(diagram: ArcDiagram, arc: Arc) -> str:
    number = f"  {arc.strength:.3f}" if arc.known else ""
    relation = f"  {arc.label}" if arc.label else ""
    truth = diagram.arcs.true_heads
    said = "" if arc.role == "best" else f"\n{MEANINGS[arc.role]}"
    if truth is not None and int(truth[arc.child - 1]) == arc.head and arc.role == "best":
        said = "\ntrue"
    return f"{word_at(diagram, arc.head)} → {word_at(diagram, arc.child)}{relation}{number}{said}"
