"""A whole output of a recurrent decoder on CUDA: few kernels, captured as graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, nn

from regard.fast import recurrence_cuda
from regard.fast.paths.fused import CHANGED
from regard.fast.recording.buckets import rounded, rounded_rows, rounded_steps
from regard.fast.recording.replay import outside_inference
from regard.fast.recurrence import kernel_of
from regard.nn.attention import Attention, Reading
from regard.nn.decoders.conditioning import Readout
from regard.nn.decoders.decoder import Truth
from regard.nn.decoders.output import Unrolled
from regard.nn.decoders.recurrent import UNROLLED, RecurrentDecoder
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import LAYERS, Path, Replaces
from regard.nn.recurrence import Stack
from regard.nn.scores import Additive, Dot, General, ScaledDot
from regard.nn.selections import Segmental, Sigmoid, Softmax
from regard.parts import register
from regard.private import eager, triton_works

if TYPE_CHECKING:
    from regard.fast.cuda.recurrence import Inputs, LookPlan, UnrollGiven, UnrollPlan

SELECTIONS = {Softmax: "softmax", Sigmoid: "sigmoid", Segmental: "segments"}
SELECTS = Replaces(*SELECTIONS)
SCORES = Replaces(Additive, Dot, ScaledDot, General)
AROUND = Replaces(Stack, Reading, Attention, children=False)
"""What holds the cells, the scores and the selections."""
READOUTS = Replaces(Readout)
LONGEST = 1024
"""Most positions of a memory, all of which a kernel program holds at once."""


@register("path", "graphed")
class Graphed(Path):
    """Our kernels for CUDA, captured as graphs: all steps of a recurrent decoder whose recurrence reads contexts."""

    serves = "decoder.unroll"
    devices = ("cuda",)
    rank = 20

    def takes(
        self, decoder: RecurrentDecoder, memories: Mapping[str, Memory], *given: Any, **more: Any
    ) -> bool:
        return knows(decoder, memories) and UNROLLED(decoder)

    def why_not(
        self, decoder: RecurrentDecoder, memories: Mapping[str, Memory], *given: Any, **more: Any
    ) -> str:
        return lacks(decoder, memories) if UNROLLED(decoder) else CHANGED

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
        return unroll(decoder, memories, decoder.known(previous), packing, looks=looks)


def knows(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> bool:
    """Whether the decoder has kernels, runs on CUDA, and reads contexts in its recurrence."""
    weight = decoder.stack.cell(0).weight_hh
    return weight.is_cuda and eager() and triton_works() and not lacks(decoder, memories)


def lacks(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> str:
    """What the kernels do not have of a decoder, regardless of the device; empty if they have all."""
    reading, cells = decoder.reading, decoder.stack.each()
    if reading is None:
        return "The decoder has no attention."
    if not (decoder.looks_before or decoder.feeds):
        return "No context enters the recurrence, which is computed for all steps at once."
    if reading.gates:
        return "The state gates the context."
    if decoder.copying is not None and not decoder.looks_before:
        return "The decoder copies and attends with the current state: the kernels return the readout alone."
    if decoder.says_summary:
        return "The output layer reads the summary: the kernels compute the output from the state alone."
    if len(cells) > 1 and decoder.stack.residual:
        return "The layers have residual connections."
    if not AROUND(decoder.stack, reading):
        return "A module around the attention was changed."
    if not recurrence_cuda.has_kernels(cells):
        return "The cell has no kernel for its precision, or was changed."
    if not (READOUTS(decoder.combine) and LAYERS(decoder.stack.dropout)):
        return "The layer before the output, or the dropout between the cells, was changed."
    for name in reading.names:
        if reason := attention_lacks(reading.attention(name), memories[name]):
            return reason
    return ""


def attention_lacks(attention: Attention, memory: Memory) -> str:
    """What the kernels do not have of an attention; empty if they have all."""
    if not AROUND(attention):
        return "The attention was changed."
    if not SCORES(attention.score):
        return "The score has no kernel, or was changed."
    if not SELECTS(attention.select):
        return "The selection has no kernel, or was changed."
    if memory.override is not None:
        return "The attention is overridden."
    positions = memory.values.shape[1]
    if not (2 if isinstance(attention.select, Segmental) else 1) <= positions <= LONGEST:
        return f"The memory has {positions:,} positions; the kernels take up to {LONGEST:,}."
    return ""


def plan_of(decoder: RecurrentDecoder, memories: Mapping[str, Memory], steps: int) -> UnrollPlan:
    """The computation, with sizes rounded up so that other batches share it."""
    from regard.fast.cuda.recurrence import UnrollPlan

    reading, stack = cast(Reading, decoder.reading), decoder.stack
    cell = stack.cell(0)
    memory = memories[reading.names[0]]
    return UnrollPlan(
        cell=recurrence_cuda.CELLS[str(kernel_of([cell]))],  # type: ignore[arg-type]
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
