"""A GRU decoder with additive attention over packed targets on the processor, teacher-forced.

looking from the previous state:   c = attend(h),  h' = gru(p + R c, h)                               reads: c
looking from the current state:    h' = gru(p + R o, h),  c = attend(h'),  o' = tanh(Q + O [h'; c])   reads: o'

with p (N, 3H) what the word contributes to the gates and Q (N, O) what it contributes to o. As in `recurrence`, the
loop holds only what must wait for the state, and each weight's gradient is one matrix product at the end.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.fused.back import Back
from regard.nn.fused.forth import Asked, Forth, Weights


class PackedAttentive(torch.autograd.Function):
    """Returns states (N, H), reads (N, D or O) and weights (N, S).

    projected   (N, 3H)   combined (N, O) or None, which chooses where to look from
    first       (B, H)    rows longest first
    keys        (B, S, A) and values (B, S, D), rows in their own order
    weights     as in `Weights`, one after another: tensors inside an object would get no gradient
    """

    @staticmethod
    def forward(
        ctx: Any,
        asked: Asked,
        projected: Tensor,
        combined: Tensor | None,
        first: Tensor,
        keys: Tensor,
        values: Tensor,
        *weights: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        way = Forth(asked, projected, combined, first, keys, values, Weights(*weights))
        for low, high in asked.packing.steps:
            if combined is None:
                way.step_previous(low, high)
            else:
                way.step_current(low, high)
        ctx.asked, ctx.prepared = asked, way.prepared
        ctx.save_for_backward(
            values, *weights, way.both, way.kept, way.queries, way.weights, way.previous, way.vectors
        )
        size = first.shape[1]
        reads = way.both[:, size:].contiguous() if way.vectors is None else way.vectors
        return way.both[:, :size].contiguous(), reads, way.weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_reads, d_weights = gradients
        way = Back(ctx, d_weights.contiguous())
        for low, high in reversed(ctx.asked.packing.steps):
            if way.vectors is None:
                way.step_previous(low, high, d_states[low:high], d_reads[low:high])
            else:
                way.step_current(low, high, d_states[low:high], d_reads[low:high])
        return way.gradients()
