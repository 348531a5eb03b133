"""A whole output of a recurrent decoder on the CPU, in compiled kernels for all steps together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from regard.fast.recurrence import kernel_of
from regard.nn.attention import Attention, Reading
from regard.nn.decoders.conditioning import Readout
from regard.nn.decoders.decoder import Truth
from regard.nn.decoders.output import Unrolled
from regard.nn.decoders.recurrent import UNROLLED
from regard.nn.decoders.recurrent_steps import RecurrentSteps
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import LAYERS, Path, Replaces
from regard.nn.recurrence import Stack
from regard.nn.scores import Additive, Dot, General, Linear, Location, ScaledDot
from regard.nn.selections import Hard, Segmental, Sigmoid, Softmax
from regard.parts import register
from regard.structures.kernels.availability import within_reach

if TYPE_CHECKING:
    from regard.fast.cpu.layout import Choice
    from regard.fast.cpu.looks import Alone

SCORES = Replaces(Additive, Location, Dot, ScaledDot, General, Linear)
SELECTIONS = Replaces(Softmax, Hard, Sigmoid, Segmental)
AROUND = Replaces(Stack, Reading, Attention, children=False)
"""What holds the cells, the score and the selection."""
READOUTS = Replaces(Readout)


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
        return knows(decoder, memories) and UNROLLED(decoder)

    def why_not(
        self, decoder: RecurrentSteps, memories: Mapping[str, Memory], *given: Any, **more: Any
    ) -> str:
        return lacks(decoder, memories) if UNROLLED(decoder) else CHANGED

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


def knows(decoder: RecurrentSteps, memories: Mapping[str, Memory]) -> bool:
    """Whether the decoder has kernels and runs on the CPU."""
    if not decoder.stack.cell(0).weight_hh.is_cpu or lacks(decoder, memories):
        return False
    values = memories[attended(decoder)[0]].values
    return within_reach(values, decoder.stack.cell(0).weight_hh, rows=len(values))


def lacks(decoder: RecurrentSteps, memories: Mapping[str, Memory]) -> str:
    """What the kernels do not have of a decoder, regardless of the device; empty if they have all: the cells, and an
    attention to one memory with its score and its selection."""
    reading = decoder.reading
    if reading is None:
        return "The decoder has no attention."
    if len(reading.names) != 1:
        return "The decoder attends to several memories."
    if reading.gates:
        return "The state gates the context."
    if memories[reading.names[0]].override is not None:
        return "The attention is overridden."
    if decoder.copying is not None and not decoder.looks_before:
        return "The decoder copies and attends with the current state: the kernels return the readout alone."
    if decoder.says_summary:
        return "The output layer reads the summary: the kernels compute the output from the state alone."
    attention = reading.attention(reading.names[0])
    if not AROUND(decoder.stack, reading, attention):
        return "A module around the attention was changed."
    if kernel_of(decoder.stack.each()) is None:
        return "The cell has no kernel, or was changed."
    if not SCORES(attention.score):
        return "The score has no kernel, or was changed."
    if not SELECTIONS(attention.select):
        return "The selection has no kernel, or was changed."
    if not (READOUTS(decoder.combine) and LAYERS(decoder.stack.dropout)):
        return "The layer before the output, or the dropout between the cells, was changed."
    return ""


def attended(decoder: RecurrentSteps) -> tuple[str, Attention]:
    """The one memory that a supported decoder attends to, and its attention."""
    reading = cast(Reading, decoder.reading)
    return reading.names[0], reading.attention(reading.names[0])


def score_weights(attention: Attention) -> tuple[Tensor | None, Tensor | None]:
    """The query's weight (A, H), which a dot product lacks, and the vector (A) of an additive score."""
    score = attention.score
    if isinstance(score, Additive):
        return score.query.weight, score.vector
    return (score.vector[None, : score.query_size], None) if isinstance(score, Linear) else (None, None)


def score_kind(attention: Attention) -> tuple[int, float]:
    """The score's code in the kernels, and the scale of a dot product's queries."""
    from regard.fast.cpu.layout import ADDITIVE, DOT, LINEAR

    score = attention.score
    codes: dict[Any, int] = {Additive: ADDITIVE, Location: ADDITIVE, Linear: LINEAR}
    return codes.get(SCORES.kind(score), DOT), score.scale if isinstance(score, Dot) else 1.0


def read_weight(decoder: RecurrentSteps) -> Tensor:
    """(G, D or O) weights of the context or the readout in the first cell; zeros if neither enters it."""
    weight = decoder.stack.cell(0).torch_weights()[0]
    if decoder.looks_after and not decoder.feeds:
        return weight.new_zeros(len(weight), decoder.readout_size)
    return weight[:, decoder.embedding.size + decoder.summary_size :]


class StackWeights:
    """The weights of all cells, stacked: U (L, G, H) and its bias, and W (L − 1, G, H) and its bias for the
    layers above the first."""

    def __init__(self, decoder: RecurrentSteps) -> None:
        layers = [decoder.stack.cell(layer).torch_weights() for layer in range(len(decoder.stack.cells))]
        self.first = layers[0]
        self.recurrent = torch.stack([weight for _, weight, _, _ in layers])
        self.recurrent_bias = torch.stack([bias for *_, bias in layers])
        above, bias = [one[0] for one in layers[1:]], [one[2] for one in layers[1:]]
        self.below = torch.stack(above) if above else self.recurrent.detach()[:0]
        self.below_bias = torch.stack(bias) if bias else self.recurrent_bias.detach()[:0]


def choice_of(attention: Attention) -> Choice:
    """The selection in the form that the kernels take."""
    from regard.fast.cpu.layout import SEGMENTS, SIGMOID, SOFTMAX, Choice

    select = attention.select
    transitions = getattr(select, "transitions", None)
    between = torch.zeros(1, 4) if transitions is None else transitions.detach().reshape(1, 4)
    codes: dict[Any, int] = {Softmax: SOFTMAX, Hard: SOFTMAX, Sigmoid: SIGMOID, Segmental: SEGMENTS}
    return Choice(codes[SELECTIONS.kind(select)], float(getattr(select, "normalize", 0.0)), between.numpy())


def reads_alone(attention: Attention) -> bool:
    """Whether a prediction reads only the most probable position."""
    return isinstance(attention.select, Hard) and attention.select.read == "mode"


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
