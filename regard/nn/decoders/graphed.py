"""The fast path for a whole output on CUDA, for supported decoders: few kernels, captured as graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from regard.fast.recording.buckets import rounded, rounded_rows, rounded_steps
from regard.fast.recording.replay import outside_inference
from regard.fast.replacing import LAYERS, Replaces
from regard.nn import swept
from regard.nn.attention import Attention
from regard.nn.decoders.conditioning import Readout
from regard.nn.decoders.reading import Reading
from regard.nn.decoders.stack import Stack
from regard.nn.decoders.unrolled import Unrolled
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.scores import Additive, Dot, General, ScaledDot
from regard.nn.selections import Segmental, Sigmoid, Softmax
from regard.private import eager, triton_works

if TYPE_CHECKING:
    from regard.fast.cuda.recurrence import Inputs, LookPlan, UnrollGiven, UnrollPlan
    from regard.nn.decoders.recurrent import RecurrentDecoder

SELECTIONS = {Softmax: "softmax", Sigmoid: "sigmoid", Segmental: "segments"}
SELECTS = Replaces(*SELECTIONS)
SCORES = Replaces(Additive, Dot, ScaledDot, General)
AROUND = Replaces(Stack, Reading, Attention, children=False)
"""What holds the cells, the scores and the selections."""
READOUTS = Replaces(Readout)
LONGEST = 1024
"""Most positions of a memory, all of which a kernel program holds at once."""


def knows(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> bool:
    """Whether the decoder has kernels, runs on CUDA, and reads contexts in its recurrence."""
    weight = decoder.stack.cell(0).weight_hh
    return weight.is_cuda and eager() and triton_works() and has_kernels(decoder, memories)


def has_kernels(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> bool:
    """`knows`, regardless of the device."""
    reading, cells = decoder.reading, decoder.stack.each()
    if reading is None or not (decoder.looks_before or decoder.feeds):
        return False
    if reading.gates:
        return False
    if decoder.copying is not None and not decoder.looks_before:
        return False  # what was read is not given back beside what is said
    if decoder.says_summary:
        return False  # the output depends on the state alone
    if len(cells) > 1 and decoder.stack.residual:
        return False
    return (
        AROUND(decoder.stack, reading)
        and swept.has_kernels(cells)
        and READOUTS(decoder.combine)
        and LAYERS(decoder.stack.dropout)
        and all(_attends(reading.attention(name), memories[name]) for name in reading.names)
    )


def _attends(attention: Attention, memory: Memory) -> bool:
    positions = memory.values.shape[1]
    return (
        AROUND(attention)
        and SCORES(attention.score)
        and SELECTS(attention.select)
        and memory.override is None
        and (2 if isinstance(attention.select, Segmental) else 1) <= positions <= LONGEST
    )


def looks_at_once(attention: Attention, memory: Memory) -> bool:
    """Whether one kernel can compute a look of a search, which has no gradient."""
    return (
        memory.values.is_cuda
        and memory.values.dtype in (torch.float32, torch.float64)
        and memory.values.ndim == 3
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cuda")
        and eager()
        and triton_works()
        and _attends(attention, memory)
    )


def look(attention: Attention, query: Tensor, memory: Memory, keys: Tensor) -> tuple[Tensor, Tensor]:
    """query (B, K, Q) → context (B, K, D) and weights (B, K, S)."""
    from regard.fast.cuda.recurrence import look_at

    score, select = attention.score, attention.select
    plan = replace(look_of(attention, memory), positions=memory.values.shape[1])
    vector = None
    if isinstance(score, Additive):
        query, vector = score.query(query), score.vector
    transitions = select.transitions if isinstance(select, Segmental) else None
    given = (query, keys, memory.values, memory.mask)
    return look_at(plan, *given, vector=vector, transitions=transitions)


def plan_of(decoder: RecurrentDecoder, memories: Mapping[str, Memory], steps: int) -> UnrollPlan:
    """The computation, with sizes rounded up so that other batches share it."""
    from regard.fast.cuda.recurrence import UnrollPlan

    reading, stack = cast(Reading, decoder.reading), decoder.stack
    cell = stack.cell(0)
    memory = memories[reading.names[0]]
    return UnrollPlan(
        cell=swept.CELLS[str(cell.kernel)],  # type: ignore[arg-type]
        size=stack.size,
        layers=len(stack.cells),
        rows=rounded_rows(len(memory.values)),
        steps=rounded_steps(steps),
        words=decoder.embedding.size,
        summary=decoder.summary_size,
        looks=tuple(look_of(reading.attention(name), memories[name]) for name in reading.names),
        after=decoder.looks_after,
        readout=decoder.readout_size if decoder.looks_after else 0,
        deep=decoder.deep,
        activation=getattr(cell, "activation", "tanh"),
        drops=drops(decoder),
        dtype=cell.weight_hh.dtype,
    )


def drops(decoder: RecurrentDecoder) -> bool:
    return decoder.training and decoder.stack.dropout.p > 0 and len(decoder.stack.cells) > 1


def look_of(attention: Attention, memory: Memory) -> LookPlan:
    from regard.fast.cuda.recurrence import LookPlan

    score, select = attention.score, attention.select
    return LookPlan(
        additive=isinstance(score, Additive),
        select=SELECTIONS[SELECTS.kind(select)],  # type: ignore[arg-type, index]
        features=score.size if isinstance(score, Additive) else attention.query_size,
        values=attention.value_size,
        positions=rounded(memory.values.shape[1], 8, 2),
        scale=score.scale if isinstance(score, Dot) else 1.0,
        mass=float(getattr(select, "normalize", 0.0)),
    )


def unroll(
    decoder: RecurrentDecoder,
    memories: Mapping[str, Memory],
    previous: Tensor,
    packing: Packing,
    *,
    looks: bool = True,
) -> Unrolled:
    """`RecurrentDecoder.unroll` for a supported decoder. looks: whether to return the attention weights."""
    from regard.fast.cuda.recurrence import recur

    reading = cast(Reading, decoder.reading)
    plan = plan_of(decoder, memories, len(packing.starts) - 1)
    embedded = decoder.embedding(packing.pack(previous))  # (N, E)
    inputs = inputs_of(decoder, memories, embedded, plan)
    with outside_inference():
        given = given_of(decoder, memories, packing, plan, looks=looks)
        said, contexts, weights = recur(given, inputs)
    readouts = said if decoder.looks_after else decoder.readout(said, contexts, embedded)
    gates = None if decoder.copying is None else decoder.copying.gates(said, cast(Tensor, contexts), embedded)
    return Unrolled(readouts, dict(zip(reading.names, weights, strict=looks)), gates=gates)


def given_of(
    decoder: RecurrentDecoder,
    memories: Mapping[str, Memory],
    packing: Packing,
    plan: UnrollPlan,
    *,
    looks: bool = True,
) -> UnrollGiven:
    from regard.fast.cuda.recurrence import UnrollGiven

    reading = cast(Reading, decoder.reading)
    masks = []
    if plan.drops:
        keep, like = 1 - decoder.stack.dropout.p, decoder.stack.cell(0).weight_hh
        shape = (len(packing.starts) - 1, len(packing.longest), plan.size)
        masks = [like.new_empty(shape).bernoulli_(keep).div_(keep) for _ in range(plan.layers - 1)]
    index = packing.among_times(plan.rows)
    seen = tuple(memories[name].mask for name in reading.names)
    contexts = not plan.after and (plan.deep or decoder.copying is not None)
    return UnrollGiven(plan, index, seen, tuple(masks), looks, contexts)


def inputs_of(
    decoder: RecurrentDecoder, memories: Mapping[str, Memory], embedded: Tensor, plan: UnrollPlan
) -> Inputs:
    """All inputs that do not depend on a state, and the weights by the plan's names."""
    from regard.fast.cuda.recurrence import Inputs

    reading, dtype = cast(Reading, decoder.reading), plan.dtype
    state = decoder.start(memories)
    return Inputs(
        words=embedded.to(dtype),
        summary=decoder.summary(memories).to(dtype) if plan.summary else None,
        first=tuple(layer.squeeze(1).to(dtype) for layer in state.layers),
        keys=tuple(state.constants.keys[name].to(dtype) for name in reading.names),
        values=tuple(memories[name].values.to(dtype) for name in reading.names),
        weights=weights_of(decoder, plan),
    )


def weights_of(decoder: RecurrentDecoder, plan: UnrollPlan) -> dict[str, Tensor]:
    reading = cast(Reading, decoder.reading)
    found: dict[str, Tensor] = {}
    for layer in range(plan.layers):
        weights = decoder.stack.cell(layer).torch_weights()
        names = (f"{name}{layer}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        found |= dict(zip(names, weights, strict=True))
    for m, name in enumerate(reading.names):
        score, select = reading.attention(name).score, reading.attention(name).select
        if isinstance(score, Additive):
            found |= {f"query{m}": score.query.weight, f"vector{m}": score.vector}
        if isinstance(select, Segmental):
            found[f"transitions{m}"] = select.transitions
    if plan.after:
        combine = cast(nn.Linear, decoder.combine)
        found |= {"combine": combine.weight, "combine_bias": cast(Tensor, combine.bias)}
    return {name: found[name] for name in plan.parameters}
