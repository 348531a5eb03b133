"""The fast way through one step of a search on the CPU, for the decoders that `fused.knows`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, nn

from regard.nn.decoders.fused import attended, choice_of, read_weight, reads_alone, score_weights
from regard.nn.memory import Memory
from regard.nn.stepping import State, Step

if TYPE_CHECKING:
    from regard.nn.decoders.recurrent import RecurrentDecoder


@dataclass(frozen=True)
class Prepared:
    """The weights and the memory as the kernel wants them, the bias of the gates, and whether one position is read."""

    name: str
    layers: Any
    memories: Any
    bias: Tensor
    alone: bool

    def select(self, rows: Tensor) -> Prepared:
        return replace(self, memories=self.memories.select(rows.numpy()))


def lay_out(
    decoder: RecurrentDecoder, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
) -> Prepared | None:
    """What every step needs, once per search; None where dropout is at work."""
    if decoder.training and (decoder.dropout.p > 0 or decoder.embedding.dropout.p > 0):
        return None
    from regard.kernels.cpu import energies, step
    from regard.kernels.cpu.product import panels

    name, attention = attended(decoder)
    query, vector = score_weights(attention)
    weight_ih, weight_hh, bias_ih, bias_hh = decoder.stack.cell(0).torch_weights()
    word = decoder.embedding.size
    said = decoder.combine if decoder.combine is not None else decoder.narrow
    nothing = bias_ih.new_empty(0, 1)
    layers = step.Layers(
        panels(weight_ih[:, :word]),
        panels(read_weight(decoder)),
        panels(weight_hh),
        bias_hh.detach().numpy(),
        panels(nothing if query is None else query),
        panels(nothing if said is None else said.weight),
        (bias_ih.new_zeros(decoder.readout_size) if said is None or said.bias is None else said.bias)
        .detach()
        .numpy(),
        panels(decoder.output.weight),
        decoder.output.bias.detach().numpy(),
    )
    memory = memories[name]
    vector = bias_ih.new_empty(0) if vector is None else vector
    choice = choice_of(attention)
    choice = choice._replace(between=choice.between.astype(vector.detach().numpy().dtype))
    looked_at = energies.memories(keys[name], memory.values, memory.mask, vector, choice)
    return Prepared(name, layers, looked_at, bias_ih, reads_alone(attention))


def step(decoder: RecurrentDecoder, tokens: Tensor, state: State) -> Step:
    """As `RecurrentDecoder.step`."""
    from regard.kernels.cpu.step import Rows, step_rows

    prepared = cast(Prepared, state.constants.prepared)
    shape, size = tokens.shape, decoder.stack.size
    hidden = state.layers[0].reshape(-1, size).clone()
    rows, new = len(hidden), hidden.new_empty
    embedded = nn.functional.embedding(tokens.reshape(-1), decoder.embedding.weight)
    inputs = prepared.bias.expand(rows, -1).clone()
    if state.constants.projected is not None:
        inputs.view(*shape, -1).add_(state.constants.projected)
    positions, width = prepared.memories.values.shape[1:]
    weights, said = new(rows, positions), new(rows, decoder.readout_size)
    logits = new(rows, len(decoder.output.weight))
    tensors = Rows(
        embedded,
        inputs,
        _fed(decoder, state, hidden),
        hidden,
        new(rows, size + width + embedded.shape[1]),
        weights,
        said,
        logits,
    )
    arrays = Rows(*(tensor.detach().numpy() for tensor in tensors))
    step_rows(
        decoder.looks_after,
        decoder.combine is not None,
        prepared.alone,
        prepared.layers,
        prepared.memories,
        arrays,
    )
    advanced = replace(
        state,
        layers=(hidden.view(*shape, -1),),
        feed=None if state.feed is None else said.view(*shape, -1),
        position=state.position + 1,
    )
    return Step(logits.view(*shape, -1), advanced, {prepared.name: weights.view(*shape, -1)})


def _fed(decoder: RecurrentDecoder, state: State, like: Tensor) -> Tensor:
    """(n, O) the last vector; zeros where it is not fed back; of no width where there is none."""
    if state.feed is not None:
        return state.feed.reshape(len(like), -1).contiguous()
    return like.new_zeros(len(like), decoder.readout_size if decoder.looks_after else 0)
