"""One step of a search on the CPU in one compiled kernel, for the decoders that `fused` supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.fast.outputs import OUTPUTS
from regard.fast.paths.fused import CHANGED
from regard.fast.recurrence import (
    attended,
    choice_of,
    decoder_lacks,
    knows_decoder,
    reads_alone,
    score_kind,
    score_weights,
)
from regard.fast.search_weights import SearchWeights, search_weights
from regard.nn.decoders.recurrent_steps import STEPS, RecurrentSteps, State
from regard.nn.embedding import EMBEDDINGS
from regard.nn.memory import Memory
from regard.nn.path import LAYERS, Path, Replaces, once_a_call
from regard.nn.scores import Location
from regard.nn.stepping import Step
from regard.parts import register

SEARCHED = Replaces(RecurrentSteps, methods=(*STEPS, "step"))
"""The methods that the path replaces; `step`, because it may change the state, parts of which the path has laid out
beforehand."""


@dataclass(frozen=True)
class Prepared:
    """Weights and memory in the kernel's layout, and whether to read one position."""

    name: str
    weights: SearchWeights
    memories: Any
    alone: bool

    def select(self, rows: Tensor) -> Prepared:
        return replace(self, memories=self.memories.select(rows.numpy()))

    def step(self, decoder: RecurrentSteps, tokens: Tensor, state: State) -> Step:
        return step(decoder, tokens, state)


@register("path", "fused-step")
class FusedStep(Path):
    """A compiled kernel for the CPU: one step of a search with a recurrent decoder, from the words to the logits."""

    serves = "decoder.step"
    devices = ("cpu",)
    rank = 10

    def takes(
        self, decoder: RecurrentSteps, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
    ) -> bool:
        return (
            decoder.copying is None
            and SEARCHED(decoder)
            and knows_decoder(decoder, memories)
            and not layers_lack(decoder)
        )

    def why_not(
        self, decoder: RecurrentSteps, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
    ) -> str:
        if decoder.copying is not None:
            return "The decoder copies."
        if not SEARCHED(decoder):
            return CHANGED
        return decoder_lacks(decoder, memories) or layers_lack(decoder)

    def run(
        self, decoder: RecurrentSteps, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
    ) -> Prepared:
        return lay_out(decoder, memories, keys)


def layers_lack(decoder: RecurrentSteps) -> str:
    """What is not supported of the layers around the recurrence; empty if all is."""
    return str(once_a_call(_layers_lack, decoder))


def _layers_lack(decoder: RecurrentSteps) -> str:
    dropouts = (decoder.dropout, decoder.stack.dropout, decoder.embedding.dropout)
    if not (EMBEDDINGS(decoder.embedding) and OUTPUTS(decoder.output) and LAYERS(decoder.narrow, *dropouts)):
        return "The embedding, the output layer or a layer between was changed."
    if decoder.training and (max(one.p for one in dropouts) > 0 or decoder.embedding.word_dropout):
        return "Dropout is active."
    return ""


def lay_out(decoder: RecurrentSteps, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]) -> Prepared:
    """Prepare what every step needs, once per search."""
    from regard.fast.cpu.layout import location_of
    from regard.fast.cpu.layout import memories as laid_out

    name, attention = attended(decoder)
    weights = search_weights(decoder)
    bias_ih = weights.bias
    vector = score_weights(attention)[1]
    memory = memories[name]
    vector = bias_ih.new_empty(0) if vector is None else vector
    kind, choice = vector.detach().numpy().dtype, choice_of(attention)
    near: Any = attention.score if isinstance(attention.score, Location) else None
    filters, place = (None, None) if near is None else (near.filters, near.place.weight)
    score, scale = score_kind(attention)
    looked_at = laid_out(
        keys[name],
        memory.values,
        memory.mask,
        vector,
        choice._replace(between=choice.between.astype(kind)),
        score=score,
        scale=kind.type(scale),
        location=location_of(filters, place, bias_ih),
    )
    return Prepared(name, weights, looked_at, reads_alone(attention))


def step(decoder: RecurrentSteps, tokens: Tensor, state: State) -> Step:
    """`RecurrentDecoder.step` for a supported decoder."""
    from regard.fast.cpu.step import Rows, step_part
    from regard.structures.kernels.cpu.parallel import shares, side_by_side

    prepared = cast(Prepared, state.constants.prepared)
    shape, size = tokens.shape, decoder.stack.size
    states = torch.stack([layer.reshape(-1, layer.shape[-1]) for layer in state.layers])  # (L, n, Z), a copy
    rows, new = states.shape[1], states.new_empty
    embedded = nn.functional.embedding(tokens.reshape(-1), decoder.embedding.weight)
    inputs = prepared.weights.bias.expand(rows, -1).clone()
    if state.constants.projected is not None:
        inputs.view(*shape, -1).add_(state.constants.projected)
    positions, width = prepared.memories.values.shape[1:]
    looked = state.looks.get(prepared.name)
    weights, said = new(rows, positions), new(rows, decoder.readout_size)
    logits = new(rows, len(decoder.output.weight))
    sources = torch.arange(shape[0]).repeat_interleave(shape[1])
    tensors = Rows(
        sources,
        embedded,
        inputs,
        _fed(decoder, state, states[0]),
        states,
        new(rows, size + width + embedded.shape[1]),
        new(rows, 0) if looked is None else looked.reshape(rows, -1).contiguous(),
        weights,
        said,
        logits,
    )
    arrays = Rows(*(tensor.detach().numpy() for tensor in tensors))
    side_by_side(
        step_part,
        shares(rows),
        decoder.looks_after,
        decoder.combine is not None,
        prepared.alone,
        prepared.weights.layers,
        prepared.memories,
        arrays,
    )
    looks = {prepared.name: weights.view(*shape, -1)}
    advanced = replace(
        state,
        layers=tuple(layer.view(*shape, -1) for layer in states),
        feed=None if state.feed is None else said.view(*shape, -1),
        position=state.position + 1,
        looks=looks if state.looks else {},
    )
    return Step(logits.view(*shape, -1), advanced, looks)


def _fed(decoder: RecurrentSteps, state: State, like: Tensor) -> Tensor:
    """(n, O) the readout that is fed back, or zeros; of width 0 if the decoder looks before the step."""
    if state.feed is not None:
        return state.feed.reshape(len(like), -1).contiguous()
    return like.new_zeros(len(like), decoder.readout_size if decoder.looks_after else 0)
