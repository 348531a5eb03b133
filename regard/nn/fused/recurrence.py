"""A GRU over packed sequences on the processor: the loop holds only what must wait for the state.

Forward keeps the gates of every step in buffers made once. Backward runs the recurrence with the gradient of the
state alone; the weights' gradient is one matrix product over all N positions at the end.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.fused.gates import gates_backward, gates_forward
from regard.nn.packing import Packing


class PackedGRU(torch.autograd.Function):
    """projected (N, 3H), first (B, H), weight (3H, H), bias (3H) → outputs (N, H), last (B, H); rows longest first."""

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        first: Tensor,
        weight: Tensor,
        bias: Tensor,
        packing: Packing,
        reverse: bool,
    ) -> tuple[Tensor, Tensor]:
        size = first.shape[1]
        state = first.clone(memory_format=torch.contiguous_format)
        recurrent = projected.new_empty(len(first), 3 * size)
        outputs, previous = (
            projected.new_empty(len(projected), size),
            projected.new_empty(len(projected), size),
        )
        kept = projected.new_empty(len(projected), 4 * size)
        inputs, offset, hidden = projected.detach().numpy(), bias.detach().numpy(), state.numpy()
        turned = weight.t().contiguous()  # the layout in which a product with few rows is fastest
        for low, high in _in_order(packing, reverse):
            rows = high - low
            previous[low:high] = state[:rows]
            torch.mm(state[:rows], turned, out=recurrent[:rows])
            gates_forward(
                inputs[low:high],
                recurrent.numpy()[:rows],
                offset,
                hidden[:rows],
                kept.numpy()[low:high],
                outputs.numpy(),
                low,
            )
        ctx.save_for_backward(weight, previous, kept)
        ctx.packing, ctx.reverse = packing, reverse
        return outputs, state

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_outputs, d_last = gradients
        weight, previous, kept = ctx.saved_tensors
        size = previous.shape[1]
        d_state = d_last.clone(memory_format=torch.contiguous_format)
        d_inputs = previous.new_empty(len(previous), 3 * size)
        d_recurrent = torch.empty_like(d_inputs)
        for low, high in _in_order(ctx.packing, not ctx.reverse):
            alive = d_state[: high - low]
            alive += d_outputs[low:high]
            gates_backward(
                alive.numpy(),
                kept.numpy()[low:high],
                previous.numpy()[low:high],
                d_inputs.numpy()[low:high],
                d_recurrent.numpy()[low:high],
            )
            torch.addmm(alive, d_recurrent[low:high], weight, out=alive)
        return d_inputs, d_state, d_recurrent.t() @ previous, d_recurrent.sum(0), None, None


def _in_order(packing: Packing, reverse: bool) -> list[tuple[int, int]]:
    return packing.steps[::-1] if reverse else packing.steps
