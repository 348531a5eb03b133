"""Reading a small batch on CUDA, captured as one graph: embeddings, layers and summary.

On a small batch, the GPU finishes sooner than the host can launch kernels. Here the kernels are captured once
for each bucket of rows and positions (`regard.fast.recording.replayed_gradient`, or `replay` if no gradient is
needed). A graph has no lengths, so it reads all positions. Padding follows the real positions in both
directions, and its results are dropped.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.fast import recurrence_cuda
from regard.fast.paths.recorded import NOT_RECORDABLE
from regard.fast.recording.buckets import MIDDLE, SMALL, rounded_rows, rounded_steps
from regard.fast.recording.recordable import recordable, state_of
from regard.fast.recording.replay import outside_inference, recorder_of
from regard.fast.recording.replayed_gradient import replayed
from regard.fast.recurrence import NO_KERNEL
from regard.nn.embedding import EMBEDDINGS
from regard.nn.encoders.recurrent import RecurrentEncoder
from regard.nn.memory import Memory
from regard.nn.path import LAYERS, Path, Replaces
from regard.nn.recurrence import RecurrentLayer
from regard.parts import register

READ_BY = Replaces(RecurrentLayer, children=False)
RUN = Replaces(RecurrentEncoder, methods=("run_layers",))
"""The method that the recording replaces."""


@register("path", "recorded-encoder")
class RecordedEncoder(Path):
    """A small batch read by a recurrent encoder on CUDA, captured as one graph: embeddings, layers and summary."""

    serves = "encoder.read"
    devices = ("cuda",)
    rank = 20

    def takes(self, encoder: RecurrentEncoder, tokens: Tokens) -> bool:
        return knows(encoder, tokens) and RUN(encoder)

    def why_not(self, encoder: RecurrentEncoder, tokens: Tokens) -> str:
        if not isinstance(tokens, Tokens):
            return "The inputs are not tokens."
        if not RUN(encoder):
            return "A method of the encoder was overridden or replaced, or a hook watches it."
        if reason := lacks(encoder):
            return reason
        if not all(
            recurrence_cuda.has_kernels(cast(RecurrentLayer, layer).each()) for layer in encoder.layers
        ):
            return NO_KERNEL
        return "" if recordable(encoder) else NOT_RECORDABLE

    def run(self, encoder: RecurrentEncoder, tokens: Tokens) -> Memory:
        return read(encoder, tokens)


def knows(encoder: RecurrentEncoder, tokens: Tokens) -> bool:
    """Whether this is a small batch on CUDA, of ids alone, and the layers have kernels."""
    return (
        isinstance(tokens, Tokens)  # other encoders use the same layers for points or sentences
        and tokens.ids.is_cuda
        and 0 < tokens.ids.numel() <= most()
        and (torch.is_grad_enabled() or not encoder.training)
        and not lacks(encoder)
        and all(
            recurrence_cuda.knows(cast(RecurrentLayer, layer).each(), tokens.ids) for layer in encoder.layers
        )
        and recordable(encoder)
    )


def most() -> int:
    """Most positions of a batch to capture. With products of less than 32 bits, the GPU becomes the
    bottleneck only for larger batches."""
    short = torch.is_autocast_enabled("cuda") or torch.get_float32_matmul_precision() != "highest"
    return MIDDLE if short and torch.is_grad_enabled() else SMALL


def lacks(encoder: RecurrentEncoder) -> str:
    """Why an encoder cannot be recorded, regardless of the batch and the device; empty if it can."""
    if not (EMBEDDINGS(encoder.embedding) and READ_BY(*encoder.layers) and LAYERS(encoder.dropout)):
        return "The embedding, a layer or the dropout is of another kind, or was changed."
    if encoder.values != "states":
        return "The values of the memory are not the states."
    if encoder.hands_on:
        return "The decoder continues from all last states."
    if any(layer.backward for layer in encoder.layers):
        return "A layer reads from the end alone."
    return ""


def read(encoder: RecurrentEncoder, tokens: Tokens) -> Memory:
    """`RecurrentEncoder.forward` for a supported encoder."""
    rows, count = tokens.ids.shape
    ids, lengths = padded(tokens)
    function = partial(whole, encoder)
    if torch.is_grad_enabled():
        values, summary = replayed(encoder, function, ids, lengths)
    else:
        values, summary = _replayed(encoder, function, ids, lengths)
    return Memory(values[:rows, :count], tokens.mask, summary[:rows])


def padded(tokens: Tokens) -> tuple[Tensor, Tensor]:
    """Ids and lengths padded to a bucket; added rows are empty."""
    rows, count = tokens.ids.shape
    more, further = rounded_rows(rows) - rows, rounded_steps(count) - count
    ids = nn.functional.pad(tokens.ids, (0, further, 0, more)) if more or further else tokens.ids
    return ids, nn.functional.pad(tokens.lengths, (0, more)) if more else tokens.lengths


def whole(encoder: RecurrentEncoder, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """ids (rows, steps) and lengths (rows) of a bucket → states, zero for padding, and summaries."""
    rows, steps = ids.shape
    values, last, orders = encoder.embedding(ids.flatten()), None, None  # type: ignore[operator]
    for index, module in enumerate(encoder.layers):
        layer: Any = module
        sweep = recurrence_cuda.sweep_of(layer.each(), rows, steps)
        orders = orders or recurrence_cuda.every_position(sweep, lengths)
        inputs = values if index == 0 else encoder.dropout(values)
        values, last = recurrence_cuda.run_in(sweep, orders, layer.each(), layer.first, inputs)
        if encoder.residual and index > 0:
            values = values + inputs
    padding = torch.arange(steps, device=ids.device) >= lengths[:, None]
    found = values.view(rows, steps, -1).masked_fill(padding.unsqueeze(-1), 0.0)
    assert last is not None
    return found, last[:, : encoder.summary_size]


def _replayed(encoder: RecurrentEncoder, function: Any, ids: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
    recorder = recorder_of(encoder)
    key = ("read", state_of(encoder), *(weight.data_ptr() for weight in encoder.parameters()))
    with recorder.lock, outside_inference():
        found = recorder.replays(key, lambda given: function(*given), (ids, lengths))
        return tuple(tensor.clone() for tensor in found)
