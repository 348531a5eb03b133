"""The fast way through one step of a search on the processor, for the decoders `fused.knows` approves of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.scores import Additive
from regard.nn.stepping import State, Step

if TYPE_CHECKING:
    from regard.nn.decoders.recurrent import RecurrentDecoder


@dataclass(frozen=True)
class Prepared:
    """The weights and the memory, each in one piece, as the kernels want them."""

    name: str
    word: Tensor
    recurrent: Tensor
    read: Tensor
    query: Tensor
    combine: Tensor | None
    output: Tensor
    bias_ih: Tensor
    bias_hh: Tensor
    vector: Any
    keys: tuple[Any, Any, Any]
    values: Any
    mask: Any

    def select(self, rows: Tensor) -> Prepared:
        index = rows.numpy()
        return replace(
            self,
            keys=tuple(array[index] for array in self.keys),
            values=self.values[index],
            mask=self.mask[index],
        )


def lay_out(
    decoder: RecurrentDecoder, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
) -> Prepared | None:
    """What every step needs, once per search; None where dropout is at work."""
    if decoder.training and (decoder.dropout.p > 0 or decoder.embedding.dropout.p > 0):
        return None
    from regard.nn.fused.looks import prepared

    reading = decoder.reading
    name = reading.names[0]  # type: ignore[union-attr]
    score = cast(Additive, reading.attention(name).score)  # type: ignore[union-attr]
    weight_ih, weight_hh, bias_ih, bias_hh = decoder.stack.cell(0).torch_weights()
    word, low = decoder.embedding.size, decoder.embedding.size + decoder.summary_size
    return Prepared(
        name,
        weight_ih[:, :word].t().contiguous(),
        weight_hh.t().contiguous(),
        weight_ih[:, low:].t().contiguous(),
        score.query.weight.t().contiguous(),
        None if decoder.combine is None else decoder.combine.weight.t().contiguous(),
        decoder.output.weight.t().contiguous(),
        bias_ih,
        bias_hh,
        score.vector.detach().numpy(),
        prepared(keys[name].contiguous()),
        memories[name].values.detach().contiguous().numpy(),
        memories[name].mask.contiguous().numpy(),
    )


def step(decoder: RecurrentDecoder, tokens: Tensor, state: State) -> Step:
    """As `RecurrentDecoder.step`."""
    from regard.nn.fused.gates import gates_forward
    from regard.nn.fused.mathematics import hyperbolic_in_place

    prepared = cast(Prepared, state.constants.prepared)
    shape, size = tokens.shape, decoder.stack.size
    before = state.layers[0].reshape(-1, size)
    rows, hidden = len(before), before.clone()
    embedded = nn.functional.embedding(tokens.reshape(-1), decoder.embedding.weight)
    inputs = torch.addmm(prepared.bias_ih, embedded, prepared.word)
    if state.constants.projected is not None:
        inputs.view(*shape, -1).add_(state.constants.projected)
    both = hidden.new_empty(rows, size + prepared.values.shape[2])
    weights = hidden.new_empty(rows, prepared.values.shape[1])
    if state.feed is None:
        _look(prepared, before, both, weights, shape[1])
        inputs.addmm_(both[:, size:], prepared.read)
    else:
        inputs.addmm_(state.feed.reshape(rows, -1), prepared.read)
    recurrent = torch.mm(before, prepared.recurrent)
    kept = hidden.new_empty(rows, 4 * size)
    gates_forward(
        inputs.numpy(),
        recurrent.numpy(),
        prepared.bias_hh.detach().numpy(),
        hidden.numpy(),
        kept.numpy(),
        both.numpy(),
        0,
    )
    if state.feed is not None:
        _look(prepared, hidden, both, weights, shape[1])
    readout = hidden
    if decoder.combine is not None and prepared.combine is not None:
        seen = torch.cat([both, embedded], 1) if decoder.deep else both
        readout = torch.addmm(decoder.combine.bias, seen, prepared.combine)
        hyperbolic_in_place(readout.numpy())
    elif decoder.narrow is not None:
        readout = decoder.narrow(hidden)
    logits = torch.addmm(decoder.output.bias, readout, prepared.output)
    advanced = replace(
        state,
        layers=(hidden.view(*shape, -1),),
        feed=None if state.feed is None else readout.view(*shape, -1),
        position=state.position + 1,
    )
    return Step(logits.view(*shape, -1), advanced, {prepared.name: weights.view(*shape, -1)})


def _look(prepared: Prepared, asking: Tensor, both: Tensor, weights: Tensor, hypotheses: int) -> None:
    """Fills the context's columns of `both`, and the weights; each source is asked by all its hypotheses."""
    from regard.nn.fused.looks import looks_forward

    source = torch.arange(len(prepared.mask)).repeat_interleave(hypotheses)
    column = both.shape[1] - prepared.values.shape[2]
    looks_forward(
        torch.mm(asking, prepared.query).numpy(),
        *prepared.keys,
        prepared.values,
        prepared.vector,
        prepared.mask,
        source.numpy(),
        both.numpy(),
        0,
        column,
        weights.numpy(),
    )
