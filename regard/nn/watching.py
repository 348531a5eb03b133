"""Watching cells: the gates and states of chosen recurrent cells, step after step, while everything else stays fast.

    with watching([layer.cell(0)]) as seen:
        encoder(batch)
    seen[layer.cell(0)]          {name: (N, D)}: one row for each step

A watched cell computes with its own methods in this thread; paths replace all others as before. Other threads are not
concerned. In a layer that reads rows of different lengths, the steps of all rows follow each other, row by row, each in
the order of its positions.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.nn.packing import Packing
from regard.nn.path import plainly


class CellRecord:
    """What one cell showed: a mapping from names to (…, D) for each step, or to (N, D) once it is in place.

    steps   the numbers of the steps to keep, from 0; None: all
    """

    def __init__(self, steps: Sequence[int] | None = None) -> None:
        self.wanted = steps
        self.steps: list[Mapping[str, Tensor]] = []
        self.placed: list[dict[str, Tensor]] = []

    def add(self, shown: Mapping[str, Tensor]) -> None:
        self.steps.append(shown)

    def place(self, packing: Packing, *, backward: bool) -> None:
        """Order the last steps by row and position: they are those of a packing."""
        count = len(packing.steps)
        steps, self.steps = self.steps[len(self.steps) - count :], self.steps[: len(self.steps) - count]
        if not steps:
            return
        real = torch.arange(packing.width) < torch.as_tensor(packing.known)[:, None]  # (B, width)
        ordered = steps[::-1] if backward else steps
        self.placed.append(
            {
                name: packing.unpack(torch.cat([step[name] for step in ordered]))[real.to(rows.device)]
                for name, rows in ordered[0].items()
            }
        )

    def turn(self, packing: Packing) -> None:
        """Reverse the rows that were read from their ends."""
        if self.placed:
            counts = packing.known.tolist()
            self.placed[-1] = {
                name: torch.cat([row.flip(0) for row in rows.split(counts)])
                for name, rows in self.placed[-1].items()
            }

    def rows(self) -> dict[str, Tensor]:
        """(N, D) by name."""
        parts = self.placed or [
            {name: one.flatten(0, -2) for name, one in step.items()} for step in self.steps
        ]
        found = {name: torch.cat([part[name] for part in parts]) for name in (parts[0] if parts else ())}
        if self.wanted is None:
            return found
        return {
            name: rows[[step for step in self.wanted if step < len(rows)]] for name, rows in found.items()
        }


class _Watched(threading.local):
    """The records of a thread, by module; and the layers whose heads are kept, None for all."""

    def __init__(self) -> None:
        self.records: dict[nn.Module, CellRecord] = {}
        self.heads: tuple[str, ...] | None = None


_watched = _Watched()


def record_of(module: nn.Module) -> CellRecord | None:
    """The record of a module, if someone watches it in this thread."""
    if torch.compiler.is_compiling() or not _watched.records:
        return None
    return _watched.records.get(module)


@contextmanager
def watching(
    cells: Iterable[nn.Module], *, steps: Sequence[int] | None = None
) -> Iterator[Mapping[nn.Module, CellRecord]]:
    """The records of these cells, in this thread.

    steps   the numbers of the steps to keep, from 0; None: all
    """
    mine = {cell: CellRecord(steps) for cell in cells}
    before = _watched.records
    _watched.records = {**before, **mine}
    try:
        with plainly(mine):
            yield mine
    finally:
        _watched.records = before


def heads_kept(layer: str) -> bool:
    """Whether the weights of the heads of a layer are computed for a trace in this thread."""
    return _watched.heads is None or any(name in layer for name in _watched.heads)


@contextmanager
def only_heads(layers: tuple[str, ...] | None) -> Iterator[None]:
    """Compute the weights of heads of these layers alone, by parts of their names; None: of all."""
    before, _watched.heads = _watched.heads, layers
    try:
        yield
    finally:
        _watched.heads = before
