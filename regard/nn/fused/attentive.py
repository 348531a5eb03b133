"""A GRU decoder with additive attention over packed targets on the processor, teacher-forced.

looking from the previous state:    c = attend(h),  h' = gru(p + R c, h)                         reads: c
looking from the current state:     h' = gru(p + R o, h),  c = attend(h'),  o' = tanh(Q + O [h'; c])    reads: o'

with p (N, 3H) what the word contributes to the gates and Q (N, O) what it contributes to o. As in `recurrence`, the
loop holds only what must wait for the state, and each weight's gradient is one matrix product at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.nn.fused.gates import gates_backward, gates_forward
from regard.nn.fused.looks import looks_backward, looks_forward, prepared, reading_backward
from regard.nn.fused.mathematics import hyperbolic_in_place
from regard.nn.packing import Packing


@dataclass(frozen=True)
class Asked:
    """What is asked, in the order of the packed rows: memory `source[i]` for row i, positions where `mask` is True."""

    packing: Packing
    mask: Tensor

    @property
    def arrays(self) -> tuple[Any, Any]:
        return self.mask.numpy(), self.packing.order.numpy()


class PackedAttentive(torch.autograd.Function):
    """Returns states (N, H), reads (N, D or O) and weights (N, S).

    projected   (N, 3H)   combined (N, O) or None, which chooses where to look from
    first       (B, H)    in packed order
    keys        (B, S, A) and values (B, S, D), in their own order
    W           U (3H, H), bias (3H), R (3H, D or O), query (A, H), vector (A), O (O, H + D) or None
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
        weight: Tensor,
        bias: Tensor,
        read_weight: Tensor,
        query_weight: Tensor,
        vector: Tensor,
        output_weight: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows, size = first.shape
        count, width, features = len(projected), values.shape[2], len(vector)
        new = projected.new_empty
        # [h; c] of every step side by side, so that O [h; c] is one product.
        both, kept, queries = new(count, size + width), new(count, 4 * size), new(count, features)
        weights, previous = new(count, values.shape[1]), new(count, size)
        state = first.clone(memory_format=torch.contiguous_format)
        inputs, recurrent = new(rows, 3 * size), new(rows, 3 * size)
        recurrent_t, read_t, query_t = (
            weight.t().contiguous(),
            read_weight.t().contiguous(),
            query_weight.t().contiguous(),
        )
        fed = None if combined is None else projected.new_zeros(rows, combined.shape[1])
        vectors = None if combined is None else new(count, combined.shape[1])
        output_t = None if output_weight is None else output_weight.t().contiguous()
        ctx.prepared = prepared(keys)
        arrays = (*ctx.prepared, values.detach().numpy(), vector.detach().numpy())
        mask, source = asked.arrays
        offset = bias.detach().numpy()

        def look(low: int, high: int, hidden: Tensor) -> None:
            torch.mm(hidden, query_t, out=queries[low:high])
            looks_forward(
                queries.numpy()[low:high],
                *arrays,
                mask,
                source,
                both.numpy(),
                low,
                size,
                weights.numpy()[low:high],
            )

        for low, high in asked.packing.steps:
            alive = high - low
            previous[low:high] = state[:alive]
            torch.mm(state[:alive], recurrent_t, out=recurrent[:alive])
            if fed is None:
                look(low, high, state[:alive])
            read = both[low:high, size:] if fed is None else fed[:alive]
            torch.addmm(projected[low:high], read, read_t, out=inputs[:alive])
            gates_forward(
                inputs.numpy()[:alive],
                recurrent.numpy()[:alive],
                offset,
                state.numpy()[:alive],
                kept.numpy()[low:high],
                both.numpy(),
                low,
            )
            if fed is not None and vectors is not None and combined is not None and output_t is not None:
                look(low, high, state[:alive])
                torch.addmm(combined[low:high], both[low:high], output_t, out=vectors[low:high])
                hyperbolic_in_place(vectors.numpy()[low:high])
                fed[:alive] = vectors[low:high]
        ctx.save_for_backward(
            keys,
            values,
            weight,
            read_weight,
            query_weight,
            vector,
            output_weight,
            both,
            kept,
            queries,
            weights,
            previous,
            vectors,
        )
        ctx.asked = asked
        reads = both[:, size:].contiguous() if vectors is None else vectors
        return both[:, :size].contiguous(), reads, weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_reads, d_weights = gradients
        way = _Back(ctx, d_weights.contiguous())
        for low, high in reversed(ctx.asked.packing.steps):
            if way.vectors is None:
                way.step_previous(low, high, d_states[low:high], d_reads[low:high])
            else:
                way.step_current(low, high, d_states[low:high], d_reads[low:high])
        return way.gradients()


class _Back:
    """The way back: the gradients of the state and of what was fed, and where each step's share is kept."""

    def __init__(self, ctx: Any, d_weights: Tensor) -> None:
        (
            self.keys,
            self.values,
            self.weight,
            self.read_weight,
            self.query_weight,
            self.vector,
            self.output_weight,
        ) = ctx.saved_tensors[:7]
        self.both, self.kept, self.queries, self.weights, self.previous, self.vectors = ctx.saved_tensors[7:]
        self.asked, self.prepared, self.d_weights = ctx.asked, ctx.prepared, d_weights
        count, self.size = self.previous.shape
        rows = len(self.asked.packing.order)
        new, zeros = self.previous.new_empty, self.previous.new_zeros
        self.d_state = zeros(rows, self.size)
        self.d_inputs, self.d_recurrent = new(count, 3 * self.size), new(count, 3 * self.size)
        self.d_queries = torch.empty_like(self.queries)
        self.d_keys, self.d_values = torch.zeros_like(self.keys), torch.zeros_like(self.values)
        self.d_vector = zeros(len(self.keys), len(self.vector))
        if self.vectors is not None:
            self.d_combined = torch.empty_like(self.vectors)
            self.d_fed = zeros(rows, self.vectors.shape[1])
        self.d_both = torch.empty_like(
            self.both
        )  # of [h; c]; of c alone when looking from the previous state

    def _look(self, low: int, high: int) -> None:
        mask, source = self.asked.arrays
        looks_backward(
            self.d_both.numpy()[low:high],
            self.size,
            self.d_weights.numpy()[low:high],
            self.weights.numpy()[low:high],
            self.queries.numpy()[low:high],
            *self.prepared,
            self.values.detach().numpy(),
            self.vector.detach().numpy(),
            mask,
            source,
            self.d_queries.numpy()[low:high],
            self.d_keys.numpy(),
            self.d_vector.numpy(),
        )

    def _gates(self, low: int, high: int) -> None:
        gates_backward(
            self.d_state.numpy()[: high - low],
            self.kept.numpy()[low:high],
            self.previous.numpy()[low:high],
            self.d_inputs.numpy()[low:high],
            self.d_recurrent.numpy()[low:high],
        )

    def step_previous(self, low: int, high: int, d_state: Tensor, d_read: Tensor) -> None:
        alive = self.d_state[: high - low]
        alive += d_state
        self._gates(low, high)
        d_context = self.d_both[low:high, self.size :]
        torch.addmm(d_read, self.d_inputs[low:high], self.read_weight, out=d_context)
        self._look(low, high)
        torch.addmm(alive, self.d_recurrent[low:high], self.weight, out=alive)
        torch.addmm(alive, self.d_queries[low:high], self.query_weight, out=alive)

    def step_current(self, low: int, high: int, d_state: Tensor, d_read: Tensor) -> None:
        rows = high - low
        alive, d_fed, d_both = self.d_state[:rows], self.d_fed[:rows], self.d_both[low:high]
        read = self.vectors[low:high]
        d_fed += d_read
        torch.mul(d_fed, 1 - read * read, out=self.d_combined[low:high])
        torch.mm(self.d_combined[low:high], self.output_weight, out=d_both)
        self._look(low, high)
        alive += d_state
        alive += d_both[:, : self.size]
        torch.addmm(alive, self.d_queries[low:high], self.query_weight, out=alive)
        self._gates(low, high)
        torch.addmm(alive, self.d_recurrent[low:high], self.weight, out=alive)
        torch.mm(self.d_inputs[low:high], self.read_weight, out=d_fed)

    def gradients(self) -> tuple[Tensor | None, ...]:
        """In the order of `forward`'s arguments."""
        states, contexts = self.both[:, : self.size], self.both[:, self.size :]
        steps = np.array(self.asked.packing.starts)
        reading_backward(
            self.weights.numpy(),
            self.d_both.numpy(),
            self.size,
            steps,
            self.asked.arrays[1],
            self.d_values.numpy(),
        )
        if self.vectors is None:
            read, asked_from, d_combined, d_output = contexts, self.previous, None, None
        else:
            read, asked_from = self._fed(), states
            d_combined, d_output = self.d_combined, self.d_combined.t() @ self.both
        return (
            None,
            self.d_inputs,
            d_combined,
            self.d_state,
            self.d_keys,
            self.d_values,
            self.d_recurrent.t() @ self.previous,
            self.d_recurrent.sum(0),
            self.d_inputs.t() @ read,
            self.d_queries.t() @ asked_from,
            self.d_vector.sum(0),
            d_output,
        )

    def _fed(self) -> Tensor:
        """(N, O) what was fed into each step: the vector of the row's step before, zero at the first."""
        packing = self.asked.packing
        fed = torch.zeros_like(self.vectors)
        fed[packing.starts[1] :] = self.vectors.index_select(0, packing.before())
        return fed
