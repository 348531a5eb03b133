"""A whole output of a recurrent decoder on the CPU, in compiled kernels for all steps together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from regard.fast.recurrence import (
    StackWeights,
    attended,
    choice_of,
    decoder_lacks,
    kernel_of,
    knows_decoder,
    read_weight,
    reads_alone,
    score_kind,
    score_weights,
)
from regard.nn.attention import Attention
from regard.nn.decoders.decoder import Truth
from regard.nn.decoders.output import Unrolled
from regard.nn.decoders.recurrent import UNROLLED
from regard.nn.decoders.recurrent_steps import RecurrentSteps
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import Path
from regard.nn.scores import Location
from regard.nn.selections import Hard
from regard.parts import register

if TYPE_CHECKING:
    from regard.fast.cpu.looks import Alone


CHANGED = "A method of the decoder was overridden or replaced, or a hook watches it."


@register("path", "fused")
class Fused(Path):
    """Compiled kernels for the CPU: all steps of a recurrent decoder with attention in one call."""

    serves = "decoder.unroll"
    devices = ("cpu",)
    rank = 10

    def takes(
        self, decoder: RecurrentSteps, memories: Mapping[str, Memory], *given: Any, **more: Any
    ) -> bool:
        return knows_decoder(decoder, memories) and UNROLLED(decoder)

    def why_not(
        self, decoder: RecurrentSteps, memories: Mapping[str, Memory], *given: Any, **more: Any
    ) -> str:
        return decoder_lacks(decoder, memories) if UNROLLED(decoder) else CHANGED

    def run(
        self,
        decoder: RecurrentSteps,
        memories: Mapping[str, Memory],
        previous: Tensor,
        packing: Packing,
        *,
        truth: Truth = None,
        drawing: Tensor | None = None,
        looks: bool = True,
    ) -> Unrolled:
        return unroll(decoder, memories, decoder.known(previous), packing, drawing=drawing)


def alone_of(
    attention: Attention, packing: Packing, mask: Tensor, like: Tensor, drawing: Tensor | None
) -> Alone:
    """The queries that read a single position: those of the rows that sample, or all if `read` is mode."""
    from regard.fast.cpu.looks import Alone

    count, select = packing.starts[-1], attention.select
    wanted, waits = torch.zeros(count, dtype=torch.bool), like.new_empty(count, 0)
    if isinstance(select, Hard) and drawing is not None:
        wanted = drawing[packing.rows()]
        # step by step, as on the plain path, so that both draw the same with one seed
        step = like.new_empty(len(mask), 1, mask.shape[1])
        waits = packing.pack(torch.cat([select.waits(step) for _ in range(packing.width)], 1))
    elif reads_alone(attention):
        wanted, waits = torch.ones_like(wanted), like.new_ones(count, mask.shape[1])
    return Alone(wanted.numpy(), waits.numpy(), torch.empty(count, dtype=torch.int64).numpy())


def masks_of(decoder: RecurrentSteps, count: int) -> Tensor | None:
    """(L − 1, N, H) the dropout masks between the layers; None without dropout."""
    stack = decoder.stack
    if not decoder.training or stack.dropout.p == 0 or len(stack.cells) == 1:
        return None
    shape, keep = (len(stack.cells) - 1, count, stack.size), 1 - stack.dropout.p
    mask = stack.cell(0).weight_hh.new_empty(shape).bernoulli_(keep)
    return mask.div_(keep) if keep else mask


def unroll(
    decoder: RecurrentSteps,
    memories: Mapping[str, Memory],
    previous: Tensor,
    packing: Packing,
    *,
    drawing: Tensor | None = None,
) -> Unrolled:
    """`RecurrentDecoder.unroll` for a supported decoder."""
    from regard.fast.cpu.attentive import AttentivePlan, AttentiveWeights, PackedAttentive
    from regard.fast.cpu.layout import KINDS

    name, attention = attended(decoder)
    memory, cells = memories[name], StackWeights(decoder)
    weight_ih, _, bias_ih, _ = cells.first
    word, low = decoder.embedding.size, decoder.embedding.size + decoder.summary_size
    state = decoder.start(memories)
    embedded = decoder.embedding(packing.pack(previous))  # (N, E)
    projected = nn.functional.linear(embedded, weight_ih[:, :word], bias_ih)
    if decoder.summary_size:
        share = nn.functional.linear(decoder.summary(memories), weight_ih[:, word:low])
        projected = projected + share.index_select(0, packing.rows())
    combined = output_weight = None
    if decoder.looks_after:
        combine = cast(nn.Linear, decoder.combine)
        seen = decoder.stack.size + attention.value_size
        output_weight = combine.weight[:, :seen]
        combined = cast(Tensor, combine.bias).expand(len(embedded), -1)
        if decoder.deep:
            combined = nn.functional.linear(embedded, combine.weight[:, seen:], combine.bias)
    alone = alone_of(attention, packing, memory.mask, memory.values, drawing)
    query, vector = score_weights(attention)
    score, scale = score_kind(attention)
    location: Any = attention.score if isinstance(attention.score, Location) else None
    plan = AttentivePlan(
        packing,
        memory.mask,
        KINDS[str(kernel_of(decoder.stack.each()))],
        decoder.stack.residual,
        masks_of(decoder, len(embedded)),
        score,
        scale,
        choice_of(attention),
        alone,
    )
    weights_of = AttentiveWeights(
        projected=projected,
        combined=combined,
        first=torch.stack([layer.squeeze(1) for layer in state.layers]).index_select(1, packing.order),
        keys=state.constants.keys[name],
        values=memory.values,
        recurrent=cells.recurrent,
        recurrent_bias=cells.recurrent_bias,
        below=cells.below,
        below_bias=cells.below_bias,
        read=read_weight(decoder),
        query=query,
        vector=vector,
        output=output_weight,
        transitions=getattr(attention.select, "transitions", None),
        filters=None if location is None else location.filters,
        place=None if location is None else location.place.weight,
    )
    states, reads, weights = PackedAttentive.apply(plan, *weights_of)
    drawn = {}
    if attention.select.draws and drawing is not None:
        drawn[name] = read_of(weights, alone)
    readouts = reads if decoder.looks_after else decoder.readout(states, reads, embedded)
    gates = None if decoder.copying is None else decoder.copying.gates(states, reads, embedded)
    return Unrolled(readouts, {name: weights}, drawn, gates)


def read_of(weights: Tensor, alone: Alone) -> Tensor:
    """(N, S) the weights that multiplied the values: one-hot for single positions, else the attention."""
    chosen = torch.from_numpy(alone.chosen)
    single = torch.zeros_like(weights).scatter_(1, chosen.clamp(min=0)[:, None], 1.0)
    return torch.where(chosen[:, None] >= 0, single, weights)
