"""Compute a whole output at once, if the recurrence does not depend on the attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.nn.decoders.decoder import Truth
from regard.nn.decoders.output import Unrolled
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import Replaces
from regard.nn.recurrence import Stack, recurrence_of

if TYPE_CHECKING:
    from regard.nn.decoders.recurrent import RecurrentDecoder

STACKS = Replaces(Stack, methods=("forward",))


def knows(decoder: RecurrentDecoder) -> bool:
    """Whether no context enters the recurrence, looks are independent of each other,
    and torch has the cells."""
    if decoder.reading is not None and decoder.reading.remembering:
        return False
    return (
        not decoder.feeds
        and not decoder.looks_before
        and STACKS(decoder.stack)
        and recurrence_of(decoder.stack.each()) is not None
    )


def unroll(
    decoder: RecurrentDecoder,
    memories: Mapping[str, Memory],
    previous: Tensor,
    packing: Packing,
    *,
    truth: Truth = None,
    drawing: Tensor | None = None,
) -> Unrolled:
    """As `RecurrentDecoder.unroll`, for a supported decoder."""
    state = decoder.start(memories, truth=truth, drawing=drawing)
    embedded = decoder.embedding(packing.pack(previous))  # (N, E)
    inputs = embedded
    if decoder.summary_size:
        shares = decoder.summary(memories).index_select(0, packing.rows())
        inputs = torch.cat([embedded, shares], -1)
    inputs = decoder.stack.run(inputs, [layer.squeeze(1) for layer in state.layers], packing)
    known = state.constants.at_output
    at_output = None if known is None else known.packed(packing.rows())
    if decoder.reading is None:
        return Unrolled(decoder.readout(inputs, None, embedded, at_output), {})
    read = decoder.reading(packing.unpack(inputs), memories, state.constants)
    context = packing.pack(read.context)
    gates = None if decoder.copying is None else decoder.copying.gates(inputs, context, embedded)
    readouts = decoder.readout(inputs, context, embedded, at_output)
    return Unrolled(readouts, packing.pack_all(read.weights), packing.pack_all(read.drawn), gates)
