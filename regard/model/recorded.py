"""The loss of a small batch on CUDA in one recording, from the input words to the cost of the output.

A recurrent encoder and a recurrent decoder can each be recorded (`nn.encoders.recorded`,
`nn.decoders.recorded_loss`). Here a model with one of each is recorded as a whole: nothing is copied between
them, and the host has half as much work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from regard.data.batch import Batch, Tokens
from regard.fast.paths import recorded_loss
from regard.fast.paths.recorded_loss import LOSSES
from regard.fast.recording.replayed_gradient import replayed
from regard.nn import RecurrentDecoder, RecurrentEncoder
from regard.nn.encoders import recorded
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.replacing import Replaces

if TYPE_CHECKING:
    from regard.model.network import Network

ENCODERS = Replaces(RecurrentEncoder, methods=("forward", "run_layers"))
DECODERS = Replaces(RecurrentDecoder, methods=(*LOSSES.known[RecurrentDecoder], "loss", "looked_at"))


def knows(network: Network, batch: Batch) -> bool:
    """Whether the model reads one text and writes one text, and uses nothing else of the batch."""
    if len(network.readers) != 1 or len(network.decoders) != 1 or network.distillation is not None:
        return False
    (name,), (output,) = network.readers, network.decoders
    encoder, decoder = network.reader(name), cast(RecurrentDecoder, network.decoders[output])
    return (
        ENCODERS.kind(encoder) is not None
        and DECODERS.kind(decoder) is not None
        and not network.trees
        and not any(column in batch for column in network.truths[output].values())
        and batch[name].verbatim is None
        and recorded.knows(encoder, batch[name])
        and recorded_loss.knows(decoder, _like(network, output, batch[name]), batch[output], None)
    )


def loss(network: Network, batch: Batch) -> Loss:
    """The loss of the decoder, for a network that `knows` accepts."""
    (name,), (output,) = network.readers, network.decoders

    def run(ids: Tensor, lengths: Tensor, words: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values, summary = recorded.whole(network.reader(name), ids, lengths)
        place = torch.arange(ids.shape[1], device=ids.device)
        # the first position of a padding row is unmasked
        mask = place < torch.where(counts < 0, 1, lengths)[:, None]
        memories = {one: Memory(values, mask, summary) for one in network.over[output]}
        return recorded_loss.whole(network.decoders[output], memories, Tokens(words, counts))  # type: ignore[arg-type]

    given = (*recorded.padded(batch[name]), *recorded_loss.padded(batch[output]))
    total, likelihood, words = replayed(network, run, *given)
    return Loss(total, words, {"likelihood": likelihood}, network.weights[output])


def _like(network: Network, output: str, tokens: Tokens) -> dict[str, Memory]:
    """Memories like those of the encoder, without values."""
    shape = tokens.ids.shape
    values = torch.empty(*shape, 1, device="meta")
    return {name: Memory(values, values[..., 0], values[:, 0]) for name in network.over[output]}
