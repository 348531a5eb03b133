"""The fast way through a whole output on the CPU, for the decoders it knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from regard.kernels.availability import within_reach
from regard.nn.attention import Attention
from regard.nn.cells import GRUCell
from regard.nn.decoders.reading import Reading
from regard.nn.decoders.unrolled import Unrolled
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.scores import Additive, General
from regard.nn.selections import Hard, Segmental, Sigmoid, Softmax

if TYPE_CHECKING:
    from regard.kernels.cpu.choices import Choice
    from regard.kernels.cpu.looks import Alone
    from regard.nn.decoders.recurrent import RecurrentDecoder


def knows(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> bool:
    """One GRU layer on the CPU, attending to one memory by a score and a selection that have kernels."""
    reading = decoder.reading
    if reading is None or len(reading.names) != 1 or len(decoder.stack.cells) != 1:
        return False
    if memories[reading.names[0]].override is not None:
        return False
    attention = reading.attention(reading.names[0])
    return (
        type(decoder.stack.cell(0)) is GRUCell
        and type(attention.score) in (Additive, General)
        and type(attention.select) in (Softmax, Hard, Sigmoid, Segmental)
        and within_reach(memories[reading.names[0]].values, decoder.stack.cell(0).weight_hh)
    )


def attended(decoder: RecurrentDecoder) -> tuple[str, Attention]:
    """The one memory a supported decoder attends to, and how."""
    reading = cast(Reading, decoder.reading)
    return reading.names[0], reading.attention(reading.names[0])


def score_weights(attention: Attention) -> tuple[Tensor | None, Tensor | None]:
    """The query's weight (A, H) and the vector (A) of an additive score; a general one has neither."""
    score = attention.score
    return (score.query.weight, score.vector) if isinstance(score, Additive) else (None, None)


def read_weight(decoder: RecurrentDecoder) -> Tensor:
    """(3H, D or O) from what was read into the cell; zeros where nothing that is read enters it."""
    weight = decoder.stack.cell(0).torch_weights()[0]
    if decoder.looks_after and not decoder.feeds:
        return weight.new_zeros(len(weight), decoder.readout_size)
    return weight[:, decoder.embedding.size + decoder.summary_size :]


def choice_of(attention: Attention) -> Choice:
    """The selection as the kernels know it."""
    from regard.kernels.cpu.choices import SEGMENTS, SIGMOID, SOFTMAX, Choice

    select = attention.select
    transitions = getattr(select, "transitions", None)
    between = torch.zeros(1, 4) if transitions is None else transitions.detach().reshape(1, 4)
    kind = {Softmax: SOFTMAX, Hard: SOFTMAX, Sigmoid: SIGMOID, Segmental: SEGMENTS}[type(select)]
    return Choice(kind, float(getattr(select, "normalize", 0.0)), between.numpy())


def reads_alone(attention: Attention) -> bool:
    """Whether in prediction the most probable position is read alone."""
    return isinstance(attention.select, Hard) and attention.select.read == "mode"


def alone_of(
    attention: Attention, packing: Packing, mask: Tensor, like: Tensor, drawing: Tensor | None
) -> Alone:
    """Which queries read one position alone: those of the rows that draw, or all of a prediction by the mode."""
    from regard.kernels.cpu.looks import Alone

    count, select = packing.starts[-1], attention.select
    wanted, waits = torch.zeros(count, dtype=torch.bool), like.new_empty(count, 0)
    if isinstance(select, Hard) and drawing is not None:
        wanted = drawing[packing.rows()]
        # step by step, as the plain path draws them: with one seed both draw the same
        step = like.new_empty(len(mask), 1, mask.shape[1])
        waits = packing.pack(torch.cat([select.waits(step) for _ in range(packing.width)], 1))
    elif reads_alone(attention):
        wanted, waits = torch.ones_like(wanted), like.new_ones(count, mask.shape[1])
    return Alone(wanted.numpy(), waits.numpy(), torch.empty(count, dtype=torch.int64).numpy())


def unroll(
    decoder: RecurrentDecoder,
    memories: Mapping[str, Memory],
    previous: Tensor,
    packing: Packing,
    *,
    drawing: Tensor | None = None,
) -> Unrolled:
    """As `RecurrentDecoder.unroll`, for a supported decoder."""
    from regard.kernels.cpu.attentive import PackedAttentive

    name, attention = attended(decoder)
    memory = memories[name]
    weight_ih, weight_hh, bias_ih, bias_hh = decoder.stack.cell(0).torch_weights()
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
    states, reads, weights = PackedAttentive.apply(
        packing,
        memory.mask,
        choice_of(attention),
        alone,
        projected,
        combined,
        state.layers[0].squeeze(1).index_select(0, packing.order),
        state.constants.keys[name],
        memory.values,
        weight_hh,
        bias_hh,
        read_weight(decoder),
        *score_weights(attention),
        output_weight,
        getattr(attention.select, "transitions", None),
    )
    drawn = {}
    if attention.select.draws and drawing is not None:
        drawn[name] = read_of(weights, alone)
    readouts = reads if decoder.looks_after else decoder.readout(states, reads, embedded)
    return Unrolled(readouts, {name: weights}, drawn)


def read_of(weights: Tensor, alone: Alone) -> Tensor:
    """(N, S) what the values were multiplied with: one where a position was read alone, else the weights."""
    chosen = torch.from_numpy(alone.chosen)
    single = torch.zeros_like(weights).scatter_(1, chosen.clamp(min=0)[:, None], 1.0)
    return torch.where(chosen[:, None] >= 0, single, weights)
