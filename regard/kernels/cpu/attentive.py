"""A GRU decoder with attention over packed targets on the CPU, teacher-forced.

looking from the previous state:   c = attend(h),  h' = gru(p + R c, h)                               reads: c
looking from the current state:    h' = gru(p + R o, h),  c = attend(h'),  o' = tanh(Q + O [h'; c])   reads: o'

with p (N, 3H) what the word contributes to the gates and Q (N, O) what it contributes to o. As in `recurrence`, the
loop holds only what must wait for the state, each core runs some rows from end to end, and each weight's gradient is
one matrix product at the end.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.kernels.cpu.back import Gradients, backward
from regard.kernels.cpu.choices import SEGMENTS, Choice
from regard.kernels.cpu.energies import memories
from regard.kernels.cpu.forth import Kept, Panels, forward
from regard.kernels.cpu.looks import Alone, reading_backward
from regard.kernels.cpu.memory import room
from regard.kernels.cpu.parallel import shares, side_by_side
from regard.kernels.cpu.product import panels
from regard.kernels.cpu.recurrence import Packed


class PackedAttentive(torch.autograd.Function):
    """Returns states (N, H), or None when looking from the current one; reads (N, D or O); and weights (N, S).

    projected   (N, 3H)   combined (N, O) or None, which chooses where to look from
    first       (B, H)    rows longest first
    keys        (B, S, A), values (B, S, D) and mask (B, S), rows in their own order
    choice      how energies become weights, its transitions still to be filled in
    alone       which queries read one position alone
    weights     U (3H, H) and its bias (3H), R (3H, D or O), the additive score's query weight (A, H) and vector (A) or
                None twice for the general one, O (O, H + D) or None, the transitions (2, 2) of segments or None
    """

    @staticmethod
    def forward(
        ctx: Any,
        packing: Packed,
        mask: Tensor,
        choice: Choice,
        alone: Alone,
        projected: Tensor,
        combined: Tensor | None,
        first: Tensor,
        keys: Tensor,
        values: Tensor,
        *weights: Tensor | None,
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        recurrent, bias, read, query, vector, output, transitions = weights
        assert recurrent is not None and bias is not None
        vector = projected.new_empty(0) if vector is None else vector
        between = projected.new_zeros(1, 4) if transitions is None else transitions.detach().reshape(1, 4)
        count, size, new = len(projected), first.shape[1], partial(room, projected)
        current = combined is not None
        combined = new(count, 0) if combined is None else combined
        width = combined.shape[1]
        fed = projected.new_zeros(count, width)
        buffers = (
            new(count, size + values.shape[2]),
            new(count, size),
            new(count, 4 * size),
            new(count, keys.shape[2]),
            new(count, values.shape[1]),
            new(count, width),
            fed,
            new(count, 4 * max(values.shape[1] - 1, 0) if choice.kind == SEGMENTS else 0),
        )
        # Some of them are returned: kept as they are, they would keep their own graph alive.
        kept = Kept(*(buffer.detach().numpy() for buffer in buffers))
        ctx.current, ctx.kept, ctx.alone, ctx.starts = current, kept, alone, np.array(packing.starts)
        ctx.parts, ctx.source = shares(len(first)), packing.order.numpy()
        ctx.segments = choice.kind == SEGMENTS
        ctx.memories = memories(keys, values, mask, vector, choice._replace(between=between.numpy()))
        side_by_side(
            forward,
            ctx.parts,
            current,
            projected.detach().contiguous().numpy(),
            combined.detach().contiguous().numpy(),
            first.detach().contiguous().numpy(),
            ctx.memories,
            ctx.source,
            alone,
            _panels(recurrent, read, query, output),
            bias.detach().numpy(),
            ctx.starts,
            kept,
        )
        ctx.save_for_backward(recurrent, read, query, output)
        both, _, _, _, looks, vectors, *_ = buffers
        if current:
            return None, vectors, looks
        return both[:, :size].contiguous(), both[:, size:].contiguous(), looks

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_reads, d_weights = gradients
        kept, new, zeros = ctx.kept, partial(room, d_reads), d_reads.new_zeros
        gates = len(ctx.saved_tensors[0])
        buffers = (
            new(len(ctx.source), kept.previous.shape[1]),
            new(len(d_reads), gates),
            new(len(d_reads), gates),
            new(*kept.queries.shape),
            new(*kept.vectors.shape),
            new(*kept.both.shape),
            zeros(ctx.memories.keys.shape),
            zeros(len(ctx.source), kept.queries.shape[1]),
            zeros(len(ctx.source), 4),
        )
        found = Gradients(*(buffer.numpy() for buffer in buffers))
        side_by_side(
            backward,
            ctx.parts,
            ctx.current,
            (new(0, kept.previous.shape[1]) if ctx.current else d_states.contiguous()).numpy(),
            d_reads.contiguous().numpy(),
            d_weights.contiguous().numpy(),
            ctx.memories,
            ctx.source,
            ctx.alone,
            _panels(*(None if weight is None else weight.t() for weight in ctx.saved_tensors)),
            ctx.starts,
            kept,
            found,
        )
        return _gathered(ctx, *buffers)


def _panels(*weights: Tensor | None) -> Panels:
    """One that is missing has no panels."""
    like = next(weight for weight in weights if weight is not None)
    nothing = like.new_empty(0, 1)
    return Panels(*(panels(nothing if weight is None else weight) for weight in weights))


def _gathered(
    ctx: Any,
    d_first: Tensor,
    d_inputs: Tensor,
    d_recurrent: Tensor,
    d_queries: Tensor,
    d_combined: Tensor,
    d_both: Tensor,
    d_keys: Tensor,
    d_vector: Tensor,
    d_between: Tensor,
) -> tuple[Tensor | None, ...]:
    """In the order of `forward`'s arguments: each weight's gradient from what the steps have left."""
    both, previous, _, _, _, _, fed, _ = (torch.from_numpy(array) for array in ctx.kept)
    size = previous.shape[1]
    d_values = d_both.new_zeros(ctx.memories.values.shape)
    side_by_side(
        reading_backward,
        ctx.parts,
        ctx.kept.weights,
        ctx.alone.chosen,
        d_both.numpy(),
        size,
        ctx.starts,
        ctx.source,
        d_values.numpy(),
    )
    asked_from = both[:, :size] if ctx.current else previous
    additive = len(ctx.memories.vector) > 0
    return (
        None,
        None,
        None,
        None,
        d_inputs,
        d_combined if ctx.current else None,
        d_first,
        d_keys,
        d_values,
        d_recurrent.t() @ previous,
        d_recurrent.sum(0),
        d_inputs.t() @ (fed if ctx.current else both[:, size:]),
        d_queries.t() @ asked_from if additive else None,
        d_vector.sum(0) if additive else None,
        d_combined.t() @ both if ctx.current else None,
        d_between.sum(0).view(2, 2) if ctx.segments else None,
    )
