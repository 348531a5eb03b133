"""What the kernels compute of recurrent networks: cells and their layers, and on the CPU decoders with attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from regard.fast.kept import RememberedWeights, WordTable, begin_comparing, is_brief
from regard.nn.attention import Attention, Reading
from regard.nn.cells import Cell, GRUCell, LSTMCell, RNNCell
from regard.nn.decoders.conditioning import Readout
from regard.nn.decoders.recurrent_steps import RecurrentSteps
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import LAYERS, Replaces, once_a_call
from regard.nn.recurrence import RecurrentLayer, Stack, Weights
from regard.nn.scores import Additive, Dot, General, Linear, Location, ScaledDot
from regard.nn.selections import Hard, Segmental, Sigmoid, Softmax
from regard.structures.kernels.availability import within_reach

if TYPE_CHECKING:
    from regard.fast.cpu.layout import Choice
    from regard.fast.cpu.recurrence import LayerInputs

CELLS = Replaces(GRUCell, LSTMCell, RNNCell)
NO_KERNEL = "The cell has no kernel, or was changed."


def kernel_of(cells: Sequence[Cell]) -> str | None:
    """The recurrence that computes exactly all of these cells, if there is one."""
    kernel = _kernel(cells[0])
    return kernel if all(_kernel(cell) == kernel for cell in cells[1:]) else None


def _kernel(cell: Any) -> str | None:
    kind = CELLS.kind(cell)
    if kind is None:
        return None
    if kind is RNNCell:
        return str(cell.activation)
    if kind is LSTMCell:
        return "lstm" if cell.activation == "tanh" else None
    return "gru" if cell.as_torch else None


def knows_on_cpu(cells: Sequence[Cell], inputs: Tensor, rows: int) -> bool:
    """Whether the kernels compute these cells, and these are tensors on the CPU."""
    return (
        inputs.is_cpu and kernel_of(cells) is not None and within_reach(inputs, cells[0].weight_hh, rows=rows)
    )


def run_on_cpu(
    cells: Sequence[Cell],
    inputs: Tensor,
    packing: Packing,
    first: Tensor,
    weights: Sequence[Weights] | None = None,
) -> tuple[Tensor, Tensor]:
    """Run one layer on the CPU with a cell for each direction: packed inputs (N, I) and first states
    (B, directions·state), longest row first → packed outputs (N, directions·size) and last states
    (B, directions·state).

    weights   the weights to use for each cell; default: its own

    The cells must have a `kernel_of`.
    """
    from regard.fast.cpu.layout import KINDS
    from regard.fast.cpu.recurrence import PackedRecurrence, run_forward

    kind = KINDS[str(kernel_of(cells))]
    if weights is None and not torch.is_grad_enabled():
        kept = _laid_out(cells)
        projected = kept.project(inputs, len(packing.longest))
        return run_forward(
            projected, first, kept.panels, kept.recurrent_bias, packing, kind, back=False
        ).result()
    taken = [cell.torch_weights() for cell in cells] if weights is None else weights
    weight_ih, weight_hh, bias_ih, bias_hh = zip(*taken, strict=True)
    projected = nn.functional.linear(inputs, torch.cat(weight_ih), torch.cat(bias_ih))
    outputs, last = PackedRecurrence.apply(
        projected, first, torch.stack(weight_hh), torch.stack(bias_hh), packing, kind
    )
    return outputs, last


def run_on_words(
    layer: RecurrentLayer, embedding: Tensor, ids: Tensor, packing: Packing, *, unpacked: bool = False
) -> tuple[Tensor, Tensor]:
    """Run a layer of `run_on_cpu` on packed words (N), with a table of what they add to the gates, if it is worth its
    price: packed outputs, or `unpacked` ones, and last states (B, directions, state) in the order of the rows."""
    from regard.fast.cpu.layout import KINDS
    from regard.fast.cpu.recurrence import run_forward

    cells = layer.each()
    kept = _laid_out(cells)
    table = kept.words.of(
        embedding,
        len(kept.bias),
        lambda: nn.functional.linear(embedding, kept.weight, kept.bias),
        len(ids),
        ids,
    )
    words = None if table is None else ids
    if table is None:
        projected = kept.project(embedding.index_select(0, ids), len(packing.longest))
    else:
        projected = table
    first = layer.first.flatten().expand(len(packing.longest), -1)
    kind = KINDS[str(kernel_of(cells))]
    padded = packing if unpacked else None
    begin_comparing()
    outputs, last = run_forward(
        projected,
        first,
        kept.panels,
        kept.recurrent_bias,
        packing,
        kind,
        words=words,
        padded=padded,
        back=False,
    ).result()
    if unpacked:
        outputs = outputs.view(len(packing.longest), packing.width, -1)
    return outputs, last.unflatten(1, (len(cells), -1)).index_select(0, packing.back)


@dataclass(frozen=True)
class CellWeights:
    """The weights of both directions of a layer together, the recurrent ones in panels; and their table of words."""

    weight: Tensor
    bias: Tensor
    panels: Any
    recurrent_bias: Any
    words: WordTable = field(default_factory=WordTable)

    def project(self, inputs: Tensor, rows: int) -> Tensor | LayerInputs:
        """The inputs (N, I) of so many rows times the weight; few are left to the kernel, which multiplies them in a
        thread for each direction."""
        from regard.fast.cpu.recurrence import LayerInputs, projects

        if not is_brief(len(inputs)) or not projects(len(self.panels), rows):
            return nn.functional.linear(inputs, self.weight, self.bias)
        weight, bias = self._for_inputs
        return LayerInputs(inputs.detach().contiguous().numpy(), weight, bias)

    @cached_property
    def _for_inputs(self) -> tuple[Any, Any]:
        from regard.fast.cpu.layout import stacked_panels

        directions = len(self.panels)
        return (
            stacked_panels(self.weight.unflatten(0, (directions, -1))),
            self.bias.detach().unflatten(0, (directions, -1)).numpy(),
        )


_kept_weights: WeakKeyDictionary[Cell, tuple[RememberedWeights, CellWeights]] = WeakKeyDictionary()
"""The weights of the cells of a layer in the kernel's layout, by the first cell, with the weights as they were."""


def _laid_out(cells: Sequence[Cell]) -> CellWeights:
    """The weights of a layer. They are laid out again if they have changed."""
    from regard.fast.cpu.layout import stacked_panels

    taken = [cell.torch_weights() for cell in cells]
    weights = [weight for one in taken for weight in one]
    seen, kept = _kept_weights.get(cells[0], (None, None))
    if seen is None or not seen.still(weights):
        weight_ih, weight_hh, bias_ih, bias_hh = zip(*taken, strict=True)
        bias = torch.stack(bias_hh).detach().numpy()
        panels = stacked_panels(torch.stack(weight_hh))
        kept = CellWeights(torch.cat(weight_ih), torch.cat(bias_ih), panels, bias)
        _kept_weights[cells[0]] = RememberedWeights(weights), kept
    assert kept is not None
    return kept


SCORES = Replaces(Additive, Location, Dot, ScaledDot, General, Linear)


SELECTIONS = Replaces(Softmax, Hard, Sigmoid, Segmental)


AROUND = Replaces(Stack, Reading, Attention, children=False)
"""What holds the cells, the score and the selection."""


READOUTS = Replaces(Readout)


def knows_decoder(decoder: RecurrentSteps, memories: Mapping[str, Memory]) -> bool:
    """Whether the decoder has kernels and runs on the CPU."""
    return bool(once_a_call(_knows_decoder, decoder, memories))


def _knows_decoder(decoder: RecurrentSteps, memories: Mapping[str, Memory]) -> bool:
    if not decoder.stack.cell(0).weight_hh.is_cpu or decoder_lacks(decoder, memories):
        return False
    values = memories[attended(decoder)[0]].values
    return within_reach(values, decoder.stack.cell(0).weight_hh, rows=len(values))


def decoder_lacks(decoder: RecurrentSteps, memories: Mapping[str, Memory]) -> str:
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
