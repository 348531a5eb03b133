"""Reduce the vertices: fold trivial ones into their source, and merge those that are computed alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from regard.describe.graph.assigning import letters_of
from regard.describe.graph.defining import Definitions
from regard.describe.graph.given import reads
from regard.describe.graph.part_board import PartBoard
from regard.describe.graph.tables import Tables
from regard.describe.vertices import Arrow, Vertex
from regard.notation import Number, Symbol
from regard.notation.walking import node_text


@dataclass
class Draft:
    """The vertices and arrows of a part while they are reduced."""

    units: list[Vertex]
    arrows: list[Arrow]
    definitions: Definitions

    def arrows_into(self, unit: Vertex) -> list[Arrow]:
        return [arrow for arrow in self.arrows if arrow.target == unit.key]

    def remove(self, unit: Vertex) -> None:
        """Remove a vertex and its outgoing arrows."""
        self.units.remove(unit)
        self.arrows = [arrow for arrow in self.arrows if arrow.source != unit.key]

    def merge(self, unit: Vertex, into: Vertex) -> None:
        """Move the lines, equations and arrows of one vertex to another."""
        into.lines += [line for line in unit.lines if line not in into.lines]
        into.equations += unit.equations
        self.units.remove(unit)
        self.definitions.move(unit, into)
        moved = [
            replace(
                arrow,
                source=into.key if arrow.source == unit.key else arrow.source,
                target=into.key if arrow.target == unit.key else arrow.target,
            )
            for arrow in self.arrows
        ]
        self.arrows = [arrow for arrow in moved if arrow.source != arrow.target or arrow.delayed]


def fold(board: PartBoard, tables: Tables, draft: Draft) -> None:
    """Fold vertices without weights that depend on a single other one, in the same step, into that one."""
    for unit in list(draft.units):
        into = draft.arrows_into(unit)
        sources = {arrow.source for arrow in into}
        delayed = any(arrow.shift or arrow.start for arrow in into)
        if unit.held or len(sources) != 1 or delayed:
            continue
        source = next((one for one in draft.units if one.key in sources), None)
        if source is None or source is unit or source.target is None:
            continue
        drawn = unit.kind == "latent" and source.kind == "latent"
        rewritten = unit.kind == "computed" and source.kind != "latent"
        answer = unit.symbol.startswith(("p(", "p_"))
        if (drawn or rewritten) and not answer and not reads(board, tables, unit):
            draft.merge(unit, source)


def drop_constants(board: PartBoard, tables: Tables, draft: Draft) -> None:
    """Remove vertices without weights and inputs; their lines go to another vertex of the same symbol."""
    for unit in list(draft.units):
        target = unit.target
        if target is None or unit.held or draft.arrows_into(unit) or reads(board, tables, unit):
            continue
        named = [one for one in draft.units if one.target is not None and one.target.base == target.base]
        general = [one for one in named if _is_first_of(board, target, one.target)]
        if not board.is_certain(target) and unit.indices and not general:
            continue
        draft.remove(unit)
        other = next((one for one in (*general, *named) if one is not unit), None)
        if other is not None:
            other.lines += unit.lines


def drop_layers(board: PartBoard, draft: Draft) -> None:
    """Remove the arrow of a vertex to itself from one layer to the next: with weights of its own for each layer there
    is no cycle. The range of the layers joins its lines."""
    fixed = board.fixed()
    for arrow in list(draft.arrows):
        if arrow.source != arrow.target or arrow.index not in fixed:
            continue
        draft.arrows.remove(arrow)
        unit = next(one for one in draft.units if one.key == arrow.target)
        values = board.lines.ranges[arrow.index].values
        unit.lines.append(f"{arrow.index} = {' … '.join(map(node_text, values))}, layer after layer")


def _is_first_of(board: PartBoard, target: Symbol, general: Symbol | None) -> bool:
    """Whether a symbol is the value of a single step, with more subscripts: w_0kℓ, if w_jk covers all ℓ."""
    if general is None or len(target.items) <= len(general.items) or not board.named_alike(general, target):
        return False
    pairs = zip(general.items, target.items, strict=False)
    return any(board.lines.is_index(every) and isinstance(one, Number) for every, one in pairs)


def merge_alike(board: PartBoard, draft: Draft) -> None:
    """Merge vertices that use rows of the same matrix and the same inputs."""
    for unit in list(draft.units):
        if unit not in draft.units or not unit.held or unit.target is None or unit.kind != "computed":
            continue
        alike = [
            one for one in draft.units if one is not unit and _made_of(draft, one) == _made_of(draft, unit)
        ]
        for other in alike:
            if not _weight_letters(board, unit) & _weight_letters(board, other):
                unit.symbol = f"{unit.symbol}, {other.symbol}" if len(unit.symbol) < 12 else unit.symbol
                draft.merge(other, unit)


def _made_of(draft: Draft, unit: Vertex) -> tuple[Any, ...]:
    """The weights and the inputs of a vertex."""
    taken = {(arrow.source, arrow.shift) for arrow in draft.arrows_into(unit)}
    return {one.identity for one in unit.held}, taken, unit.kind


def _weight_letters(board: PartBoard, unit: Vertex) -> set[Symbol]:
    used = letters_of(board, unit)
    return {one for one in used if any(board.is_of(weight, one) for weight in unit.held)}
