"""Boxes in rows and columns, with wires between them that touch no box and no text.

Between two rows there is a channel of horizontal *rails*, between two columns one of vertical *lanes*. A wire leaves a
box at the bottom, follows a rail to a lane and a lane to a rail, and enters another box from above. Each wire has its
own rail and lane, so that wires may cross but never overlap. Neighbors are joined by a straight line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from regard.inspect.layout import Block
from regard.inspect.palette import Color
from regard.inspect.scene import Group, Mark, Shape, Step, Tags, Text

RAIL, LANE, PORT, ROOM = 5.0, 6.0, 8.0, 9.0
"""Distances between rails, lanes and ports, and the space for an arrowhead."""
LABEL = 11.0


@dataclass
class PlacedBox:
    """A box at a position of the grid.

    draw     its marks, with the upper left corner at (0, 0), for a given width
    label    the name of its output, written below it
    head     height of the text above its row
    span     number of columns it covers
    """

    key: str
    row: int
    column: int
    width: float
    height: float
    draw: Callable[[float, float], Sequence[Mark]]
    label: str = ""
    span: int = 1
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class Wire:
    """From one box to another. side: the channel it uses if both are in one column."""

    source: str
    target: str
    side: Literal["left", "right"] = "right"
    dashed: bool = False
    color: Color = "muted"


@dataclass
class _Net:
    """All wires of one kind that leave a box; they share their rails and lanes."""

    source: PlacedBox
    targets: list[PlacedBox]
    side: str
    dashed: bool
    color: Color
    out: int = 0
    lanes: dict[int, int] = field(default_factory=dict)
    rails: dict[int, int] = field(default_factory=dict)


def wired(
    boxes: Sequence[PlacedBox],
    wires: Sequence[Wire],
    *,
    heads: dict[int, float] | None = None,
    straight: Callable[[PlacedBox, PlacedBox], bool] = lambda _source, _target: True,
    least: float = 14.0,
) -> tuple[Block, dict[int, tuple[float, float]]]:
    """(the drawing, {row: its vertical extent, including the text above it}).

    heads      space above rows, for a title
    straight   whether neighbors may be joined by a straight line
    """
    return _Grid(list(boxes), wires, heads or {}, straight, least).drawn()


class _Grid:
    def __init__(
        self,
        boxes: list[PlacedBox],
        wires: Sequence[Wire],
        heads: dict[int, float],
        straight: Callable[[PlacedBox, PlacedBox], bool],
        least: float,
    ) -> None:
        self.boxes, self.heads, self.may, self.least = boxes, heads, straight, least
        self.by_key = {box.key: box for box in boxes}
        self.rows = 1 + max(box.row for box in boxes)
        self.columns = max(box.column + box.span for box in boxes)
        self.straight: list[tuple[PlacedBox, PlacedBox, Wire]] = []
        self.level: list[tuple[PlacedBox, PlacedBox, Wire]] = []
        self.nets: list[_Net] = []
        self.below: dict[int, int] = dict.fromkeys(
            range(self.rows + 1), 0
        )  # rails of wires that leave the row above
        self.above: dict[int, int] = dict.fromkeys(range(self.rows + 1), 0)  # rails of wires into the row
        self.beside: dict[int, list[list[tuple[int, int]]]] = {c: [] for c in range(self.columns + 1)}
        self.tops: dict[str, list[tuple[str, int]]] = {box.key: [] for box in boxes}
        self.bottoms: dict[str, list[tuple[str, int]]] = {box.key: [] for box in boxes}
        self._sort(wires)
        self._route()
        self._place()

    # Straight wires, and the shared nets of the others

    def _sort(self, wires: Sequence[Wire]) -> None:
        found: dict[tuple[str, str, bool], _Net] = {}
        for wire in dict.fromkeys(wires):
            source, target = self.by_key[wire.source], self.by_key[wire.target]
            if self._stacked(source, target) and not wire.dashed and self.may(source, target):
                self.straight.append((source, target, wire))
            elif source.row == target.row and abs(source.column - target.column) == 1 and source.span == 1:
                self.level.append((source, target, wire))
            else:
                key = (wire.source, wire.side, wire.dashed)
                net = found.setdefault(key, _Net(source, [], wire.side, wire.dashed, wire.color))
                net.targets.append(target)
        self.nets = list(found.values())

    def _stacked(self, source: PlacedBox, target: PlacedBox) -> bool:
        if target.row != source.row + 1:
            return False
        same = source.column == target.column and source.span == target.span
        over = target.span > 1 and target.column <= source.column < target.column + target.span
        return same or over

    # Channels

    def _route(self) -> None:
        for number, net in enumerate(self.nets):
            net.out = self.below[net.source.row + 1]
            self.below[net.source.row + 1] += 1
            self.bottoms[net.source.key].append((net.side, number))
            for row in sorted({target.row for target in net.targets}):
                net.rails[row] = self.above[row]
                self.above[row] += 1
            for target in net.targets:
                self.tops[target.key].append((self._from(net, target), number))
            for gutter in dict.fromkeys(self._gutter(net, target) for target in net.targets):
                rows = [net.source.row + 1] + [t.row for t in net.targets if self._gutter(net, t) == gutter]
                net.lanes[gutter] = self._lane(gutter, min(rows), max(rows))

    def _gutter(self, net: _Net, target: PlacedBox) -> int:
        """The channel to the left of a column through which a target is reached: one for all targets of a row."""
        row = [one for one in net.targets if one.row == target.row]
        first = min(row, key=lambda one: one.column)
        if first.column == net.source.column and first.span == net.source.span:
            return first.column if net.side == "left" else first.column + first.span
        return (
            first.column
            if first.column > net.source.column or net.source.span > 1
            else first.column + first.span
        )

    def _from(self, net: _Net, target: PlacedBox) -> str:
        return "left" if self._gutter(net, target) <= target.column else "right"

    def _lane(self, gutter: int, first: int, last: int) -> int:
        """A lane of the gutter that is free between two rows."""
        for place, taken in enumerate(self.beside[gutter]):
            if all(last < start or first > end for start, end in taken):
                taken.append((first, last))
                return place
        self.beside[gutter].append([(first, last)])
        return len(self.beside[gutter]) - 1

    # Coordinates

    def _place(self) -> None:
        widths = [0.0] * self.columns
        for box in self.boxes:
            if box.span == 1:
                ports = max(len(self.tops[box.key]), len(self.bottoms[box.key]))
                widths[box.column] = max(widths[box.column], box.width, (ports + 3) * PORT)
        self.gutters = [max(self.least, 8 + LANE * len(self.beside[c]) + 4) for c in range(self.columns + 1)]
        self.gutters = [
            g if self.beside[c] or 0 < c < self.columns else 4.0 for c, g in enumerate(self.gutters)
        ]
        x, self.left = 0.0, []
        self.lane_x = []
        for column in range(self.columns):
            self.lane_x.append(x)
            x += self.gutters[column]
            self.left.append(x)
            x += widths[column]
        self.lane_x.append(x)
        self.width = x + self.gutters[self.columns]
        y, self.top, self.rail_y, self.out_y, self.ends = 0.0, [], [], [], []
        for row in range(self.rows + 1):
            labels = [box for box in self.boxes if box.row == row - 1 and box.label]
            start = y
            y += (LABEL + 6 if labels else 0) + (4 if self.below[row] else 0)
            self.out_y.append(y)
            y += RAIL * self.below[row] + (2 if self.below[row] else 0)
            end = y
            y += self.heads.get(row, 0.0)
            self.rail_y.append(y + 4)
            joined = any(target.row == row for _, target, _ in self.straight)
            y += RAIL * self.above[row] + (4 + ROOM if self.above[row] or joined else 0)
            if row and row < self.rows and y - start < self.least:
                y = start + self.least
            self.ends.append(end)
            self.top.append(y)
            if row < self.rows:
                y += max(box.height for box in self.boxes if box.row == row)
        self.height = self.ends[-1] if self.ends else y
        for box in self.boxes:
            last = box.column + box.span - 1
            box.x, box.y = self.left[box.column], self.top[box.row]
            box.width = self.left[last] + widths[last] - box.x

    def _port(self, box: PlacedBox, side: str, place: int, among: list[tuple[str, int]]) -> float:
        """The x coordinate of a wire at the edge of a box, counted from the corner of its side."""
        same = [number for where, number in among if where == side]
        step = min(PORT, (box.width / 2 - 10) / max(1, len(same)))
        distance = 9 + step * same.index(place)
        return box.x + distance if side == "left" else box.x + box.width - distance

    # Marks

    def drawn(self) -> tuple[Block, dict[int, tuple[float, float]]]:
        marks: list[Mark] = []
        for number, net in enumerate(self.nets):
            marks += self._net(net, number)
        for source, target, wire in self.straight:
            x = source.x + source.width / 2
            marks += arrow(
                [(x, source.y + source.height), (x, target.y)], wire.dashed, wire.color, self._tags(wire)
            )
        for source, target, wire in self.level:
            marks += self._level(source, target, wire)
        for box in self.boxes:
            marks.append(
                Group(tuple(box.draw(box.width, box.height)), dx=box.x, dy=box.y, tags=(("unit", box.key),))
            )
            if box.label:
                marks.append(self._label(box))
        rows = {row: (self.ends[row], self.ends[row + 1]) for row in range(self.rows)}
        return Block(tuple(marks), self.width, self.height), rows

    def _tags(self, wire: Wire) -> Tags:
        return (("from", wire.source), ("to", wire.target))

    def _net(self, net: _Net, number: int) -> list[Mark]:
        source, found = net.source, []
        x0 = self._port(source, net.side, number, self.bottoms[source.key])
        y0 = self.out_y[source.row + 1] + RAIL * net.out + RAIL / 2
        for target in net.targets:
            gutter = self._gutter(net, target)
            lane = self.lane_x[gutter] + 7 + LANE * net.lanes[gutter]
            y1 = self.rail_y[target.row] + RAIL * net.rails[target.row]
            x1 = self._port(target, self._from(net, target), number, self.tops[target.key])
            points = [
                (x0, source.y + source.height),
                (x0, y0),
                (lane, y0),
                (lane, y1),
                (x1, y1),
                (x1, target.y),
            ]
            tags = (("from", source.key), ("to", target.key))
            found += arrow(points, net.dashed, net.color, tags)
        return found

    def _level(self, source: PlacedBox, target: PlacedBox, wire: Wire) -> list[Mark]:
        y = source.y + min(source.height, target.height) / 2
        if source.column < target.column:
            ends = [(source.x + source.width, y), (target.x, y)]
        else:
            ends = [(source.x, y), (target.x + target.width, y)]
        return arrow(ends, wire.dashed, wire.color, self._tags(wire))

    def _label(self, box: PlacedBox) -> Text:
        rights = [n for side, n in self.bottoms[box.key] if side == "right"]
        y = box.y + box.height + LABEL + 1
        if rights:
            x = min(self._port(box, "right", n, self.bottoms[box.key]) for n in rights) - 6
            return Text(x, y, box.label, size=LABEL, color="muted", anchor="end")
        return Text(box.x + box.width / 2 + 7, y, box.label, size=LABEL, color="muted")


def arrow(points: Sequence[tuple[float, float]], dashed: bool, color: Color, tags: Tags = ()) -> list[Mark]:
    """A line through points, with an arrowhead at the last."""
    kept = [points[0]]
    for point in points[1:]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) > 0.01:
            kept.append(point)
    (x0, y0), (x1, y1) = kept[-2], kept[-1]
    length = max(0.01, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    steps: tuple[Step, ...] = tuple(("L" if i else "M", point) for i, point in enumerate(kept[:-1]))
    steps += (("L", (x1 - 4 * ux, y1 - 4 * uy)),)
    base = (x1 - 6 * ux, y1 - 6 * uy)
    head: tuple[Step, ...] = (
        ("M", (x1, y1)),
        ("L", (base[0] - 3 * uy, base[1] + 3 * ux)),
        ("L", (base[0] + 3 * uy, base[1] - 3 * ux)),
        ("Z", ()),
    )
    line = Shape(steps, stroke=color, width=1.1, dashes=(3.5, 2.5) if dashed else (), tags=tags)
    return [line, Shape(head, stroke=None, fill=color, width=0)]
