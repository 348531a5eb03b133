"""A recurrent encoder on the CPU: a layer in compiled kernels, and a first layer that reads what each word adds to its
gates from a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.fast.kept import is_brief, meanwhile
from regard.fast.recurrence import NO_KERNEL, kernel_of, knows_on_cpu, run_on_cpu, run_on_words
from regard.nn.embedding import EMBEDDINGS
from regard.nn.encoders.recurrent import RecurrentEncoder
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import LAYERS, Path, Replaces
from regard.nn.recurrence import RecurrentLayer
from regard.parts import register

READ_BY = Replaces(RecurrentLayer, children=False)
RUN = Replaces(RecurrentEncoder, methods=("run_layers",))
"""The method whose first layer the path replaces."""


@register("path", "layer-cpu")
class LayerOnCPU(Path):
    """Compiled kernels for the CPU: a recurrent layer over whole sequences, in one direction or both."""

    serves = "layer.run"
    devices = ("cpu",)
    rank = 10

    def takes(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> bool:
        return knows_on_cpu(layer.each(), inputs, len(packing.longest))

    def why_not(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> str:
        return NO_KERNEL if kernel_of(layer.each()) is None else ""

    def run(
        self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False
    ) -> tuple[Tensor, Tensor]:
        first = layer.first.flatten().expand(len(packing.longest), -1)
        outputs, last = run_on_cpu(layer.each(), inputs, packing, first)
        states = last.unflatten(1, (len(layer.cells), -1)).index_select(0, packing.back)
        return outputs, layer.last_states(states, whole)


@register("path", "words-cpu")
class WordsOnCPU(Path):
    """Inputs of a trained recurrent encoder on the CPU: the first layer reads a table of all words instead of
    multiplying their vectors."""

    serves = "encoder.read"
    devices = ("cpu",)
    rank = 10

    def takes(self, encoder: RecurrentEncoder, tokens: Tokens) -> bool:
        if torch.is_grad_enabled() or encoder.training or lacks(encoder, tokens):
            return False
        first: Any = encoder.layers[0]
        embedding: Any = encoder.embedding
        return knows_on_cpu(first.each(), embedding.weight, len(tokens.lengths))

    def why_not(self, encoder: RecurrentEncoder, tokens: Tokens) -> str:
        return lacks(encoder, tokens)

    def run(self, encoder: RecurrentEncoder, tokens: Tokens) -> Memory:
        return meanwhile(lambda: read(encoder, tokens), brief=is_brief(tokens.ids.numel()))


def lacks(encoder: RecurrentEncoder, tokens: Tokens) -> str:
    """Why the table does not serve an encoder, regardless of the device; empty if it does."""
    if not isinstance(tokens, Tokens):
        return "The inputs are not tokens."
    if not RUN(encoder):
        return "A method of the encoder was overridden or replaced, or a hook watches it."
    first: Any = encoder.layers[0]
    if not (EMBEDDINGS(encoder.embedding) and READ_BY(first) and LAYERS(encoder.dropout)):
        return "The embedding, a layer or the dropout is of another kind, or was changed."
    if encoder.values != "states":
        return "The values of the memory are not the states."
    if first.backward:
        return "The first layer reads from the end alone."
    return NO_KERNEL if kernel_of(first.each()) is None else ""


def read(encoder: RecurrentEncoder, tokens: Tokens) -> Memory:
    """`RecurrentEncoder.forward` for a supported encoder."""
    mask, embedding = tokens.mask, encoder.embedding
    first: Any = encoder.layers[0]
    weight: Tensor = embedding.weight  # type: ignore[attr-defined]
    packing = Packing.of(tokens.lengths, mask.shape[1], tokens.counts)
    others = list(encoder.layers)[1:]
    words = packing.pack(tokens.ids)
    values, states = run_on_words(first, weight, words, packing, unpacked=not others)
    last = [first.last_states(states, encoder.hands_on)]
    for layer in others:
        inputs = encoder.dropout(values)
        values, summary = layer(inputs, packing, whole=encoder.hands_on)
        last.append(summary)
        if encoder.residual:
            values = values + inputs
    memory = Memory(packing.unpack(values) if others else values, mask, last[-1][:, : encoder.summary_size])
    return replace(memory, last=tuple(last)) if encoder.hands_on else memory
