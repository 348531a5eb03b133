"""A whole output of a recurrent decoder on CUDA, step by step, captured as a graph: for parts without kernels.

Every step of `unroll_plain` launches dozens of kernels. They are captured once for each bucket of shapes,
forward and backward, and then launched as one graph (`regard.fast.recording.replayed_gradient`). A computation that
cannot be captured runs without a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.recording.buckets import rounded, rounded_rows, rounded_steps
from regard.fast.recording.recordable import recordable
from regard.fast.recording.replay import tensors_of, with_tensors
from regard.fast.recording.replayed_gradient import replayed
from regard.nn.decoders import at_once
from regard.nn.decoders.decoder import Truth
from regard.nn.decoders.output import Unrolled
from regard.nn.decoders.recurrent import UNROLLED, RecurrentDecoder
from regard.nn.memory import Memory
from regard.nn.packing import FullPacking, Packing
from regard.nn.path import Path
from regard.parts import register

TAKEN = ("values", "mask", "summary", "keys")
"""The tensors of a memory that are copied into a graph."""
SAID = ("layout", "shape")
"""The fields of a memory that are the same for all batches."""
NOT_SIMPLE = "A memory holds more than values, keys, a mask and a summary."
NOT_RECORDABLE = (
    "A module is neither regard's nor torch's and does not declare `recordable = True`, or has a hook or a replaced "
    "method."
)


@register("path", "recorded")
class Recorded(Path):
    """The steps of any recurrent decoder in training on CUDA, captured as a graph."""

    serves = "decoder.unroll"
    devices = ("cuda",)
    rank = 30

    def takes(
        self, decoder: RecurrentDecoder, memories: Mapping[str, Memory], *given: Any, **more: Any
    ) -> bool:
        weight = decoder.stack.cell(0).weight_hh
        if not (weight.is_cuda and torch.is_grad_enabled()):
            return False
        return not (UNROLLED(decoder) and at_once.knows(decoder)) and (
            not lacks(decoder, memories) and recordable(decoder)
        )

    def why_not(
        self, decoder: RecurrentDecoder, memories: Mapping[str, Memory], *given: Any, **more: Any
    ) -> str:
        if UNROLLED(decoder) and at_once.knows(decoder):
            return "No context enters the recurrence, which is computed for all steps at once."
        reason = lacks(decoder, memories)
        return reason or ("" if recordable(decoder) else NOT_RECORDABLE)

    def run(
        self,
        decoder: RecurrentDecoder,
        memories: Mapping[str, Memory],
        previous: Tensor,
        packing: Packing,
        *,
        truth: Truth = None,
        drawing: Tensor | None = None,
        looks: bool = True,
    ) -> Unrolled:
        return unroll(decoder, memories, previous, packing)


def lacks(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> str:
    """Why the steps cannot be recorded, regardless of the device and of gradients; empty if they can."""
    if decoder.copying is not None:
        return "The decoder copies."
    if decoder.sampling is not None:
        return "The previous words are sampled."
    reading = decoder.reading
    if reading and any(reading.attention(name).select.needs & {"truth", "costs"} for name in reading.names):
        return "The selection needs the truth or samples, which differ from batch to batch."
    return "" if simple(memories) else NOT_SIMPLE


def simple(memories: Mapping[str, Memory]) -> bool:
    """Whether the memories hold only fields that are copied into a graph or are the same for all batches."""
    return all(
        getattr(memory, field.name) is None
        for memory in memories.values()
        for field in fields(memory)
        if field.name not in (*TAKEN, *SAID)
    )


def unroll(
    decoder: RecurrentDecoder, memories: Mapping[str, Memory], previous: Tensor, packing: Packing
) -> Unrolled:
    """`RecurrentDecoder.unroll_plain` for a supported decoder."""
    rows, count = previous.shape
    more, further = rounded_rows(rows) - rows, rounded_steps(count) - count
    wide = {name: widened(memory, more) for name, memory in memories.items()}
    words = nn.functional.pad(previous, (0, further, 0, more))
    whole = every_position(rows + more, count + further, previous.device)

    def run(words: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        found = decoder.unroll_plain(with_tensors(wide, iter(tensors)), words, whole)
        return found.readouts, *(found.looks[name] for name in names)

    names = decoder.reading.names if decoder.reading else ()
    readouts, *looks = replayed(decoder, run, words, *tensors_of(wide))
    index = packing.among_times(rows + more)
    seen = {
        name: look.index_select(0, index)[:, : memories[name].mask.shape[1]]
        for name, look in zip(names, looks, strict=True)
    }
    return Unrolled(readouts.index_select(0, index), seen)


@cache
def every_position(rows: int, width: int, device: torch.device) -> FullPacking:
    """Cached forever, because graphs read it."""
    return FullPacking.over(rows, width, device)


def widened(memory: Memory, more: int) -> Memory:
    """Pad to the next bucket: rows, whose first position is unmasked, and positions."""
    count = memory.mask.shape[1]
    further = rounded(count, 8, 2) - count if memory.layout == "line" else 0
    if not more and not further:
        return memory
    mask = nn.functional.pad(memory.mask, (0, further, 0, more))
    if more:
        mask[-more:, 0] = True

    def padded(values: Tensor) -> Tensor:
        return nn.functional.pad(values, (0, 0, 0, further, 0, more))

    return replace(
        memory,
        values=padded(memory.values),
        mask=mask,
        summary=nn.functional.pad(memory.summary, (0, 0, 0, more)),
        keys=None if memory.keys is None else padded(memory.keys),
    )
