"""A GRU over packed sequences on the CPU, in one direction or both: the loop holds only what must wait.

Rows do not see each other, so each core runs one direction of some rows from their first step to their last, and no
core waits for another. Forward keeps the gates of every step. Backward runs the recurrence with the gradient of the
state alone; each weight's gradient is one matrix product over all N positions at the end.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from regard.kernels.cpu.compilation import kernel
from regard.kernels.cpu.gates import advance, retreat
from regard.kernels.cpu.memory import room
from regard.kernels.cpu.parallel import shares, side_by_side
from regard.kernels.cpu.product import multiply, panels

Array = Any


class Packed(Protocol):
    """The real positions of B rows, all rows of the first step first, then all that are alive at the second, ….

    order    (B) the rows, longest first
    starts   where each step begins; one more than there are steps
    """

    @property
    def order(self) -> Tensor: ...

    @property
    def starts(self) -> list[int]: ...


@kernel
def _run_forward(
    part: int,
    parts: int,
    projected: Array,
    first: Array,
    weight: Array,
    bias: Array,
    starts: Array,
    outputs: Array,
    last: Array,
    previous: Array,
    kept: Array,
) -> None:
    """projected (N, G·3H), first (B, G·H), weight (G, P, H, W) in panels, bias (G, 3H) → outputs (N, G·H), last
    (B, G·H), and for the way back previous (G, N, H) and kept (G, N, 4H).

    Direction number 1 reads from the end. The parts are directions, and in each c of the rows: c, c + parts, …,
    so that all are equally long.
    """
    directions, _, size = previous.shape
    steps = len(starts) - 1
    g, c = part % directions, part // directions
    parts = parts // directions
    mine = first[c::parts, g * size : (g + 1) * size].copy()
    recurrent = np.empty((len(mine), 3 * size), projected.dtype)
    for t in range(steps) if g == 0 else range(steps - 1, -1, -1):
        low, high = starts[t] + c, starts[t + 1]
        alive = (high - low + parts - 1) // parts
        multiply(alive, (mine, 0, 1, 0), weight[g], (recurrent, 0, 1, 0), False)
        for i in range(alive):
            place = low + i * parts
            advance(
                projected[place, g * 3 * size : (g + 1) * 3 * size],
                recurrent[i],
                bias[g],
                mine[i],
                previous[g, place],
                kept[g, place],
                outputs[place, g * size : (g + 1) * size],
            )
    for i in range(len(mine)):
        last[c + i * parts, g * size : (g + 1) * size] = mine[i]


@kernel
def _run_backward(
    part: int,
    parts: int,
    d_outputs: Array,
    weight: Array,
    previous: Array,
    kept: Array,
    starts: Array,
    d_first: Array,
    d_inputs: Array,
    d_recurrent: Array,
) -> None:
    """d_outputs (N, G·H), weight (G, P, 3H, W) in panels → d_inputs (N, G·3H), d_recurrent (G, N, 3H).

    d_first (B, G·H) holds the gradient of the last states and leaves with that of the first.
    """
    directions, _, size = previous.shape
    steps = len(starts) - 1
    g, c = part % directions, part // directions
    parts = parts // directions
    mine = d_first[c::parts, g * size : (g + 1) * size].copy()
    for t in range(steps - 1, -1, -1) if g == 0 else range(steps):
        low, high = starts[t] + c, starts[t + 1]
        alive = (high - low + parts - 1) // parts
        for i in range(alive):
            place = low + i * parts
            retreat(
                mine[i],
                d_outputs[place, g * size : (g + 1) * size],
                kept[g, place],
                previous[g, place],
                d_inputs[place, g * 3 * size : (g + 1) * 3 * size],
                d_recurrent[g, place],
            )
        multiply(alive, (d_recurrent[g], low, parts, 0), weight[g], (mine, 0, 1, 0), True)
    for i in range(len(mine)):
        d_first[c + i * parts, g * size : (g + 1) * size] = mine[i]


class PackedGRU(torch.autograd.Function):
    """projected (N, G·3H), first (B, G·H), weight (G, 3H, H), bias (G, 3H) → outputs (N, G·H), last (B, G·H).

    G directions, one or two; rows longest first.
    """

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, first: Tensor, weight: Tensor, bias: Tensor, packing: Packed
    ) -> tuple[Tensor, Tensor]:
        directions, _, size = weight.shape
        count, rows, new = len(projected), len(first), partial(room, projected)
        outputs, last = new(count, directions * size), new(rows, directions * size)
        previous, kept = new(directions, count, size), new(directions, count, 4 * size)
        ctx.starts, ctx.parts = (
            np.array(packing.starts),
            directions * -(-shares(directions * rows) // directions),
        )
        side_by_side(
            _run_forward,
            ctx.parts,
            projected.detach().numpy(),
            first.detach().contiguous().numpy(),
            np.stack([panels(one) for one in weight]),
            bias.detach().numpy(),
            ctx.starts,
            outputs.numpy(),
            last.numpy(),
            previous.numpy(),
            kept.numpy(),
        )
        ctx.save_for_backward(weight, previous, kept)
        return outputs, last

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_outputs, d_last = gradients
        weight, previous, kept = ctx.saved_tensors
        directions, count, size = previous.shape
        d_first = d_last.clone(memory_format=torch.contiguous_format)
        d_inputs = room(previous, count, directions * 3 * size)
        d_recurrent = room(previous, directions, count, 3 * size)
        side_by_side(
            _run_backward,
            ctx.parts,
            d_outputs.contiguous().numpy(),
            np.stack([panels(one.t()) for one in weight]),
            previous.numpy(),
            kept.numpy(),
            ctx.starts,
            d_first.numpy(),
            d_inputs.numpy(),
            d_recurrent.numpy(),
        )
        d_weight = torch.stack([one.t() @ before for one, before in zip(d_recurrent, previous, strict=True)])
        return d_inputs, d_first, d_weight, d_recurrent.sum(1), None
