"""The graph of a model unrolled over its steps: a column per step, with the same boxes and weights in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from regard.describe.example_tree import BALANCED, CHAIN, ExampleTree
from regard.describe.outlines import color_of, outline
from regard.describe.sizes import length
from regard.describe.vertices import Arrow, Graph, GraphPart, Vertex
from regard.inspect.layout import Block
from regard.inspect.scene import Group, Mark, Rect, Text
from regard.inspect.wiring import PlacedBox, Wire, wired
from regard.inspect.writing import text_width
from regard.notation import Item, Node, Number, Operation, Symbol
from regard.notation.grammar import Parser
from regard.notation.walking import node_text

HEIGHT, SIZE = 26.0, 12.0
MORE = "⋯"


def unrolled(made: Graph) -> Block | None:
    """The drawing; None for a model without steps."""
    drawing = _Unrolling(made)
    return drawing.block() if any(drawing.index.values()) else None


class _Unrolling:
    def __init__(self, made: Graph) -> None:
        self.made = made
        self.parts = {unit.key: part for part in made.parts for unit in part.units}
        self.units = {unit.key: unit for unit in made.units()}
        self.index = {part.key: self._main(part) for part in made.parts}
        self.letters = {unit.key: self._letter(unit) for unit in made.units()}
        self.trees = dict(self._trees())
        # in the order of the arrows: the order of a set would vary between processes
        self.bars = dict.fromkeys(
            arrow.source for arrow in made.arrows if self._reads_all(arrow) or self._starts_from_all(arrow)
        )
        self.firsts = dict(self._firsts())

    def _trees(self) -> Iterator[tuple[str, ExampleTree]]:
        """The example tree of each part that composes along a tree and does nothing else."""
        for arrow in self.made.arrows:
            part = self.parts.get(arrow.target)
            if part is not None and _of_children(arrow) and len(self._above(part, arrow.target)) == 1:
                yield part.key, ExampleTree.of(CHAIN if "structure chain" in part.options else BALANCED)

    def _above(self, part: GraphPart, key: str) -> set[str]:
        """The units of a part that are computed from one of them, and it."""
        found = {key}
        while (
            more := {
                arrow.target
                for arrow in self.made.arrows
                if arrow.source in found and self.parts.get(arrow.target) is part
            }
            - found
        ):
            found |= more
        return found

    # Which index the columns are

    def _main(self, part: GraphPart) -> str:
        """The index over which a part is unrolled: one on which weights do not depend, preferably that of a
        recurrence."""
        counts: dict[str, int] = {}
        for unit in part.units:
            for index in unit.indices:
                counts[index] = counts.get(index, 0) + 1
        shifted = {
            arrow.index for arrow in self.made.arrows if self.parts[arrow.target] is part and arrow.shift
        }
        feedback = {
            arrow.target for arrow in self.made.arrows if arrow.shift and arrow.source.endswith("/given")
        }
        for unit in part.units:
            if unit.key in feedback and unit.indices:
                shifted.add(unit.indices[-1])

        def rank(index: str) -> tuple[Any, ...]:
            size = length(part.ranges[index]) if index in part.ranges else None
            return index in shifted, index in part.own, not isinstance(size, int), counts[index]

        free = [index for index in counts if index not in part.fixed and index in part.ranges]
        return max(free, key=rank, default="")

    def _letter(self, unit: Vertex) -> str:
        """The index of a unit that corresponds to the columns; empty for a unit that occurs once."""
        part = self.parts[unit.key]
        main, indices = self.index[part.key], unit.indices
        if unit.kind == "latent":  # one variable for all positions it chooses from
            indices = tuple(index for index in indices if index in unit.latent.partition("_")[2])
        if not main or main in indices:
            return main
        same = self._last(part, main)
        return next((one for one in indices if self._last(part, one) == same), "")

    def _last(self, part: GraphPart, index: str) -> str:
        values = part.ranges[index].values if index in part.ranges else ()
        return node_text(values[-1]) if len(values) == 2 else ""

    def _columns(self, part: GraphPart) -> list[str]:
        """1, 2, ⋯, S; all of them if there are few."""
        index = self.index[part.key]
        if not index:
            return []
        if part.key in self.trees:
            return self.trees[part.key].nodes
        size = length(part.ranges[index])
        if isinstance(size, int) and size <= 4:
            return [str(number) for number in range(1, size + 1)]
        reach = max((one.reach for one in self.made.arrows if self.parts[one.target] is part), default=1)
        return [*(str(number) for number in range(1, reach + 2)), MORE, self._last(part, index)]

    def _beyond(self, unit: Vertex) -> list[str]:
        """The steps of a unit beyond those of its part: u_4 if u_k is defined for k = 2 … 4, but the part has k = 1 …
        3."""
        index = self.letters[unit.key]
        last = [*self._columns(self.parts[unit.key]), ""][-2] if index else ""
        ends = [
            condition.rest[-1][1].value
            for equation in unit.equations
            for condition in equation.conditions
            if Symbol(index) in [side for _, side in condition.rest[:-1]]
            and condition.rest[-1][0] == "≤"
            and isinstance(condition.rest[-1][1], Number)
        ]
        if not ends or not last.isdigit():
            return []
        return [str(step) for step in range(int(last) + 1, int(max(ends)) + 1)]

    def _firsts(self) -> Iterator[tuple[str, str]]:
        """Boxes that are the first of a row under another name: u_1 = h′ is the first of the u_k."""
        for arrow in self.made.arrows:
            if arrow.start and arrow.source in self.units and not self.letters[arrow.source]:
                first, row = self.units[arrow.source], self.units[arrow.target]
                for step in self._steps(row.key)[:1]:
                    if _at(row, self.letters[row.key], step) == first.symbol:
                        yield f"{row.key}|{step}", f"{first.key}|"

    # What is taken from where

    def _taken(self, arrow: Arrow) -> str:
        """The letter of the source at the subscript position of the columns."""
        source = self.units[arrow.source]
        at = self.letters[source.key]
        if not at or not arrow.symbol:
            return at
        taken = _parsed(arrow.symbol)
        base, places = getattr(taken, "base", ""), (at, self.index[self.parts[source.key].key])
        if not isinstance(taken, Symbol):
            return at
        targets = [equation.targets[0] for equation in source.equations if equation.targets[0].base == base]
        for target in targets:
            for pattern, item in zip(target.items, taken.items, strict=False):
                if isinstance(pattern, Symbol) and pattern.base in places:
                    return node_text(item.left if isinstance(item, Operation) else item)
        if not taken.items and (step := self._named(arrow)):
            return step
        if any(target.items for target in targets):
            return ""
        return "one" if targets else at

    def _named(self, arrow: Arrow) -> str:
        """The step whose value has a name without a step: S if h = h_S; empty if the name is of no single step."""
        for equation in self.units[arrow.source].equations:
            target, body = equation.targets[0], equation.body
            if not target.items and node_text(target) == arrow.symbol and isinstance(body, Symbol):
                return next((node_text(item) for item in reversed(body.items)), "")
        return ""

    def _step(self, arrow: Arrow, steps: list[str]) -> str:
        """The step that a unit which occurs once takes from a row, as its equation says; default: the last."""
        named = self._named(arrow)  # h = h_1: the state that has read everything
        return next((step for step in (self._taken(arrow), arrow.at, named) if step in steps), steps[-1])

    def _reads_all(self, arrow: Arrow) -> bool:
        """Whether every step uses all steps of another unit."""
        if arrow.delayed or arrow.start or not self.letters[arrow.source]:
            return False
        if not arrow.symbol:
            return False
        taken, mine = self._taken(arrow), self.letters[arrow.target]
        last = self._last(self.parts[arrow.source], self.letters[arrow.source])
        certain = taken == last or re.fullmatch(r"\d+|one|[A-Z]′*", taken) is not None
        return not certain and taken != mine

    def _starts_from_all(self, arrow: Arrow) -> bool:
        """Whether a unit that occurs once begins with a value of all steps of another: m_0 = Σ_j h_0j / S."""
        known = arrow.source in self.units and arrow.target in self.units
        return known and arrow.start and bool(self.letters[arrow.source]) and not self.letters[arrow.target]

    def _wires(self) -> Iterator[tuple[str, str, bool]]:
        for source, target, delayed in self._all_wires():
            if target not in self.firsts:
                yield self.firsts.get(source, source), target, delayed

    def _all_wires(self) -> Iterator[tuple[str, str, bool]]:
        for arrow in self.made.arrows:
            source, target = arrow.source, arrow.target
            if source not in self.units or target not in self.units:
                continue
            here, there = self._steps(source), self._steps(target)
            tree = self.trees.get(self.parts[target].key)
            if _of_children(arrow):
                for parent, children in tree.children.items() if tree is not None else ():
                    yield from ((f"{source}|{child}", f"{target}|{parent}", True) for child in children)
            elif tree is not None and self.parts[source] is self.parts[target]:
                yield from ((f"{source}|{step}", f"{target}|{step}", False) for step in here if step in there)
            elif arrow.shift:
                if arrow.index in ("", self.letters[target]) and here and there:
                    yield from self._delayed(arrow, there)
            elif self._starts_from_all(arrow):
                yield f"{source}|all", f"{target}|", False
            elif arrow.start:
                yield from self._started(arrow, here, there)
            elif source in self.bars and self._reads_all(arrow):
                for step in there or [""]:
                    if step != MORE:
                        yield f"{source}|all", f"{target}|{step}", False
            elif there and self._named(arrow) in here:
                for step in there:
                    if step != MORE:
                        yield f"{source}|{self._named(arrow)}", f"{target}|{step}", False
            elif here and there:
                for one, other in zip(here, there, strict=False):
                    if one != MORE:
                        yield f"{source}|{one}", f"{target}|{other}", False
            elif here:
                yield f"{source}|{self._step(arrow, here)}", f"{target}|", False
            else:
                for step in there or [""]:
                    if step != MORE:
                        yield f"{source}|", f"{target}|{step}", False
        for source in self.bars:
            for step in self._steps(source):
                if step != MORE:
                    yield f"{source}|{step}", f"{source}|all", False

    def _delayed(self, arrow: Arrow, steps: list[str]) -> Iterator[tuple[str, str, bool]]:
        pairs = list(pairwise(steps))
        if (arrow.shift or 0) > 0:
            pairs = [(after, before) for before, after in pairs]
        early = steps[: steps.index(MORE)] if MORE in steps else steps
        pairs += [
            pair for back in range(2, arrow.reach + 1) for pair in zip(early, early[back:], strict=False)
        ]
        for one, other in pairs:
            if arrow.source == arrow.target or other != MORE:
                yield f"{arrow.source}|{one}", f"{arrow.target}|{other}", True

    def _started(self, arrow: Arrow, here: list[str], there: list[str]) -> Iterator[tuple[str, str, bool]]:
        back = any(
            (one.shift or 0) > 0 and one.target == arrow.target and one.index == self.letters[arrow.target]
            for one in self.made.arrows
        )
        if here and there:
            for one, other in zip(here, there, strict=False):
                if one != MORE:
                    yield f"{arrow.source}|{one}", f"{arrow.target}|{other}", False
        elif there:
            yield f"{arrow.source}|", f"{arrow.target}|{there[-1 if back else 0]}", False
        elif not here:
            yield f"{arrow.source}|", f"{arrow.target}|", False

    def _steps(self, key: str) -> list[str]:
        if not self.letters[key]:
            return []
        tree = self.trees.get(self.parts[key].key)
        if tree is not None:
            return tree.nodes if self._composes(key) else tree.leaves
        return [*self._columns(self.parts[key]), *self._beyond(self.units[key])]

    def _composes(self, key: str) -> bool:
        return any(arrow.source == key and _of_children(arrow) for arrow in self.made.arrows)

    # Boxes

    def block(self) -> Block:
        boxes: list[PlacedBox] = []
        heads: dict[int, float] = {}
        firsts: dict[str, tuple[int, int]] = {}
        row = 0
        lone = any(not self.letters[key] for key in self.units)
        for part in self.made.parts:
            heads[row] = 10.0
            begin = row
            for unit in part.units:
                if f"{unit.key}|" in self.firsts.values():
                    continue
                boxes += self._row(unit, row, 1 if lone else 0)
                tree = self.trees.get(part.key)
                row += tree.levels if tree is not None and self._composes(unit.key) else 1
                if unit.key in self.bars:
                    boxes.append(self._bar(unit, row, len(self._steps(unit.key)) + (1 if lone else 0)))
                    row += 1
            firsts[part.key] = (begin, row - 1)
        known = {box.key for box in boxes}
        wires = [Wire(a, b, dashed=late) for a, b, late in self._wires() if a in known and b in known]
        place = {box.key: box.row for box in boxes}
        wires = [replace(w, side="left") if place[w.target] <= place[w.source] else w for w in wires]
        owner = {box.key: self.parts[box.key.rpartition("|")[0]].key for box in boxes}
        block, extents = wired(
            boxes, wires, heads=heads, straight=lambda a, b: owner[a.key] == owner[b.key], least=15.0
        )
        marks: list[Mark] = []
        titled = max(text_width(word, 12 * 1.3) for part in self.made.parts for word in _title(part))
        width = block.width + titled + 12
        for part in self.made.parts:
            first, last = firsts[part.key]
            top, bottom = extents[first][0] + 6, extents[last][1] + 3
            marks.append(Rect(1, top, width - 2, bottom - top, stroke="faint", stroke_width=1.2, radius=8))
            for line, word in enumerate(_title(part)):
                y = top + 18 + 15 * line
                marks.append(Text(block.width + 4, y, word, size=12, bold=True, color="muted"))
        return Block((Group((*marks, *block.marks), kind="unrolled"),), width, block.height + 6)

    def _row(self, unit: Vertex, row: int, offset: int) -> Iterator[PlacedBox]:
        steps = self._steps(unit.key)
        if not steps:
            yield _small(f"{unit.key}|", row, 0, unit.latent or _short(unit), unit)
            return
        tree = self.trees.get(self.parts[unit.key].key)
        if tree is not None:
            for step in steps:
                place = row + tree.heights[step], offset + tree.columns[step]
                yield _small(f"{unit.key}|{step}", *place, _at(unit, self.letters[unit.key], step), unit)
            return
        for column, step in enumerate(steps, offset):
            first = self.firsts.get(f"{unit.key}|{step}")
            if first is not None:
                yield _small(first, row, column, _short(self.units[first[:-1]]), self.units[first[:-1]])
                continue
            text = MORE if step == MORE else _at(unit, self.letters[unit.key], step)
            yield _small(f"{unit.key}|{step}", row, column, text, unit, plain=step == MORE)

    def _bar(self, unit: Vertex, row: int, column: int) -> PlacedBox:
        """A bar with all steps of a unit, for units that use them together."""
        steps, index = self._steps(unit.key), self.letters[unit.key]
        text = f"{_at(unit, index, steps[0])} … {_at(unit, index, steps[-1])}"

        def marks(wide: float, high: float) -> list[Mark]:
            return [
                Rect(0, 0, wide, high, fill="paper", stroke="ink", stroke_width=1, radius=3),
                Text(wide / 2, high / 2 + 4, text, size=SIZE, anchor="middle"),
            ]

        return PlacedBox(f"{unit.key}|all", row, column, text_width(text, SIZE) + 16, 22.0, marks)


def _of_children(arrow: Arrow) -> bool:
    """Whether a unit is computed from itself at other places that a structure names, h_{λ_j}: the children of a
    node."""
    return arrow.source == arrow.target and bool(arrow.shift) and not arrow.index


def _title(part: GraphPart) -> list[str]:
    kind, _, name = part.title.partition(" of ")
    return [f"{kind} of", name]


def _short(unit: Vertex) -> str:
    return unit.symbol.partition(":")[0].partition(",")[0]


def _parsed(symbol: str) -> Node:
    try:
        return Parser(symbol).factor()
    except ValueError:
        return None


def _at(unit: Vertex, index: str, step: str) -> str:
    """The symbol of a unit at a step: h_1, s_T, E_y[y_0]."""
    value: Node = Number(int(step)) if step.isdigit() else _parsed(step)
    if unit.kind == "latent" and "_" in unit.latent:
        return node_text(_set(_parsed(unit.latent), {index: value}))
    node = unit.target if unit.target is not None else _parsed(unit.symbol)
    return node_text(_set(node, {index: value})) if node is not None else _short(unit)


def _set(node: Node, values: Mapping[str, Node]) -> Node:
    match node:
        case Symbol() if not node.items and node.base in values:
            return values[node.base]
        case Symbol():
            return replace(node, items=tuple(_set(item, values) for item in node.items))
        case Item():
            return replace(
                node, of=_set(node.of, values), items=tuple(_set(item, values) for item in node.items)
            )
        case Operation():
            left, right = _set(node.left, values), _set(node.right, values)
            if isinstance(left, Number) and isinstance(right, Number) and node.sign in "+−":
                return Number(left.value + right.value if node.sign == "+" else left.value - right.value)
            return replace(node, left=left, right=right)
    return node


def _small(key: str, row: int, column: int, text: str, unit: Vertex, *, plain: bool = False) -> PlacedBox:
    color, dashes = color_of(unit.group)
    width = 22.0 if plain else max(40.0, text_width(text, SIZE) + 14)

    def marks(wide: float, high: float) -> list[Mark]:
        if plain:
            return [Text(wide / 2, high / 2 + 4, text, size=SIZE, anchor="middle", color="muted")]
        radius = high / 2 if unit.kind == "latent" else 5.0
        found: list[Mark] = [Rect(0, 0, wide, high, fill="paper", radius=radius)]
        if unit.group is not None:
            tags = (("weights", str(unit.group)),)
            found.append(Rect(0, 0, wide, high, fill=color, opacity=0.15, radius=radius, tags=tags))
        edge = "ink" if unit.kind == "latent" and unit.group is None else color
        found.append(outline(wide, high, edge, dashes, radius))
        found.append(
            Text(wide / 2, high / 2 + 4, text, size=SIZE, anchor="middle", italic=unit.kind == "latent")
        )
        return found

    return PlacedBox(key, row, column, width, HEIGHT, marks)
