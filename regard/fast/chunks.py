"""Chunks: several steps of a search at a time, without synchronizing with the device in between.

A search that goes step by step asks the device after each step whether all outputs have ended, and the GPU
waits while the host launches dozens of small kernels. Here a chunk of steps is captured as one graph
(`Replays`), for rows and positions rounded up to a bucket. After each chunk the host checks once whether all
outputs have ended and all scores were finite. Finished rows leave between chunks. The results equal those of
the step-by-step search. If a score is not finite, the step-by-step search runs instead and reports where.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.allowed import Obeyed, constraint_lacks, unconstrained
from regard.fast.paths.recorded import NOT_RECORDABLE
from regard.fast.recording.buckets import rounded, rounded_rows
from regard.fast.recording.recordable import recordable, state_of
from regard.fast.recording.replay import plain_parts
from regard.nn.memory import Memory
from regard.nn.path import Replaces
from regard.nn.search.stepper import Bounds, Stepper
from regard.private import eager

STEPPERS = Replaces(Stepper)
FIRST, LATER = 8, 16
"""Maximal number of steps in the first chunk of a search, and in later ones."""


def chunks_of(steps: int) -> Iterator[tuple[int, int]]:
    """The first step of each chunk, and its number of steps."""
    first = 0
    while first < steps:
        count = min(LATER if first else FIRST, steps - first)
        yield first, count
        first += count


def takes(stepper: Stepper, bounds: Bounds) -> bool:
    """Whether chunks are possible: on CUDA in eager mode, and `lacks` nothing."""
    return (
        stepper.lengths.is_cuda
        and eager()
        and len(stepper.lengths) > 0
        and not lacks(stepper, bounds)
        and not torch.cuda.is_current_stream_capturing()
    )


def lacks(stepper: Stepper, bounds: Bounds) -> str:
    """Why a search cannot be recorded, on any device; empty if it can."""
    if lacking := constraint_lacks(stepper):
        return lacking
    stepper = unconstrained(stepper)
    decoder = getattr(stepper, "decoder", None)
    if STEPPERS.kind(stepper) is None or not isinstance(decoder, nn.Module):
        return "Several models answer together, or their steps were changed."
    if not getattr(decoder, "recordable_steps", False):
        return "The decoder does not declare recordable_steps."
    if decoder.training or stepper.truth is not None or bounds.prefix is not None:
        return "The decoder is in training, its attention is given, or the beginning of the output is."
    if any(
        memory.override is not None or memory.parent is not None or memory.heads is not None
        for memory in stepper.memories.values()
    ):
        return "The memory has a hierarchy or a tree, or its attention is overridden."
    return "" if recordable(decoder) else NOT_RECORDABLE


@dataclass(frozen=True)
class SearchedRows:
    """The constants of a search over some rows: their memories, padded to a bucket, and their limits.

    last     (B') the latest step at which a row ends
    widths   by memory, the number of positions without the padding of the bucket
    """

    memories: Mapping[str, Memory]
    last: Tensor
    widths: Mapping[str, int]

    @staticmethod
    def of(stepper: Stepper, bounds: Bounds) -> tuple[SearchedRows, Tensor]:
        """The searched rows, and the index (B') of each in the batch; padding repeats the first row."""
        stepper = unconstrained(stepper)
        rows = padded_rows(torch.arange(len(stepper.lengths), device=stepper.lengths.device))
        memories = {name: _widened(memory.select(rows)) for name, memory in stepper.memories.items()}
        widths = {name: memory.mask.shape[1] for name, memory in stepper.memories.items()}
        return SearchedRows(memories, bounds.last.index_select(0, rows), widths), rows

    def select(self, rows: Tensor) -> SearchedRows:
        memories = {name: memory.select(rows) for name, memory in self.memories.items()}
        return replace(self, memories=memories, last=self.last.index_select(0, rows))

    def narrowed(self, looks: Mapping[str, Tensor], rows: int) -> dict[str, Tensor]:
        """The attention (n, B', K, S') of a chunk without padding, as a copy."""
        return {name: look[:, :rows, :, : self.widths[name]].clone() for name, look in looks.items()}


def padded_rows(rows: Tensor) -> Tensor:
    """The rows, padded to the next bucket with copies of the first."""
    lacking = rounded_rows(len(rows)) - len(rows)
    return rows if lacking == 0 else torch.cat([rows, rows[:1].expand(lacking)])


def _widened(memory: Memory) -> Memory:
    """Pad with masked positions to the next bucket; a grid keeps its shape."""
    positions = memory.mask.shape[1]
    lacking = rounded(positions, 8, 8) - positions
    if lacking == 0 or memory.layout == "grid":
        return memory
    pad = nn.functional.pad
    return replace(
        memory,
        values=pad(memory.values, (0, 0, 0, lacking)),
        mask=pad(memory.mask, (0, lacking)),
        keys=None if memory.keys is None else pad(memory.keys, (0, 0, 0, lacking)),
        verbatim=None if memory.verbatim is None else pad(memory.verbatim, (0, lacking)),
    )


@dataclass(frozen=True)
class Key:
    """The key of a captured chunk, beside its shapes: the search, its limits, the addresses of the weights, and
    what else the decoder depends on."""

    search: Hashable
    limits: tuple[Any, ...]
    weights: tuple[int, ...]
    decoder: Hashable
    timeless: bool

    @staticmethod
    def of(stepper: Stepper, bounds: Bounds, search: Hashable, obeyed: Obeyed | None = None) -> Key:
        decoder: Any = unconstrained(stepper).decoder
        table = None if obeyed is None else obeyed.address()
        limits = (stepper.begin, stepper.end, bounds.minimum, bounds.forbidden, table)
        weights = tuple(parameter.data_ptr() for parameter in decoder.parameters())
        return Key(search, limits, weights, state_of(decoder), getattr(decoder, "timeless", False))

    def at(self, state: Any, count: int, *, late: bool) -> Hashable:
        """The key of one chunk: its number of steps, and the position if the decoder depends on it."""
        return (self, count, late, None if self.timeless else plain_parts(state))


def by_step(looks: list[Mapping[str, Tensor]], size: int) -> dict[str, Tensor]:
    """(n, B, K, S) by memory: the attention of each step, expanded to K if a step had one hypothesis."""
    return {name: torch.stack([look[name].expand(-1, size, -1) for look in looks]) for name in looks[0]}
