"""A model as a graph: what is computed, from what, with which weights; read off the equations its parts write.

One unit for each thing the board defines (`h_j`, `s_t`, `α_t`), an arrow for each that it is computed from. An arrow
from an earlier step (s_{t−1}) is *delayed*. Weights come from the network itself, so that their counts are its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from regard.describe.board import NOTE, memory_symbols, read_by
from regard.describe.notation import (
    BoardLines,
    Call,
    Equation,
    Function,
    Item,
    Node,
    NotationError,
    Number,
    Operation,
    Range,
    Reduction,
    Symbol,
    symbols,
)
from regard.describe.notation.grammar import Parser
from regard.describe.notation.walking import (
    bind,
    calls_in,
    items_in,
    node_text,
    operations_in,
    parts_below,
    reductions_in,
    said_symbols,
    same_symbol,
    written_symbol,
)
from regard.describe.sizes import BoardSizes, Known
from regard.describe.vertices import Arrow, Graph, GraphPart, Inside, Kind, Vertex, in_order
from regard.describe.weights import FIRST, STEP, LetteredWeight, held, letter
from regard.model.building import build_network
from regard.model.counting import fitted_to_nothing, parameter_slopes
from regard.model.store import read_columns
from regard.nn.symbols import primed
from regard.parts import as_data
from regard.spec import Spec

GIVEN = ("w", "X", "x", "y")
"""The letters of what is read and written."""
DISTRIBUTIONS = ("softmax", "sparsemax", "entmax")


def graph(spec: Spec, what: str = "") -> Graph:
    """The graph of a model; with the vocabularies of a run's folder where `what` is one."""
    file = Path(what) / "columns.json"
    columns = read_columns(file) if file.is_file() else fitted_to_nothing(spec)
    with torch.device("meta"):
        network = build_network(spec, columns, read_files=False)
    total = sum(parameter.numel() for parameter in network.parameters())
    slopes = {} if file.is_file() else parameter_slopes(spec)
    made = Graph(spec.name or what, [], [], total, {name: units for name, (_, units) in slopes.items()})
    defined: dict[str, Vertex] = {}
    known: dict[tuple[str, int], Any] = {}
    memories = memory_symbols(spec)
    for place, (name, options) in enumerate(spec.encoder.items()):
        owner = options.part.owner(options)
        owned = options if owner is None else spec.encoder[owner]
        lines = primed(owned.part.board(owned), place)
        reader: Any = network.encoders[owner or name]
        column = spec.inputs[name]
        builder = _Builder(f"encoder {name}", lines, held(reader, "encoders", owner or name), "′" * place)
        builder.given(name, column.part.describe(column, name))
        part = builder.part(f"encoder of {name}", _said(options))
        made.parts.append(part)
        made.arrows += builder.arrows
        known |= builder.sizes.found
        for written in _memory_texts(memories[name]):
            for symbol in symbols(Parser(written).expression()):
                unit = builder.definer(symbol)
                if unit is not None:
                    defined[written_symbol(symbol)] = unit
    for place, name in enumerate(spec.outputs):
        options, read = spec.decoder[name], read_by(spec, name)
        kept = {one for memory in read.values() for one in memory.names}
        lines = primed(options.part.board(options, read), place, kept)
        decoder: Any = network.decoders[name]
        ranges = {index: one for part in made.parts for index, one in part.ranges.items()}
        builder = _Builder(
            f"decoder {name}",
            lines,
            held(decoder, "decoders", name),
            "′" * place,
            defined,
            ranges=ranges,
            known=known,
            written=f"V({name})" if name in slopes else "",
            decodes=True,
        )
        builder.given(name, spec.outputs[name].part.describe(spec.outputs[name], name))
        part = builder.part(f"decoder of {name}", _said(options))
        made.parts.append(part)
        made.arrows += builder.arrows
    _count(made, {name: grown for name, (grown, _) in slopes.items()})
    return made


def _said(options: Any) -> str:
    """Options as a reader writes them: `recurrent, cell gru, size 128`."""
    data = as_data(options)

    def plain(value: Any) -> str:
        if isinstance(value, Mapping):
            kind = value.get("type")
            rest = [f"{key} {plain(item)}" for key, item in value.items() if key != "type"]
            inside = ", ".join(rest)
            return f"{kind} ({inside})" if kind and inside else str(kind or inside)
        if isinstance(value, list):
            return " + ".join(map(plain, value))
        return str(value)

    if not isinstance(data, Mapping):
        return str(data)
    rest = [f"{key} {plain(value)}" for key, value in data.items() if key != "type"]
    return ", ".join([str(data.get("type", "")), *rest])


def _memory_texts(memory: Any) -> list[str]:
    found = [memory.values, memory.keys, memory.summary, *memory.last, *memory.carried]
    if memory.words is not None:
        found += _memory_texts(memory.words)
    return [one for one in found if one]


def _count(made: Graph, slopes: Mapping[str, Mapping[str, int]]) -> None:
    """Each parameter is counted where it is first met; units that have one in common get one group."""
    counted: set[tuple[int, str]] = set()
    tensors: dict[tuple[int, str], list[Vertex]] = {}
    for part in made.parts:
        for unit in part.units:
            for one in unit.held:
                tensors.setdefault(one.identity, []).append(unit)
                if one.identity in counted:
                    continue
                counted.add(one.identity)
                unit.weights[one.name] = unit.weights.get(one.name, 0) + one.count
                for column, grown in slopes.items():
                    if one.name in grown:
                        unit.slopes[column] = unit.slopes.get(column, 0) + grown[one.name]
        part.count = sum(unit.count for unit in part.units)
    number = 0
    for unit in made.units():
        if unit.group is not None or not unit.held:
            continue
        waiting = [unit]
        while waiting:
            reached = waiting.pop()
            if reached.group is None:
                reached.group = number
                waiting += [other for weight in reached.held for other in tensors[weight.identity]]
        number += 1
    for part in made.parts:
        for inside in part.insides:
            users = [unit for unit in part.units if any(inside.name in line for line in unit.lines)]
            inside.group = next((unit.group for unit in users if unit.group is not None), None)


class _Builder:
    """The units of one part."""

    def __init__(
        self,
        key: str,
        lines: Sequence[str],
        weights: list[LetteredWeight],
        primes: str,
        outside: Mapping[str, Vertex] | None = None,
        *,
        ranges: Mapping[str, Range] | None = None,
        known: Known | None = None,
        written: str = "",
        decodes: bool = False,
    ) -> None:
        self.key, self.weights, self.primes, self.decodes = key, weights, primes, decodes
        self.outside, self.known, self.units_written = dict(outside or {}), dict(known or {}), written
        self.lines, self.texts = _read(lines), list(lines)
        self.units: list[Vertex] = []
        self.tables: set[str] = set()
        self.steps: dict[tuple[str, int], set[int]] = {}
        self.weighing: dict[str, set[str]] | None = None
        self.arrows: list[Arrow] = []
        self.source: Vertex | None = None
        self.cells = {one.equation.targets[0].base for one in self.lines.functions if self._is_cell(one)}
        self.defined: dict[tuple[str, int], list[tuple[Equation, Vertex]]] = {}
        self.own = frozenset(self.lines.ranges)
        for letter_, range_ in (ranges or {}).items():
            self.lines.ranges.setdefault(letter_, range_)

    def _is_cell(self, function: Function) -> bool:
        """Whether it is the step of a recurrence: somebody calls it with a state of before."""
        base = function.equation.targets[0].base
        names = {one.owner for one in self.weights}
        return re.sub(r"[^a-z]", "", base) in {
            re.sub(r"[^a-z]", "", name) for name in names if " " not in name
        }

    def _is_worth(self, function: Function) -> bool:
        """Whether it has weights of its own to show: a cell, a composer, a block; not layernorm."""
        bodies = (function.equation.body, *function.inside.values())
        inside = any(self._is_weight(one) for body in bodies for one in symbols(body))
        return function.equation.targets[0].base in self.cells or inside

    # What is given, and what each equation defines

    def given(self, name: str, described: str) -> None:
        """What is read, or written: the column of that name."""
        kind: Kind = "output" if self.decodes else "input"
        said = described.removeprefix(f"{name}: ")
        self.source = Vertex(f"{self.key}/given", self.key, name, lines=[said], kind=kind)

    def part(self, title: str, options: str) -> GraphPart:
        """All units in the order of computation."""
        self._define([one for one, _ in self.lines.equations if not self._is_alias(one)])
        self._lookups()
        self._hold()
        self._link()
        self._fold()
        self._merge_alike()
        self._draw_given()
        self._measure()
        units = in_order(self.units, self.arrows)
        insides = [self._inside(one) for one in self.lines.functions if self._is_worth(one)]
        return GraphPart(self.key, title, options, self.lines.ranges, self.own, units, insides)

    def _is_alias(self, equation: Equation) -> bool:
        """`E′_x = E_A`: a table that is another's."""
        target = equation.targets[0]
        return isinstance(equation.body, Symbol) and letter(target).startswith("E_")

    def _define(self, equations: list[Equation]) -> None:
        by_symbol: dict[tuple[str, int, str], list[Equation]] = {}
        together: dict[str, Vertex] = {}
        for equation in equations:
            target = equation.targets[0]
            by_symbol.setdefault((target.base, len(target.items), self._labels(target)), []).append(equation)
        for (base, arity, labels), found in by_symbol.items():
            general = [one for one in found if not self._certain(one.targets[0])]
            for equation in [*general, *(one for one in found if one not in general)]:
                # the equations of one line (h_j, m_j = lstm(…)) are one unit, as are those of one symbol
                apart = self._certain(equation.targets[0]) and (
                    not general or (self._computes(equation, base) and self._recurs(base))
                )
                place = equation.text if apart else f"{base}/{arity}/{labels}"
                first = together.get(equation.text) or together.get(place)
                if first is None:
                    first = Vertex(
                        f"{self.key}/{written_symbol(equation.targets[0])}",
                        self.key,
                        written_symbol(equation.targets[0]),
                    )
                    first.target = equation.targets[0]
                    self.units.append(first)
                together[equation.text] = together[place] = first
                if not apart and general and first.target is not None and self._certain(first.target):
                    first.target, first.symbol = general[0].targets[0], written_symbol(general[0].targets[0])
                if equation.text not in first.lines:
                    first.lines.append(equation.text)
                if equation not in first.equations:
                    first.equations.append(equation)
                self.defined.setdefault((base, arity), []).append((equation, first))
        for unit in self.units:
            unit.indices = tuple(item.base for item in unit.target.items if self.lines.is_index(item))  # type: ignore[union-attr]

    def _labels(self, target: Symbol) -> str:
        """What stands below a symbol and is part of its name: y of u_yp, 1 of s_1t."""
        return ",".join(
            node_text(item)
            for place, item in enumerate(target.items)
            if not self.lines.is_index(item) and place not in self._steps_of(target)
        )

    def _steps_of(self, target: Symbol) -> set[int]:
        """The places below a symbol where an equation has an index: the second of s_1t, and so of s_{1,0}."""
        key = (target.base, len(target.items))
        if key not in self.steps:
            alike = [one.targets[0] for one, _ in self.lines.equations]
            alike = [one for one in alike if (one.base, len(one.items)) == key]
            self.steps[key] = {
                place for one in alike for place, item in enumerate(one.items) if self.lines.is_index(item)
            }
        return self.steps[key]

    def _recurs(self, base: str) -> bool:
        """Whether somebody takes the value of an earlier step."""
        used = (one for equation, _ in self.lines.equations for one in said_symbols(equation.body))
        return any(
            one.base == base and any(isinstance(item, Operation) for item in one.items) for one in used
        )

    def _certain(self, target: Symbol) -> bool:
        """Whether it stands for one step alone, where another equation has them all: s_0 beside s_t."""
        items = enumerate(target.items)
        return any(place in self._steps_of(target) and not self.lines.is_index(item) for place, item in items)

    def _computes(self, equation: Equation, base: str) -> bool:
        """Whether a first value is more than a constant: it has weights, or is made of something else."""
        others = [
            one
            for one in said_symbols(equation.body)
            if one.base not in self.lines.ranges and one.base != base
        ]
        return any(self._is_weight(one) or self._known(one) for one in others)

    def _known(self, symbol: Symbol) -> bool:
        known = {equation.targets[0].base for equation, _ in self.lines.equations}
        return symbol.base in known or any(symbol.base == key.partition("_")[0] for key in self.outside)

    def _is_weight(self, symbol: Symbol) -> bool:
        return any(one.letters and re.fullmatch(one.letters, letter(symbol)) for one in self.weights)

    # Tables

    def _lookups(self) -> None:
        """A unit for each table of vectors that is looked up beside other things: E_y[y_{t−1}]."""
        tables: dict[str, list[tuple[Vertex, Item]]] = {}
        for unit in self.units:
            for equation in unit.equations:
                for entry in items_in(equation.body):
                    if (
                        isinstance(entry.of, Symbol)
                        and letter(entry.of)[:2] in ("E_", "G_")
                        and self._is_weight(entry.of)
                    ):
                        tables.setdefault(entry.of.base + "_" + letter(entry.of)[2:], []).append(
                            (unit, entry)
                        )
        for table, uses in tables.items():
            users = {unit.key for unit, _ in uses}
            alone = len(users) == 1 and not self._depends(uses[0][0])
            if alone:
                continue
            texts = list(dict.fromkeys(node_text(entry) for _, entry in uses))
            symbol = texts[-1]
            unit = Vertex(
                f"{self.key}/{table}", self.key, symbol, lines=[", ".join(texts)] if len(texts) > 1 else []
            )
            inner = [one for _, entry in uses for one in symbols(entry.items)]
            unit.indices = tuple(dict.fromkeys(one.base for one in inner if one.base in self.lines.ranges))
            unit.equations = [Equation((Symbol(table),), entry, (), "") for _, entry in uses[:1]]
            self.units.append(unit)
            self.tables.add(table)
            for key in sorted(users):
                self.arrows.append(Arrow(unit.key, key, symbol))

    def _is_table(self, entry: Item) -> bool:
        """Whether it is looked up in a table that has a unit of its own."""
        return isinstance(entry.of, Symbol) and f"{entry.of.base}_{letter(entry.of)[2:]}" in self.tables

    def _depends(self, unit: Vertex) -> bool:
        """Whether it is computed by a cell, or from something else that is computed."""
        for equation in unit.equations:
            if any(call.base in self.cells for call in calls_in(equation.body)):
                return True
            others = [one for one in said_symbols(equation.body) if not self._is_weight(one)]
            if any(self._known(one) and one.base != equation.targets[0].base for one in others):
                return True
        return False

    # Weights

    def _hold(self) -> None:
        uses: dict[str, list[str]] = {}
        for unit in self.units:
            uses[unit.key] = list(dict.fromkeys(self._letters(unit)))
        lookups = {unit.key for unit in self.units if unit.target is None}
        unknown = []
        for one in self._shares({used for found in uses.values() for used in found}):
            matching: list[Vertex] = []
            for pattern in one.letters.split("|="):
                wanted = pattern if pattern == one.letters.split("|=")[0] else f"={pattern}"
                if wanted and not matching:
                    matching = [
                        unit
                        for unit in self.units
                        if any(re.fullmatch(wanted, used) for used in uses[unit.key])
                    ]
            tables = [unit for unit in matching if unit.key in lookups]
            # a table that has a unit of its own is held there; elsewhere it is a matrix: the output that shares it
            if tables:
                others = [unit for unit in matching if unit.key not in lookups and self._as_matrix(unit, one)]
                matching = tables + others
            for unit in matching:
                unit.held.append(one)
            if not matching:
                unknown.append(one)
        self._hold_unknown(unknown, uses)
        for unit in self.units:
            owners = sorted(dict.fromkeys(one.owner for one in unit.held), key=FIRST.__eq__)
            unit.name = ", ".join(owners[:3]) if len(owners) < 4 else f"{owners[0]}, …"

    def _shares(self, used: set[str]) -> list[LetteredWeight]:
        """The weights, those of a bridge apart for each letter: W_s and W_n of the first state and the first memory."""
        found: list[LetteredWeight] = []
        for one in self.weights:
            marks = {letter_.partition("_")[2] for letter_ in used if re.fullmatch(one.letters, letter_)}
            if one.owner == "bridge" and len(marks) > 1:
                found += [
                    replace(one, letters=f"[Wb]_{mark}", count=one.count // len(marks))
                    for mark in sorted(marks)
                ]
            else:
                found.append(one)
        return found

    def _as_matrix(self, unit: Vertex, one: LetteredWeight) -> bool:
        for equation in unit.equations:
            looked = {id(entry.of) for entry in items_in(equation.body)}
            for symbol in symbols(equation.body):
                if id(symbol) not in looked and re.fullmatch(one.letters, letter(symbol)):
                    return True
        return False

    def _hold_unknown(self, unknown: list[LetteredWeight], uses: Mapping[str, list[str]]) -> None:
        """Parameters no letter is known of go where letters are that no parameter is known of."""
        patterns = [one.letters for one in self.weights if one.letters]
        bare = [
            unit
            for unit in self.units
            if any(
                self._free(used) and not any(re.fullmatch(p, used) for p in patterns)
                for used in uses[unit.key]
            )
        ]
        for one in unknown:
            if bare and not one.letters:
                bare[0].held.append(one)
                continue
            box = next((unit for unit in self.units if unit.kind == "box" and unit.name == one.owner), None)
            if box is None:
                box = Vertex(f"{self.key}/box {one.owner}", self.key, one.owner, one.owner, kind="box")
                self.units.append(box)
            box.held.append(one)

    def _free(self, used: str) -> bool:
        base, _, below = used.partition("_")
        weight = len(base) <= 2 and bool(below) and not any(one in self.lines.ranges for one in below)
        return weight and base not in GIVEN and (base, len(below)) not in self.defined

    def _letters(self, unit: Vertex) -> Iterator[str]:
        """The letters an equation is computed with; `=s` for what it defines, `@y` for its cell."""
        for equation in unit.equations:
            if unit.target is not None and not self._certain(unit.target):
                yield "=" + unit.target.base.replace("′", "").lstrip("→←")
            yield from self._in(equation.body, {})

    def _in(self, node: Node, bound: Mapping[str, Node]) -> Iterator[str]:
        if isinstance(node, Symbol):
            known = bind(node, bound)
            if isinstance(known, Symbol):
                yield letter(known)
        if isinstance(node, Call):
            if node.base in self.cells:
                yield STEP + letter(replace(node, base="")).lstrip("_")
            else:
                for function in self.lines.functions:
                    target = function.equation.targets[0]
                    if target.base == node.base:
                        names = [item.base for item in target.items if isinstance(item, Symbol)]
                        items = {
                            **bound,
                            **dict(zip(names, [bind(i, bound) for i in node.items], strict=False)),
                        }
                        yield from self._in(function.equation.body, items)
                        for body in function.inside.values():
                            yield from self._in(body, items)
        for part in parts_below(node):
            yield from self._in(part, bound)

    # Arrows

    def _link(self) -> None:
        for unit in list(self.units):
            if unit.target is None and unit.kind != "box":
                continue
            found: dict[tuple[Any, ...], Arrow] = {}
            for equation in unit.equations:
                for symbol in self._used(equation.body):
                    for arrow in self._arrows(symbol, unit, equation):
                        known = found.setdefault((arrow.source, arrow.shift), arrow)
                        if known.at != arrow.at:
                            found[arrow.source, arrow.shift] = replace(known, at="all")
            self.arrows += [
                arrow
                for (source, shift), arrow in found.items()
                if not shift or source == unit.key or (source, 0) not in found  # a neighbor, in the same step
            ]
        for found_here in self.defined.values():
            for equation, unit in found_here:
                first = equation.targets[0]
                same = self._labels(first)
                general = next(
                    (
                        one
                        for other, one in found_here
                        if not self._certain(other.targets[0]) and self._labels(other.targets[0]) == same
                    ),
                    None,
                )
                if general is None or unit is general or not self._certain(first):
                    continue
                # whoever takes the value of the step before takes this one in the first step
                for arrow in [one for one in self.arrows if one.source == general.key and one.delayed]:
                    start = Arrow(unit.key, arrow.target, written_symbol(first), start=True)
                    if start not in self.arrows:
                        self.arrows.append(start)

    def _used(self, node: Node) -> Iterator[Symbol]:
        """The symbols of a tree, those inside the functions it calls as well, but not their parameters."""
        for one in said_symbols(node):
            if (one.base not in self.lines.ranges or one.items) and not self._is_weight(one):
                yield one
        for call in calls_in(node):
            for function in self.lines.functions:
                target = function.equation.targets[0]
                if target.base == call.base and call.base not in self.cells:
                    own = {one.base for one in symbols(target.arguments)} | set(function.inside)
                    bodies = (function.equation.body, *function.inside.values())
                    yield from (one for body in bodies for one in self._used(body) if one.base not in own)

    def _arrows(self, symbol: Symbol, unit: Vertex, equation: Equation) -> Iterator[Arrow]:
        text = written_symbol(symbol)
        for arity in range(len(symbol.items), -1, -1):
            for definer, source in self.defined.get((symbol.base, arity), ()):
                target = definer.targets[0]
                if self._certain(target) and not same_symbol(target, symbol):
                    continue
                if not self._named_alike(target, symbol):
                    continue
                shift, at, index = self._shift(target, symbol)
                if source is unit and not shift:
                    if (
                        source.target is not None
                        and target.base == equation.targets[0].base
                        and symbol.items
                        and at == ""
                    ):
                        shift = -1 if any(getattr(item, "items", ()) for item in symbol.items) else 0
                    if not shift:
                        return
                yield Arrow(source.key, unit.key, text, shift, at, index=index)
                return
        for key, source in self.outside.items():
            base, _, below = key.partition("_")
            if base == symbol.base and (bool(below) == bool(symbol.items)):
                yield Arrow(source.key, unit.key, text, None, "all" if below else "")
                return

    def _named_alike(self, target: Symbol, symbol: Symbol) -> bool:
        """Whether the letters below a symbol that are no indices are the same."""
        for pattern, item in zip(target.items, symbol.items, strict=False):
            if not self.lines.is_index(pattern):
                if pattern != item:
                    return False
            elif isinstance(item, Symbol) and not item.items and not self._is_place(item.base):
                return False
        return True

    def _is_place(self, letter_: str) -> bool:
        """Whether it is an index, how far one goes (S), or one of the things it goes over (A of l ∈ {A, C})."""
        bounds = {one.base for range_ in self.lines.ranges.values() for one in symbols(range_.values)}
        return letter_ in self.lines.ranges or letter_ in bounds or letter_ in self.lines.places

    def _shift(self, target: Symbol, symbol: Symbol) -> tuple[int, str, str]:
        """How far before or behind a value is taken from, from which step, and along which index."""
        shift, at, index = 0, "", ""
        for pattern, item in zip(target.items, symbol.items, strict=False):
            if not self.lines.is_index(pattern):
                continue
            moved = isinstance(item, Operation) and item.sign in "+−" and isinstance(item.right, Number)
            if moved and isinstance(item.left, Symbol) and item.left.base in self.lines.ranges:
                if not shift:
                    shift, index = int(item.right.value) * (1 if item.sign == "+" else -1), pattern.base
                continue
            if not self._goes_over_places(pattern.base):
                continue
            if isinstance(item, Number):
                at = str(item.value)
            elif isinstance(item, Symbol) and not item.items and item.base not in self.lines.ranges:
                at = item.base
        return shift, at, index

    def _draw_given(self) -> None:
        """What is read and written, as a unit."""
        if self.source is None:
            return
        source = self.source
        if not self.decodes:
            users = [unit for unit in self.units if self._reads(unit)]
            first = (
                users or [one for one in self.units if not any(a.target == one.key for a in self.arrows)][:1]
            )
            source.target, source.indices = self._read_symbol(first)
            self.units.insert(0, source)
            self.arrows += [Arrow(source.key, unit.key, "") for unit in first]
            return
        used = {arrow.source for arrow in self.arrows}
        answers = [unit for unit in self.units if unit.key not in used and unit.kind != "box"]
        answer = answers[-1] if answers else None
        if answer is not None and answer.target is not None:
            source.target, source.indices = Symbol("y" + self.primes, answer.target.items), answer.indices
        self.units.append(source)
        self.arrows += [Arrow(unit.key, source.key, unit.symbol) for unit in answers]
        for unit in self.units:
            if unit is not source and unit not in answers and self._reads(unit):
                self.arrows.append(Arrow(source.key, unit.key, "y" + self.primes, -1))

    def _read_symbol(self, users: Sequence[Vertex]) -> tuple[Symbol | None, tuple[str, ...]]:
        """How what is read is written, and its indices: w_j."""
        for unit in users:
            for equation in unit.equations:
                for one in said_symbols(equation.body):
                    if one.base.replace("′", "") in GIVEN and (one.base, len(one.items)) not in self.defined:
                        return one, tuple(item.base for item in one.items if self.lines.is_index(item))
        return None, ()

    def _reads(self, unit: Vertex) -> bool:
        for equation in unit.equations:
            looked = [] if unit.target is None else list(items_in(equation.body))
            elsewhere = {id(one) for entry in looked if self._is_table(entry) for one in symbols(entry.items)}
            for one in symbols(equation.body):
                base = one.base.replace("′", "")
                if id(one) in elsewhere:
                    continue
                given = (base in GIVEN and bool(one.items)) or base == "X"
                if given and (base == "y") == self.decodes and (one.base, len(one.items)) not in self.defined:
                    return True
        return False

    # What folds into what, and what is a distribution

    def _fold(self) -> None:
        for unit in self.units:
            self._mark_latent(unit)
        kept = {one.key for one in self.outside.values()}
        for unit in list(self.units):
            into = [arrow for arrow in self.arrows if arrow.target == unit.key]
            sources = {arrow.source for arrow in into}
            delayed = any(arrow.shift or arrow.start for arrow in into)
            drawn = unit.kind == "latent" and all(
                one.kind == "latent" for one in self.units if one.key in sources
            )
            if (
                unit.held
                or not (unit.kind == "computed" or drawn)
                or len(sources) != 1
                or delayed
                or unit.key in kept
            ):
                continue
            source = next((one for one in self.units if one.key == next(iter(sources))), None)
            if (
                source is None
                or (source.kind == "latent" and not drawn)
                or source is unit
                or source.target is None
            ):
                continue
            if unit.symbol.startswith(("p(", "p_")) or self._reads(unit):
                continue
            self._merge(unit, source)

    def _merge_alike(self) -> None:
        """Constants go where they are used; the rows of one matrix that are computed from the same are one unit."""
        for unit in list(self.units):
            target = unit.target
            taken = any(arrow.target == unit.key for arrow in self.arrows)
            if target is None or unit.held or taken or self._reads(unit):
                continue
            if not self._certain(target) and unit.indices:
                continue
            self.units.remove(unit)
            self.arrows = [arrow for arrow in self.arrows if arrow.source != unit.key]
            for one in self.units:
                if one.target is not None and one.target.base == target.base:
                    one.lines += unit.lines
                    break
        for unit in list(self.units):
            if unit not in self.units or not unit.held or unit.target is None or unit.kind != "computed":
                continue
            for other in [
                one for one in self.units if one is not unit and self._with(one) == self._with(unit)
            ]:
                if not self._words(unit) & self._words(other):
                    unit.symbol = f"{unit.symbol}, {other.symbol}" if len(unit.symbol) < 12 else unit.symbol
                    self._merge(other, unit)

    def _with(self, unit: Vertex) -> tuple[Any, ...]:
        """The weights of a unit, and what it takes."""
        taken = {(arrow.source, arrow.shift) for arrow in self.arrows if arrow.target == unit.key}
        return {one.identity for one in unit.held}, taken, unit.kind

    def _words(self, unit: Vertex) -> set[str]:
        """The letters of its weights."""
        used = self._letters(unit)
        return {word for word in used if any(re.fullmatch(one.letters, word) for one in unit.held)}

    def _merge(self, unit: Vertex, source: Vertex) -> None:
        source.lines += [line for line in unit.lines if line not in source.lines]
        source.equations += unit.equations
        self.units.remove(unit)
        moved = []
        for arrow in self.arrows:
            arrow = replace(
                arrow,
                source=source.key if arrow.source == unit.key else arrow.source,
                target=source.key if arrow.target == unit.key else arrow.target,
            )
            if arrow.source == arrow.target and not arrow.delayed:
                continue
            moved.append(arrow)
        self.arrows = moved
        for found in self.defined.values():
            for place, (equation, one) in enumerate(found):
                if one is unit:
                    found[place] = (equation, source)

    def _mark_latent(self, unit: Vertex) -> None:
        """A distribution over positions: normalized over them, or a weight of each in a sum."""
        if unit.target is None or unit.symbol.startswith("p("):
            return
        for equation in unit.equations:
            body = equation.body
            over = (
                isinstance(body, Reduction)
                and body.kind in DISTRIBUTIONS
                and self._goes_over_places(body.index)
            )
            structure = next((one.index for one in reductions_in(body) if self._is_structure(one.index)), "")
            base = unit.target.base
            weighs = self._weighs(base)
            normalized = any(
                one.sign == "/" and list(reductions_in(one.right)) for one in operations_in(body)
            )
            squashed = isinstance(body, Call) and body.base == "σ" and isinstance(body.arguments[0], Symbol)
            drawn = isinstance(body, Reduction) and body.kind == "argmax"
            if not any(arrow.source == unit.key for arrow in self.arrows):
                return  # an answer, not something to look with
            if over or structure or (weighs and (normalized or squashed)) or drawn:
                unit.kind = "latent"
                items = [one for one in unit.target.items if isinstance(one, Symbol)]
                over_positions = set() if over else weighs
                indices = [item.base for item in items if item.base in self.lines.ranges]
                below = "".join(index for index in indices if index not in over_positions)
                name = structure or ("ζ" if self._has_a_z(unit) else "z") + self.primes
                unit.latent = f"{name}_{below}" if below and name[0] in "zζ" else name
                return

    def _has_a_z(self, unit: Vertex) -> bool:
        """Whether the board calls something else z than what is drawn from a distribution."""
        for one in self.units:
            if one is not unit and one.target is not None and one.target.base == f"z{self.primes}":
                bodies = [equation.body for equation in one.equations]
                if not any(isinstance(body, Reduction) and body.kind == "argmax" for body in bodies):
                    return True
        return False

    def _is_structure(self, letter_: str) -> bool:
        return letter_ in self.lines.ranges and self.lines.is_structure(letter_)

    def _goes_over_places(self, index: str) -> bool:
        """Whether an index goes over positions, and not over a number of things that is fixed."""
        if index not in self.lines.ranges:
            return True  # over the positions of a memory
        values = self.lines.ranges[index].values
        return bool(values) and not all(isinstance(value, Number) for value in values)

    def _weighs(self, base: str) -> set[str]:
        """The indices of sums in which the symbol is the weight of something."""
        return self._all_weights().get(base, set())

    def _all_weights(self) -> dict[str, set[str]]:
        if self.weighing is None:
            self.weighing = {}
            bodies = [equation.body for unit in self.units for equation in unit.equations]
            for over in (one for body in bodies for one in reductions_in(body) if one.kind == "Σ"):
                inner = over.body
                while isinstance(inner, Reduction):
                    inner = inner.body
                for symbol in symbols(inner) if isinstance(inner, Operation) else ():
                    if over.index in {one.base for one in symbols(symbol.items)}:
                        self.weighing.setdefault(symbol.base, set()).add(over.index)
        return self.weighing

    # Sizes

    def _measure(self) -> None:
        sizes = {re.sub(r"[^a-z]", "", base): 0 for base in self.cells}
        for one in self.weights:
            if one.letters.startswith(STEP) and one.name.endswith("weight_hh"):
                sizes[re.sub(r"[^a-z]", "", one.owner)] = int(one.tensor.shape[-1])
        self.cell_sizes = cells = {base: sizes[re.sub(r"[^a-z]", "", base)] for base in self.cells}
        self.sizes = BoardSizes(self.lines, self.weights, self.cells, cells, self.known, self.units_written)
        for unit in self.units:
            for equation in unit.equations:
                target: Any = equation.targets[0]
                if unit.target is None:  # a table
                    size = self.sizes.of(equation.body, {})
                    unit.shapes[unit.symbol] = self._shape(unit.indices, size)
                    continue
                if self._certain(target) and target != unit.target:
                    continue
                size = self.sizes.found.get(self.sizes.key(target))
                indices = [item.base for item in target.items if self.lines.is_index(item)]
                unit.shapes[written_symbol(target)] = self._shape(indices, size)

    def _shape(self, indices: Iterable[str], size: Any) -> str:
        """`S × 128`; the last of it is left out where it is 1, all of it where it is not known."""
        if size is None:
            return ""
        sides = [self.sizes.length(index) for index in indices]
        sides += [] if size == 1 and sides else [size]
        return (
            ""
            if None in sides
            else " × ".join(f"{side:,}" if isinstance(side, int) else str(side) for side in sides)
        )

    # Others

    def definer(self, wanted: Symbol) -> Vertex | None:
        """The unit that defines a symbol."""
        found = self.defined.get((wanted.base, len(wanted.items)), ())
        certain = [unit for equation, unit in found if same_symbol(equation.targets[0], wanted)]
        general = [
            unit
            for equation, unit in found
            if not self._certain(equation.targets[0]) and self._named_alike(equation.targets[0], wanted)
        ]
        several = [unit for unit in (*certain, *general) if unit in self.units]
        return several[0] if several else None

    def _inside(self, function: Function) -> Inside:
        """The gates of a cell."""
        target: Any = function.equation.targets[0]
        name = written_symbol(Symbol(target.base, target.items))
        units: list[Vertex] = []
        parameters = [one.base for one in target.arguments]
        for parameter in dict.fromkeys(parameters):
            units.append(Vertex(parameter, name, parameter, kind="input"))
        known = set(parameters)
        texts = _inside_texts(self.texts, function)
        for gate, body in function.inside.items():
            units.append(Vertex(gate, name, gate, lines=[texts.get(gate, gate)]))
            units[-1].equations = [Equation((Symbol(gate),), body, (), "")]
            known.add(gate)
        result = Vertex(
            "result", name, "result", lines=[function.equation.text.partition(" = ")[2]], kind="output"
        )
        result.equations = [function.equation]
        units.append(result)
        arrows = []
        for unit in units:
            for equation in unit.equations:
                for base in dict.fromkeys(one.base for one in symbols(equation.body) if one.base in known):
                    if base != unit.key:
                        arrows.append(Arrow(base, unit.key, base))
        if target.base in self.cells:
            self._gate_counts(units)
        size = self.cell_sizes.get(target.base, 0)
        return Inside(name, function.equation.text, in_order(units, arrows), arrows, size)

    def _gate_counts(self, units: list[Vertex]) -> None:
        """The weights of a cell whose gates are alike, gate by gate."""
        gated = [
            unit
            for unit in units
            if unit.equations
            and any(
                letter(one)[:2] in ("W_", "U_")
                for equation in unit.equations
                for one in symbols(equation.body)
            )
        ]
        cells: dict[str, list[LetteredWeight]] = {}
        for one in self.weights:
            if one.letters.startswith(STEP) and re.search(r"\.(weight|bias)_[ih]h$", one.name):
                cells.setdefault(one.name.rpartition(".")[0], []).append(one)
        sizes = {sum(one.count for one in found) for found in cells.values()}
        if gated and len(sizes) == 1 and not next(iter(sizes)) % len(gated):
            for unit in gated:
                unit.weights = {"each cell": next(iter(sizes)) // len(gated)}


def _inside_texts(lines: Sequence[str], function: Function) -> dict[str, str]:
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


def _read(lines: Sequence[str]) -> BoardLines:
    """The lines that can be read; one in somebody's own notation is left out."""
    kept = list(lines)
    try:
        found = BoardLines(kept)
    except NotationError:
        kept = []
        for line in lines:
            try:
                BoardLines([*kept, line])
            except NotationError:
                continue
            kept.append(line)
        found = BoardLines(kept)
    for place, (equation, number) in enumerate(found.equations):
        said = equation.text.partition(NOTE)[0].strip()
        found.equations[place] = (replace(equation, text=said), number)
    functions, found.functions = found.functions, []
    for one in functions:
        equation = replace(one.equation, text=one.equation.text.partition(NOTE)[0].strip())
        target: Any = equation.targets[0]
        if target.base == "p":  # of a structure: p(y) of all tags
            answer = Symbol(f"p({node_text(target.arguments[0])})")
            found.equations.append((replace(equation, targets=(answer,)), None))
        else:
            found.functions.append(replace(one, equation=equation))
    return found
