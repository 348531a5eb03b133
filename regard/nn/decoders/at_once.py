"""A whole output at once, where the recurrence does not wait for what is read.

It is run by torch's kernels, which are cuDNN's on CUDA.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.nn.cells import Cell, GRUCell, RNNCell
from regard.nn.decoders.base import Truth
from regard.nn.decoders.unrolled import Unrolled
from regard.nn.memory import Memory
from regard.nn.packing import Packing

if TYPE_CHECKING:
    from regard.nn.decoders.recurrent import RecurrentDecoder


def knows(decoder: RecurrentDecoder) -> bool:
    """Nothing that is read enters the recurrence, and torch has the cell."""
    cell = decoder.stack.cell(0)
    plain = not isinstance(cell, RNNCell) or cell.activation in ("tanh", "relu")
    return plain and not decoder.feeds and not decoder.looks_before


def unroll(
    decoder: RecurrentDecoder,
    memories: Mapping[str, Memory],
    previous: Tensor,
    packing: Packing,
    *,
    truth: Truth = None,
) -> Unrolled:
    """As `RecurrentDecoder.unroll`, for a decoder that `knows` approves of."""
    state = decoder.start(memories, truth=truth)
    embedded = decoder.embedding(packing.pack(previous))  # (N, E)
    inputs = embedded
    if decoder.summary_size:
        shares = decoder.summary(memories).index_select(0, packing.rows())
        inputs = torch.cat([embedded, shares], -1)
    for index in range(len(decoder.stack.cells)):
        below = inputs if index == 0 else decoder.dropout(inputs)
        first = state.layers[index].squeeze(1).index_select(0, packing.order)
        inputs = run_cell(decoder.stack.cell(index), below, packing, first, training=decoder.training)
        if index > 0 and decoder.stack.residual:
            inputs = inputs + below
    if decoder.reading is None:
        return Unrolled(decoder.readout(inputs, None, embedded), {})
    context, looks = decoder.reading(
        packing.unpack(inputs), memories, state.constants
    )  # (B, T, C), (B, T, S)
    readouts = decoder.readout(inputs, packing.pack(context), embedded)
    return Unrolled(readouts, {name: packing.pack(weights) for name, weights in looks.items()})


def run_cell(cell: Cell, inputs: Tensor, packing: Packing, first: Tensor, *, training: bool) -> Tensor:
    """Packed inputs (N, I) and first states (B, state), longest row first → packed outputs (N, size)."""
    weights = list(cell.torch_weights())
    common = (weights, True, 1, 0.0, training, False)
    first = first.unsqueeze(0)
    with warnings.catch_warnings():
        # cuDNN copies the weights into one piece at each call; they are small beside the work.
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        if isinstance(cell, GRUCell):
            outputs, _ = torch.gru(inputs, packing.sizes, first.contiguous(), *common)
        elif isinstance(cell, RNNCell):
            run = torch.rnn_relu if cell.activation == "relu" else torch.rnn_tanh
            outputs, _ = run(inputs, packing.sizes, first.contiguous(), *common)
        else:
            states = [part.contiguous() for part in first.chunk(2, -1)]
            outputs, _, _ = torch.lstm(inputs, packing.sizes, states, *common)
    return outputs
