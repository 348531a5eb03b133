"""The way back of `attentive`: the gradient of the state step by step, those of the weights at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.nn.fused.forth import Weights
from regard.nn.fused.gates import gates_backward
from regard.nn.fused.looks import looks_backward, reading_backward


class Back:
    """The way back: the gradients of the state and of what was fed, and where each step's share is kept."""

    def __init__(self, ctx: Any, d_weights: Tensor) -> None:
        self.values, *weights = ctx.saved_tensors[:7]
        self.parameters = Weights(*weights)
        self.both, self.kept, self.queries, self.weights, self.previous, self.vectors = ctx.saved_tensors[7:]
        self.asked, self.prepared, self.d_weights = ctx.asked, ctx.prepared, d_weights
        count, self.size = self.previous.shape
        rows = len(self.asked.packing.order)
        new, zeros = self.previous.new_empty, self.previous.new_zeros
        self.d_state = zeros(rows, self.size)
        self.d_inputs, self.d_recurrent = new(count, 3 * self.size), new(count, 3 * self.size)
        self.d_queries = torch.empty_like(self.queries)
        self.d_keys, self.d_values = zeros(self.prepared[0].shape), torch.zeros_like(self.values)
        self.d_vector = zeros(len(self.values), len(self.parameters.vector))
        if self.vectors is not None:
            self.d_combined = torch.empty_like(self.vectors)
            self.d_fed = zeros(rows, self.vectors.shape[1])
        # Of [h; c]; of c alone when looking from the previous state.
        self.d_both = torch.empty_like(self.both)

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
            self.parameters.vector.detach().numpy(),
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
        torch.addmm(d_read, self.d_inputs[low:high], self.parameters.read, out=d_context)
        self._look(low, high)
        torch.addmm(alive, self.d_recurrent[low:high], self.parameters.recurrent, out=alive)
        torch.addmm(alive, self.d_queries[low:high], self.parameters.query, out=alive)

    def step_current(self, low: int, high: int, d_state: Tensor, d_read: Tensor) -> None:
        rows = high - low
        alive, d_fed, d_both = self.d_state[:rows], self.d_fed[:rows], self.d_both[low:high]
        read = self.vectors[low:high]
        d_fed += d_read
        torch.mul(d_fed, 1 - read * read, out=self.d_combined[low:high])
        torch.mm(self.d_combined[low:high], self.parameters.output, out=d_both)
        self._look(low, high)
        alive += d_state
        alive += d_both[:, : self.size]
        torch.addmm(alive, self.d_queries[low:high], self.parameters.query, out=alive)
        self._gates(low, high)
        torch.addmm(alive, self.d_recurrent[low:high], self.parameters.recurrent, out=alive)
        torch.mm(self.d_inputs[low:high], self.parameters.read, out=d_fed)

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
