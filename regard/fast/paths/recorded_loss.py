"""The loss of a small batch on CUDA, captured as one graph from the words to their loss.

All positions of a bucket of rows and steps are computed, and padding does not
enter the loss.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.fast import recurrence_cuda
from regard.fast.paths import graphed, recorded, recorded_encoder
from regard.fast.paths.fused import CHANGED
from regard.fast.paths.recorded import NOT_SIMPLE, every_position, simple, widened
from regard.fast.recording.buckets import MIDDLE, rounded_rows, rounded_steps
from regard.fast.recording.replay import tensors_of, with_tensors
from regard.fast.recording.replayed_gradient import replayed
from regard.nn.decoders import at_once
from regard.nn.decoders.decoder import Truth, truth_by_name
from regard.nn.decoders.output import Distilled
from regard.nn.decoders.recurrent import UNROLLED, RecurrentDecoder
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.packing import shifted
from regard.nn.path import Path, Replaces
from regard.parts import register

LOSSES = Replaces(
    RecurrentDecoder,
    methods=(
        *UNROLLED.known[RecurrentDecoder],
        "unroll",
        "forced_cost",
        "targets",
        "count",
        "sampled_share",
    ),
)
"""The methods that a recorded loss replaces."""


@register("path", "recorded-loss")
class RecordedLoss(Path):
    """The loss of a small batch of a recurrent decoder in training on CUDA, captured as one graph."""

    serves = "decoder.loss"
    devices = ("cuda",)
    rank = 20

    def takes(
        self,
        decoder: RecurrentDecoder,
        memories: Mapping[str, Memory],
        target: Tokens,
        *,
        truth: Truth = None,
        distilled: Distilled | None = None,
    ) -> bool:
        return (
            distilled is None
            and target.ids.is_cuda
            and LOSSES(decoder)
            and knows(decoder, memories, target, truth)
        )

    def why_not(
        self,
        decoder: RecurrentDecoder,
        memories: Mapping[str, Memory],
        target: Tokens,
        *,
        truth: Truth = None,
        distilled: Distilled | None = None,
    ) -> str:
        if distilled is not None:
            return "The decoder also learns from the distributions of other models."
        if not LOSSES(decoder):
            return CHANGED
        if reason := lacks(decoder, memories, truth):
            return reason
        if at_once.knows(decoder):
            return (
                ""
                if recurrence_cuda.has_kernels(decoder.stack.each())
                else "The cell has no kernel, or was changed."
            )
        return graphed.lacks(decoder, memories)

    def run(
        self,
        decoder: RecurrentDecoder,
        memories: Mapping[str, Memory],
        target: Tokens,
        *,
        truth: Truth = None,
        distilled: Distilled | None = None,
    ) -> Loss:
        return loss(decoder, memories, target)


def knows(decoder: RecurrentDecoder, memories: Mapping[str, Memory], target: Tokens, truth: Truth) -> bool:
    """Whether this is a small batch on CUDA whose loss depends on the words alone."""
    return (
        target.ids.is_cuda
        and torch.is_grad_enabled()
        and not lacks(decoder, memories, truth)
        and len(target.ids) * (target.ids.shape[1] + 1) <= most(decoder, memories)
    )


def most(decoder: RecurrentDecoder, memories: Mapping[str, Memory]) -> int:
    """Most positions of a batch that is captured as one graph."""
    cells = decoder.stack.each()
    if (
        at_once.knows(decoder)
        and recurrence_cuda.knows(cells, cells[0].weight_hh)
        and not recorded.lacks(decoder, memories)
    ):
        return MIDDLE
    return recorded_encoder.most() if graphed.knows(decoder, memories) else 0


def lacks(decoder: RecurrentDecoder, memories: Mapping[str, Memory], truth: Truth) -> str:
    """Why the loss cannot be recorded, regardless of the device and the size; empty if it can."""
    known = truth_by_name(truth, decoder.reading.names if decoder.reading else ())
    if decoder.copying is not None:
        return "The decoder copies."
    if decoder.sampling is not None:
        return "The previous words are sampled."
    if decoder.score_function is not None:
        return "The attention is sampled."
    if decoder.objective.reads_looks(known):
        return "The loss depends on the attention."
    return "" if simple(memories) else NOT_SIMPLE


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
