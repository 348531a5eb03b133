"""The loss of a small batch on CUDA, captured as one graph from the words to their loss.

As in `encoders.recorded`, all positions of a bucket of rows and steps are computed, and padding does not
enter the loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.fast.recording.buckets import MIDDLE, SMALL, rounded_rows, rounded_steps
from regard.fast.recording.replay import tensors_of, with_tensors
from regard.fast.recording.replayed_gradient import replayed
from regard.nn.decoders import at_once, graphed
from regard.nn.decoders.decoder import Truth, truth_by_name
from regard.nn.decoders.recorded import every_position, simple, widened
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.targets import shifted

if TYPE_CHECKING:
    from regard.nn.decoders.recurrent import RecurrentDecoder


def knows(decoder: RecurrentDecoder, memories: Mapping[str, Memory], target: Tokens, truth: Truth) -> bool:
    """Whether this is a small batch on CUDA whose loss depends on the words alone."""
    return (
        target.ids.is_cuda
        and torch.is_grad_enabled()
        and suits(decoder, memories, truth)
        and len(target.ids) * (target.ids.shape[1] + 1) <= most(decoder, memories)
    )


def most(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> int:
    """Most positions of a batch that is captured as one graph."""
    if at_once.records(decoder, memories):
        return MIDDLE
    return SMALL if graphed.knows(decoder, memories) else 0


def suits(decoder: RecurrentDecoder, memories: Mapping[str, Memory], truth: Truth) -> bool:
    """`knows`, regardless of the device and the size."""
    known = truth_by_name(truth, decoder.reading.names if decoder.reading else ())
    return (
        decoder.copying is None
        and decoder.sampling is None
        and decoder.score_function is None
        and not decoder.objective.reads_looks(known)
        and simple(memories)
    )


def loss(decoder: RecurrentDecoder, memories: Mapping[str, Memory], target: Tokens) -> Loss:
    """`RecurrentDecoder.loss` for a supported decoder."""
    (ids, lengths), more = padded(target), rounded_rows(len(target.ids)) - len(target.ids)
    wide = {name: widened(memory, more) for name, memory in memories.items()}

    def run(ids: Tensor, lengths: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        return whole(decoder, with_tensors(wide, iter(tensors)), Tokens(ids, lengths))

    layouts = tuple((name, memory.layout, memory.shape) for name, memory in memories.items())
    total, likelihood, words = replayed(decoder, run, ids, lengths, *tensors_of(wide), key=layouts)
    return Loss(total, words, {"likelihood": likelihood})


def padded(target: Tokens) -> tuple[Tensor, Tensor]:
    """Ids and lengths padded to a bucket; added rows have length −1."""
    rows, count = target.ids.shape
    more, further = rounded_rows(rows) - rows, rounded_steps(count + 1) - count - 1
    ids = nn.functional.pad(target.ids, (0, further, 0, more)) if more or further else target.ids
    return ids, nn.functional.pad(target.lengths, (0, more), value=-1) if more else target.lengths


def whole(
    decoder: RecurrentDecoder, memories: Mapping[str, Memory], target: Tokens
) -> tuple[Tensor, Tensor, Tensor]:
    """For a bucket: the sum to minimize, the sum of −log p, the number of words;
    rows of length −1 have none."""
    previous, following, counts = shifted(Tokens(target.ids, target.lengths.clamp(min=0)))
    counts = counts.masked_fill(target.lengths < 0, 0)
    rows, steps = previous.shape
    packing = every_position(rows, steps, previous.device)
    if at_once.knows(decoder):
        unrolled = at_once.unroll(decoder, memories, previous, packing)
    else:
        unrolled = graphed.unroll(decoder, memories, previous, packing, looks=False)
    beyond = torch.arange(steps, device=previous.device) >= counts[:, None]
    words = packing.pack(following.masked_fill(beyond, -1))
    readouts = decoder.dropout(unrolled.readouts)
    total, likelihood = decoder.output.loss_of_some(readouts, words, smoothing=decoder.objective.smoothing)
    return total, likelihood, counts.sum()
