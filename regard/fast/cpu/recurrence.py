"""A recurrent layer over packed sequences on the CPU, in one direction or both.

Rows are independent, so each core runs one direction of some rows from the first step to the last, without
waiting for other cores. The loop contains only operations that depend on the state. The forward pass keeps
the gates of every step. The backward pass runs the recurrence of the state's gradient alone; each weight's
gradient is one matrix product over all N positions at the end.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from regard.fast.cpu.gates import advance, retreat
from regard.fast.cpu.layout import GRU, kept_gates, products, room, stacked_panels
from regard.fast.cpu.product import Target, Window, multiply
from regard.nn.packing import Packing
from regard.structures.kernels.availability import once
from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.parallel import shares, side_by_side
from regard.structures.kernels.cpu.rows import copy

Array = Any
_NONE = np.empty(0, np.int64)


class Packed(Protocol):
    """The unpadded positions of B rows: all rows at the first step, then those that have a second step, ….

    order    (B) the rows, longest first
    starts   where each step begins, and the total
    """

    @property
    def order(self) -> Tensor: ...

    @property
    def starts(self) -> list[int]: ...


class LayerInputs(NamedTuple):
    """The inputs of a layer, if its kernel multiplies them: rows (N, I), weight (D, P, I, W) in panels, bias (D, G)."""

    rows: Array
    weight: Array
    bias: Array


@kernel
def _run_forward(
    part: int,
    parts: int,
    kind: int,
    projected: Array,
    inputs: LayerInputs,
    words: Array,
    first: Array,
    weight: Array,
    bias: Array,
    starts: Array,
    places: Array,
    outputs: Array,
    last: Array,
    previous: Array,
    kept: Array,
) -> None:
    """projected (N, D·G), or (V, D·G) and the words (N) that choose its rows, or inputs from which they are computed;
    first (B, D·Z), weight (D, P, H, W) in panels, bias (D, G) → outputs (N, D·H), last (B, D·Z), and for the backward
    pass previous (D, N, H) and kept (D, N, …). If there will be none, they are scratch with one row for each part of a
    direction. With places (N), outputs are written into these rows instead.

    D directions, of which number 1 reads from the end; G inputs of a cell's gates; Z numbers of its state,
    [h; m] or h. A part takes one direction and the rows c, c + parts, …, so that all parts have similar
    lengths.
    """
    directions, _, size = previous.shape
    steps, gates, wide = len(starts) - 1, bias.shape[1], first.shape[1] // directions
    g, c = part % directions, part // directions
    parts = parts // directions
    mine = first[c::parts, g * wide : g * wide + size].copy()
    carry = first[c::parts, g * wide + size : (g + 1) * wide].copy()
    recurrent = np.empty((len(mine), gates), projected.dtype)
    column = g * gates
    if len(inputs.rows) > 0:
        projected, column = np.empty((len(inputs.rows), gates), projected.dtype), 0
        for i in range(len(inputs.rows)):
            copy(inputs.bias[g], projected[i])
        into = Target(projected, 0, 1, 0, True)
        multiply(len(inputs.rows), Window(inputs.rows, 0, 1, 0), inputs.weight[g], into)
    for t in range(steps) if g == 0 else range(steps - 1, -1, -1):
        low, high = starts[t] + c, starts[t + 1]
        alive = (high - low + parts - 1) // parts
        multiply(alive, Window(mine, 0, 1, 0), weight[g], Target(recurrent, 0, 1, 0, False))
        for i in range(alive):
            place = low + i * parts
            spot = place if previous.shape[1] == starts[steps] else c
            advance(
                kind,
                projected[words[place] if len(words) > 0 else place, column : column + gates],
                recurrent[i],
                bias[g],
                mine[i],
                carry[i],
                previous[g, spot],
                kept[g, spot],
                outputs[places[place] if len(places) > 0 else place, g * size : (g + 1) * size],
            )
    for i in range(len(mine)):
        copy(mine[i], last[c + i * parts, g * wide : g * wide + size])
        copy(carry[i], last[c + i * parts, g * wide + size : (g + 1) * wide])


@kernel
def _run_backward(
    part: int,
    parts: int,
    kind: int,
    d_outputs: Array,
    d_last: Array,
    weight: Array,
    previous: Array,
    kept: Array,
    starts: Array,
    d_first: Array,
    d_inputs: Array,
    d_recurrent: Array,
) -> None:
    """d_outputs (N, D·H), d_last (B, D·Z), weight (D, P, G, W) in panels → d_first (B, D·Z), d_inputs (N,
    D·G) and, for a gru, d_recurrent (D, N, G).
    """
    directions, _, size = previous.shape
    steps, gates, wide = len(starts) - 1, d_inputs.shape[1] // directions, d_first.shape[1] // directions
    g, c = part % directions, part // directions
    parts = parts // directions
    mine = d_last[c::parts, g * wide : g * wide + size].copy()
    carry = d_last[c::parts, g * wide + size : (g + 1) * wide].copy()
    for t in range(steps - 1, -1, -1) if g == 0 else range(steps):
        low, high = starts[t] + c, starts[t + 1]
        alive = (high - low + parts - 1) // parts
        for i in range(alive):
            place = low + i * parts
            retreat(
                kind,
                mine[i],
                carry[i],
                d_outputs[place, g * size : (g + 1) * size],
                kept[g, place],
                previous[g, place],
                d_inputs[place, g * gates : (g + 1) * gates],
                d_recurrent[g, place],
            )
        if kind == GRU:
            multiply(alive, Window(d_recurrent[g], low, parts, 0), weight[g], Target(mine, 0, 1, 0, True))
        else:
            multiply(alive, Window(d_inputs, low, parts, g * gates), weight[g], Target(mine, 0, 1, 0, True))
    for i in range(len(mine)):
        copy(mine[i], d_first[c + i * parts, g * wide : g * wide + size])
        copy(carry[i], d_first[c + i * parts, g * wide + size : (g + 1) * wide])


class ForwardRun(NamedTuple):
    """What a run forward has computed, see `_run_forward`."""

    outputs: Tensor
    last: Tensor
    previous: Tensor
    kept: Tensor
    starts: Array
    parts: int

    def result(self) -> tuple[Tensor, Tensor]:
        return self.outputs, self.last


def _parts(directions: int, rows: int) -> int:
    return directions * -(-shares(directions * rows) // directions)


def projects(directions: int, rows: int) -> bool:
    """Whether the kernel has one part for each direction, which may multiply the inputs too."""
    return _parts(directions, rows) == directions


@cache
def _nothing(dtype: torch.dtype) -> tuple[Array, Array, Array]:
    nothing: Array = torch.empty(0, 0, dtype=dtype).numpy()
    return nothing, nothing.reshape(0, 0, 0, 0), nothing


def run_forward(
    projected: Tensor | LayerInputs,
    first: Tensor,
    panels: Array,
    bias: Array,
    packing: Packed,
    kind: int,
    *,
    words: Tensor | None = None,
    padded: Packing | None = None,
    back: bool = True,
) -> ForwardRun:
    """See `PackedRecurrence`; panels (D, P, H, W) and bias (D, G) in the kernel's layout.

    projected  or the inputs, if there is one part for each direction, see `projects`
    words   (N) the row of `projected` at each position; default: the row of the same number
    padded  outputs are (B · width, D·H) with zeros as padding, as this packing says; default: packed
    back    whether a backward pass follows; if not, `previous` and `kept` have no use
    """
    directions, size, rows = len(panels), panels.shape[2], len(first)
    count, new = packing.starts[-1], partial(room, first)
    parts = _parts(directions, rows)
    inputs = projected if isinstance(projected, LayerInputs) else LayerInputs(*_nothing(first.dtype))
    if isinstance(projected, LayerInputs):
        projected = first.new_empty(0, 0)
    kept = count if back else parts // directions
    shape = (count, directions * size)
    run = ForwardRun(
        new(*shape) if padded is None else first.new_zeros(rows * padded.width, shape[1]),
        new(rows, first.shape[1]),
        new(directions, kept, size),
        new(directions, kept, kept_gates(kind) * size),
        np.array(packing.starts),
        parts,
    )
    side_by_side(
        _run_forward,
        parts,
        kind,
        projected.detach().contiguous().numpy(),
        inputs,
        _NONE if words is None else words.contiguous().numpy(),
        first.detach().contiguous().numpy(),
        panels,
        bias,
        run.starts,
        _NONE if padded is None else padded.places.numpy(),
        run.outputs.numpy(),
        run.last.numpy(),
        run.previous.numpy(),
        run.kept.numpy(),
    )
    return run


class PackedRecurrence(torch.autograd.Function):
    """projected (N, D·G), first (B, D·Z), weight (D, G, H), bias (D, G) → outputs (N, D·H), last states (B, D·Z).

    D directions, one or two; Z numbers in a state, [h; m] or h; rows longest first. `kind` is one of `gates`.
    """

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, first: Tensor, weight: Tensor, bias: Tensor, packing: Packed, kind: int
    ) -> tuple[Tensor, Tensor]:
        done = run_forward(projected, first, stacked_panels(weight), bias.detach().numpy(), packing, kind)
        ctx.kind, ctx.wide, ctx.starts, ctx.parts = kind, first.shape[1], done.starts, done.parts
        ctx.save_for_backward(weight, done.previous, done.kept)
        return done.result()

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_outputs, d_last = gradients
        weight, previous, kept = ctx.saved_tensors
        directions, count, _ = previous.shape
        gates, new = weight.shape[1], partial(room, previous)
        d_first, d_inputs = new(len(d_last), ctx.wide), new(count, directions * gates)
        d_recurrent = new(directions, count, gates if ctx.kind == GRU else 0)
        side_by_side(
            _run_backward,
            ctx.parts,
            ctx.kind,
            d_outputs.contiguous().numpy(),
            d_last.contiguous().numpy(),
            stacked_panels(weight.transpose(1, 2)),
            previous.numpy(),
            kept.numpy(),
            ctx.starts,
            d_first.numpy(),
            d_inputs.numpy(),
            d_recurrent.numpy(),
        )
        left = d_recurrent if ctx.kind == GRU else d_inputs.view(count, directions, gates).transpose(0, 1)
        return d_inputs, d_first, products(left, previous), left.sum(1), None, None
