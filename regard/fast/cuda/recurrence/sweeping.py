"""A recurrent layer over packed sequences as one autograd function, for all directions at once.

As in `attend`, the backward pass starts from the values that the forward pass leaves in the workspace. If another
computation has used the workspace in the meantime, the forward pass runs again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.fast.cuda.recurrence.graphs import PlanGraphs, free_place, recorded, unnarrowed
from regard.fast.cuda.recurrence.rows import put, take
from regard.fast.cuda.recurrence.sweeps import Sweep, SweepWorkspace, back, forth, shapes
from regard.fast.cuda.recurrence.workspace import Hold, fill
from regard.fast.recording.buffers import buffers, shared, using_buffers
from regard.private import apply
from regard.structures.kernels.availability import once
from regard.structures.kernels.cuda.launching import on_device_of


@dataclass(frozen=True)
class Orders:
    """Indices of the N packed positions for each direction, and of the ends of the rows.

    All int64, with the number of rows of the sweep and the time t of the direction:

    words    (N·D) for each position and direction d, the row d·T·rows + t·rows + b of all words
    states   (N·D) the same for the states, which have the first states as an additional time of each
             direction
    last     (b) length·rows + b: the state after a row's last step
    index    (N) t·rows + b, for each direction
    """

    words: Tensor
    states: Tensor
    last: Tensor
    index: tuple[Tensor, ...]


def sweep_over(
    sweep: Sweep, orders: Orders, inputs: Tensor, first: Tensor, weights: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """inputs (N, I), first (D, state) or (D, b, state), weights (W, U, b, c) of each direction → outputs (N, D·H), last
    (b, D·H)."""
    outputs, last = apply(_Sweeping, sweep, orders, inputs, first, *weights)
    return outputs, last


class _Sweeping(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, sweep: Sweep, orders: Orders, inputs: Tensor, first: Tensor, *weights: Tensor
    ) -> Any:
        with on_device_of(inputs), unnarrowed(inputs):
            place = free_place(sweep, inputs.device)
            entry = recorded(sweep, shapes, SweepWorkspace, inputs.device, place)
            _forward(entry, orders, inputs, first, weights)
            states = entry.workspace.read("states")
            outputs = states.new_empty(len(inputs), sweep.directions * sweep.size)
            take(states.flatten(0, 2), orders.states, outputs.view(-1, sweep.size))
            last = entry.workspace["states"].flatten(1, 2)[:, orders.last]
            last = last.transpose(0, 1).flatten(1)
        ctx.sweep, ctx.orders, ctx.hold, ctx.buffers, ctx.place = sweep, orders, Hold(), buffers(), place
        entry.workspace.buffer.holder = ctx.hold
        ctx.save_for_backward(inputs, first, *weights)
        ctx.set_materialize_grads(False)
        return outputs, last

    @staticmethod
    @once
    def backward(ctx: Any, d_outputs: Tensor | None, d_last: Tensor | None) -> Any:
        sweep, orders = ctx.sweep, ctx.orders
        inputs, first, *weights = ctx.saved_tensors
        with on_device_of(inputs), unnarrowed(inputs), using_buffers(ctx.buffers):
            entry = recorded(sweep, shapes, SweepWorkspace, inputs.device, ctx.place)
            workspace = entry.workspace
            if workspace.buffer.holder is not ctx.hold:
                _forward(entry, orders, inputs, first, tuple(weights))
            workspace.buffer.holder = None
            _enter(workspace, orders, d_outputs, d_last)
            entry.run("back", lambda: back(workspace))
            d_inputs = torch.empty_like(inputs)
            take(workspace["words"].flatten(0, 2), orders.words, d_inputs)
            d_first = workspace["d_states"][:, 0]
            if sweep.cell == "lstm":
                d_first = torch.cat([d_first, workspace["d_carries"][:, 0]], -1)
            # a copy, because the next use of the workspace overwrites it
            d_first = d_first[:, : first.shape[1]].clone() if first.ndim == 3 else d_first.sum(1)
            return None, None, d_inputs, d_first, *workspace.gradients(copied=shared())


def _forward(
    entry: PlanGraphs[SweepWorkspace],
    orders: Orders,
    inputs: Tensor,
    first: Tensor,
    weights: tuple[Tensor, ...],
) -> None:
    workspace = entry.workspace
    sweep, H = workspace.sweep, workspace.sweep.size
    workspace.arrange(weights)
    words = workspace["words"].flatten(1, 2)
    if len(inputs) < words.shape[1]:
        words.zero_()
    for d, index in enumerate(orders.index):
        put(words[d], index, inputs)
    each = first if first.ndim == 3 else first[:, None].expand(-1, sweep.rows, -1)
    fill(workspace["states"][:, 0], each[..., :H])
    if sweep.narrow:
        fill(workspace["slim_states"][:, 0], each[..., :H])
    if sweep.cell == "lstm":
        fill(workspace["carries"][:, 0], each[..., H:])
    entry.run("forth", lambda: forth(workspace))


def _enter(
    workspace: SweepWorkspace, orders: Orders, d_outputs: Tensor | None, d_last: Tensor | None
) -> None:
    """Copy in the gradients from outside, with zeros elsewhere."""
    sweep, d_states = workspace.sweep, workspace["d_states"]
    if d_outputs is not None and len(d_outputs) == sweep.steps * sweep.rows:
        d_states[:, 0].zero_()
    else:
        d_states.zero_()
    if d_outputs is not None:
        put(d_states.flatten(0, 2), orders.states, d_outputs.reshape(-1, sweep.size))
    if d_last is not None:
        by_direction = d_last.unflatten(1, (-1, sweep.size)).transpose(0, 1)
        d_states.flatten(1, 2).index_add_(1, orders.last, by_direction)
