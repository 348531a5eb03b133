"""The fast way through a whole output on CUDA, for the decoders it knows: few kernels, recorded as graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention
from regard.nn.cells import GRUCell, LSTMCell, RNNCell
from regard.nn.decoders.base import Truth
from regard.nn.decoders.reading import Reading
from regard.nn.decoders.unrolled import Unrolled
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.scores import Additive, Dot, General
from regard.nn.segments import Segments
from regard.nn.selections import Sigmoid, Softmax
from regard.structures.kernels.availability import installed

if TYPE_CHECKING:
    from regard.kernels.cuda.recurrence import Given, Inputs, Look, Plan
    from regard.nn.decoders.recurrent import RecurrentDecoder

CELLS = {RNNCell: "rnn", GRUCell: "gru", LSTMCell: "lstm"}
SELECTIONS = {Softmax: "softmax", Sigmoid: "sigmoid", Segments: "segments"}
LONGEST = 1024
"""Positions of a memory that a program holds at once."""


def knows(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> bool:
    """Cells, scores and selections that have kernels, on CUDA, where what is read enters the recurrence."""
    weight = decoder.stack.cell(0).weight_hh
    return (
        weight.is_cuda
        and installed("triton")
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
        and has_kernels(decoder, memories)
    )


def has_kernels(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> bool:
    """The same, wherever the tensors are."""
    reading, cells = decoder.reading, [decoder.stack.cell(index) for index in range(len(decoder.stack.cells))]
    if reading is None or not (decoder.looks_before or decoder.feeds):
        return False
    if len(cells) > 1 and decoder.stack.residual:
        return False
    if any(type(cell) not in CELLS for cell in cells):
        return False
    dtype = cells[0].weight_hh.dtype
    return dtype in (torch.float32, torch.float64) and all(
        _attends(reading.attention(name), memories[name]) for name in reading.names
    )


def _attends(attention: Attention, memory: Memory) -> bool:
    positions = memory.values.shape[1]
    return (
        type(attention.score) in (Additive, Dot, General)
        and type(attention.select) in SELECTIONS
        and memory.told is None
        and (2 if isinstance(attention.select, Segments) else 1) <= positions <= LONGEST
    )


def plan_of(decoder: RecurrentDecoder, memories: Mapping[str, Memory], steps: int) -> Plan:
    """What is to be computed, with sizes rounded so that other batches share it."""
    from regard.kernels.cuda.recurrence import Plan, rounded

    reading, stack = cast(Reading, decoder.reading), decoder.stack
    cell = stack.cell(0)
    memory = memories[reading.names[0]]
    return Plan(
        cell=CELLS[type(cell)],  # type: ignore[arg-type]
        size=stack.size,
        layers=len(stack.cells),
        rows=rounded(len(memory.values), 8, 4),
        steps=rounded(steps, 16, 2),
        looks=tuple(look_of(reading.attention(name), memories[name]) for name in reading.names),
        after=decoder.looks_after,
        readout=decoder.readout_size if decoder.looks_after else 0,
        activation=getattr(cell, "activation", "tanh"),
        drops=drops(decoder),
        dtype=cell.weight_hh.dtype,
    )


def drops(decoder: RecurrentDecoder) -> bool:
    return decoder.training and decoder.stack.dropout.p > 0 and len(decoder.stack.cells) > 1


def look_of(attention: Attention, memory: Memory) -> Look:
    from regard.kernels.cuda.recurrence import Look, rounded

    score, select = attention.score, attention.select
    return Look(
        additive=isinstance(score, Additive),
        select=SELECTIONS[type(select)],  # type: ignore[arg-type]
        features=score.size if isinstance(score, Additive) else attention.query_size,
        values=attention.value_size,
        positions=rounded(memory.values.shape[1], 4, 4),
        scale=score.scale if isinstance(score, Dot) else 1.0,
        mass=float(getattr(select, "normalize", 0.0)),
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
    """As `RecurrentDecoder.unroll`, for a decoder that `knows` approves of."""
    from regard.kernels.cuda.recurrence import recur

    reading = cast(Reading, decoder.reading)
    plan = plan_of(decoder, memories, len(packing.starts) - 1)
    embedded = decoder.embedding(packing.pack(previous))  # (N, E)
    inputs = inputs_of(decoder, memories, embedded, packing, plan)
    said, contexts, weights = recur(given_of(decoder, memories, packing, plan), inputs)
    readouts = said if decoder.looks_after else decoder.readout(said, contexts, embedded)
    return Unrolled(readouts, dict(zip(reading.names, weights, strict=True)))


def given_of(
    decoder: RecurrentDecoder, memories: Mapping[str, Memory], packing: Packing, plan: Plan
) -> Given:
    from regard.kernels.cuda.recurrence import Given

    reading, rows = cast(Reading, decoder.reading), packing.rows()
    count, steps = len(packing.order), len(packing.starts) - 1
    one = torch.ones_like(rows, dtype=torch.int32)
    lengths = one.new_zeros(count).index_add_(0, rows, one)
    masks = []
    if plan.drops:
        keep = 1 - decoder.stack.dropout.p
        like = decoder.stack.cell(0).weight_hh
        masks = [
            like.new_empty(steps, count, plan.size).bernoulli_(keep).div_(keep)
            for _ in range(plan.layers - 1)
        ]
    return Given(
        plan,
        packing.places % packing.width * plan.rows + rows,
        lengths,
        tuple(memories[name].mask for name in reading.names),
        tuple(masks),
    )


def inputs_of(
    decoder: RecurrentDecoder,
    memories: Mapping[str, Memory],
    embedded: Tensor,
    packing: Packing,
    plan: Plan,
) -> Inputs:
    """Everything that does not wait for a state: keys, words, first states, and the weights in the plan's order."""
    from regard.kernels.cuda.recurrence import Inputs

    reading = cast(Reading, decoder.reading)
    attentions = [reading.attention(name) for name in reading.names]
    state = decoder.start(memories)
    top, word = plan.layers - 1, decoder.embedding.size
    weights = [decoder.stack.cell(index).torch_weights() for index in range(plan.layers)]
    words = _words(decoder, memories, embedded, packing, weights[0])
    leading = [score.query.weight for score in (a.score for a in attentions) if isinstance(score, Additive)]
    combined = combine = None
    if plan.after:
        layer, seen = cast(nn.Linear, decoder.combine), plan.size + plan.context
        leading.append(layer.weight[:, : plan.size])
        combine = layer.weight[:, plan.size : seen]
        combined = cast(Tensor, layer.bias).expand(len(embedded), -1)
        if decoder.deep:
            combined = nn.functional.linear(embedded, layer.weight[:, seen:], layer.bias)
    dtype = plan.dtype
    return Inputs(
        words=words.to(dtype),
        combined=None if combined is None else combined.to(dtype),
        combine=combine,
        first=tuple(layer.squeeze(1).to(dtype) for layer in state.layers),
        biases=tuple(_bias(plan, index, *weights[index][2:]) for index in range(plan.layers)),
        hidden=tuple(
            _hidden(plan, weights[index][1], leading if index == top else []) for index in range(plan.layers)
        ),
        inputs=tuple(
            weights[index][0] if index else weights[0][0][:, word + decoder.summary_size :]
            for index in range(plan.layers)
        ),
        keys=tuple(state.constants.keys[name].to(dtype) for name in reading.names),
        values=tuple(memories[name].values.to(dtype) for name in reading.names),
        vectors=tuple(a.score.vector if isinstance(a.score, Additive) else None for a in attentions),
        transitions=tuple(getattr(a.select, "transitions", None) for a in attentions),
    )


def _words(
    decoder: RecurrentDecoder,
    memories: Mapping[str, Memory],
    embedded: Tensor,
    packing: Packing,
    weights: tuple[Tensor, ...],
) -> Tensor:
    """(N, ·) the words' and the summary's share of the first layer's gates, with every bias but a gru's c_n."""
    weight, _, bias, second = weights
    word, size = decoder.embedding.size, decoder.stack.size
    if isinstance(decoder.stack.cell(0), GRUCell):
        second = nn.functional.pad(second[: 2 * size], (0, size))
    words = nn.functional.linear(embedded, weight[:, :word], bias + second)
    if decoder.summary_size:
        share = nn.functional.linear(decoder.summary(memories), weight[:, word : word + decoder.summary_size])
        words = words + share.index_select(0, packing.rows())
    return words


def _bias(plan: Plan, layer: int, bias: Tensor, second: Tensor) -> Tensor:
    """(W) what the rows of Z begin with; of the first layer the words bring the rest."""
    lead, size = plan.lead(layer), plan.size
    if plan.cell == "gru":
        kept = second[2 * size :]
        rest = kept.new_zeros(3 * size)
        if layer:
            rest = bias + nn.functional.pad(second[: 2 * size], (0, size))
        return torch.cat([kept.new_zeros(lead), kept, rest])
    if layer == 0:
        return bias.new_zeros(plan.width(layer))
    return nn.functional.pad(bias + second, (lead, 0))


def _hidden(plan: Plan, weight: Tensor, leading: list[Tensor]) -> Tensor:
    """(·, H) what is multiplied with a state: queries, the attentional vector, gates."""
    size = plan.size
    gates = [weight[2 * size :], weight[: 2 * size]] if plan.cell == "gru" else [weight]
    parts = [*leading, *gates]
    return parts[0] if len(parts) == 1 else torch.cat(parts)
