"""The loss of a small batch on CUDA in one recording, from the input words to the cost of the output.

A recurrent encoder and a recurrent decoder can each be recorded (`recorded_encoder`, `recorded_loss`). Here a model
with one of each is recorded as a whole: nothing is copied between them, and the host has half as much work.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from regard.data.batch import Batch, Tokens
from regard.fast.paths import recorded_encoder, recorded_loss
from regard.fast.paths.recorded_encoder import RecordedEncoder
from regard.fast.paths.recorded_loss import LOSSES, RecordedLoss
from regard.fast.recording.replayed_gradient import replayed
from regard.nn import RecurrentDecoder, RecurrentEncoder
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.network import Network
from regard.nn.path import Path, Replaces
from regard.parts import register

ENCODERS = Replaces(RecurrentEncoder, methods=("forward", "run_layers"))
DECODERS = Replaces(RecurrentDecoder, methods=(*LOSSES.known[RecurrentDecoder], "loss", "looked_at"))


WHOLE = Replaces(Network, methods=("encode", "reader", "memories", "truth"))
"""The methods of the network that the recording replaces."""


@register("path", "recorded-network")
class RecordedNetwork(Path):
    """The loss of a small batch of one recurrent encoder and one recurrent decoder on CUDA, captured as one graph."""

    serves = "network.loss"
    devices = ("cuda",)
    rank = 20

    def takes(self, network: Network, batch: Batch) -> bool:
        return WHOLE(network) and knows(network, batch)

    def why_not(self, network: Network, batch: Batch) -> str:
        if not WHOLE(network):
            return "A method of the network was overridden or replaced, or a hook watches it."
        if reason := lacks(network, batch):
            return reason
        (name,), (output,) = network.readers, network.decoders
        memories = _like(network, output, batch[name])
        return RecordedEncoder().why_not(network.reader(name), batch[name]) or RecordedLoss().why_not(
            cast(RecurrentDecoder, network.decoders[output]), memories, batch[output]
        )

    def run(self, network: Network, batch: Batch) -> dict[str, Loss]:
        return {output: loss(network, batch) for output in network.decoders}


def knows(network: Network, batch: Batch) -> bool:
    """Whether the recording computes the loss of this batch, on CUDA."""
    if lacks(network, batch):
        return False
    (name,), (output,) = network.readers, network.decoders
    encoder, decoder = network.reader(name), cast(RecurrentDecoder, network.decoders[output])
    return recorded_encoder.knows(encoder, batch[name]) and recorded_loss.knows(
        decoder, _like(network, output, batch[name]), batch[output], None
    )


def lacks(network: Network, batch: Batch) -> str:
    """Why the model is not one that reads one text and writes one text; empty if it is and uses nothing else of the
    batch."""
    if len(network.readers) != 1 or len(network.decoders) != 1:
        return "The model does not have one input and one output."
    if network.distillation is not None:
        return "The model also learns from the distributions of other models."
    (name,), (output,) = network.readers, network.decoders
    if ENCODERS.kind(network.reader(name)) is None:
        return "The encoder is not a recurrent one, or was changed."
    if DECODERS.kind(network.decoders[output]) is None:
        return "The decoder is not a recurrent one, or was changed."
    if network.trees or any(column in batch for column in network.truths[output].values()):
        return "The model reads a tree or a true attention from the batch."
    return "" if batch[name].verbatim is None else "The decoder copies."


def loss(network: Network, batch: Batch) -> Loss:
    """The loss of the decoder, for a network that `knows` accepts."""
    (name,), (output,) = network.readers, network.decoders

    def run(ids: Tensor, lengths: Tensor, words: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values, summary = recorded_encoder.whole(network.reader(name), ids, lengths)
        place = torch.arange(ids.shape[1], device=ids.device)
        # the first position of a padding row is unmasked
        mask = place < torch.where(counts < 0, 1, lengths)[:, None]
        memories = {one: Memory(values, mask, summary) for one in network.over[output]}
        return recorded_loss.whole(network.decoders[output], memories, Tokens(words, counts))  # type: ignore[arg-type]

    given = (*recorded_encoder.padded(batch[name]), *recorded_loss.padded(batch[output]))
    total, likelihood, words = replayed(network, run, *given)
    return Loss(total, words, {"likelihood": likelihood}, network.weights[output])


def _like(network: Network, output: str, tokens: Tokens) -> dict[str, Memory]:
    """Memories like those of the encoder, without values."""
    shape = tokens.ids.shape
    values = torch.empty(*shape, 1, device="meta")
    return {name: Memory(values, values[..., 0], values[:, 0]) for name in network.over[output]}
