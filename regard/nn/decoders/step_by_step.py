"""A whole output step by step, for all options of a recurrent decoder.

In training, some previous words may be sampled from the model (scheduled sampling, Bengio 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard import parts
from regard.nn.attention import Read, joined
from regard.nn.decoders.decoder import Truth
from regard.nn.decoders.output import Unrolled
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.parts import Count, Share

if TYPE_CHECKING:
    from regard.nn.decoders.recurrent_steps import RecurrentSteps, StepConstants


class ScheduledSamplingOptions(parts.Settings):
    """Read the model's own previous word instead of the true one, with a rising probability."""

    share: Share = 0.25
    """Probability at the end of the rise."""
    steps: Count = 10000
    """Number of training steps over which the probability rises from 0."""


def unroll(
    decoder: RecurrentSteps,
    memories: Mapping[str, Memory],
    previous: Tensor,
    packing: Packing,
    *,
    truth: Truth = None,
    drawing: Tensor | None = None,
) -> Unrolled:
    """`RecurrentDecoder.unroll`, step by step."""
    state = decoder.start(memories, truth=truth, drawing=drawing)
    share, previous = decoder.sampled_share(), decoder.known(previous)
    # packed, as every faster way embeds them, so that all draw the same dropout with one seed
    embedded = packing.unpack(decoder.embedding(packing.pack(previous)))
    projected = decoder.project(embedded, state)
    outputs: list[Tensor] = []
    feeds: list[Tensor] = []
    reads: list[Read] = []
    for t in range(previous.shape[1]):
        now = slice(t, t + 1)
        if share > 0 and t > 0:
            drawn = _drawn(decoder, outputs, reads, feeds, embedded[:, t - 1 : t], state.constants)
            coin = torch.rand(drawn.shape, device=drawn.device) < share
            words = decoder.embedding(torch.where(coin, drawn, previous[:, now]))
            embedded = torch.cat([embedded[:, :t], words, embedded[:, t + 1 :]], 1)
            projected = decoder.project(embedded, state)
        state, output, read = decoder.advance(projected[:, now], embedded[:, now], state, memories)
        outputs.append(output)
        if read is not None:
            reads.append(read)
        if state.feed is not None:
            feeds.append(state.feed)
    context = torch.cat([read.context for read in reads], 1) if reads else None
    if feeds:
        readouts = torch.cat(feeds, 1)
    else:
        readouts = decoder.readout(torch.cat(outputs, 1), context, embedded, state.constants.at_output)
    gates = None
    if decoder.copying is not None and context is not None:
        gates = packing.pack(decoder.copying.gates(torch.cat(outputs, 1), context, embedded))
    looks = joined([read.weights for read in reads])
    return Unrolled(
        packing.pack(readouts),
        packing.pack_all(looks),
        packing.pack_all(joined([read.drawn for read in reads])),
        gates,
    )


@torch.no_grad()
def _drawn(
    decoder: RecurrentSteps,
    outputs: list[Tensor],
    reads: list[Read],
    feeds: list[Tensor],
    embedded: Tensor,
    constants: StepConstants,
) -> Tensor:
    """(B, 1) words sampled from the model's distribution at the last step."""
    if feeds:
        readout = feeds[-1]
    else:
        context = reads[-1].context if reads else None
        readout = decoder.readout(outputs[-1], context, embedded, constants.at_output)
    logits = decoder.output(readout)
    if decoder.copying is not None:
        logits = decoder.mixed(logits, outputs[-1], reads[-1], embedded, constants)
    # multinomial refuses NaN; the loss of the step has it anyway
    return decoder.known(torch.multinomial(torch.softmax(logits[:, 0], -1).nan_to_num(1.0), 1))
