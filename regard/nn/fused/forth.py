"""The way forth of `attentive`: one step after another, keeping what the way back needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.nn.fused.gates import gates_forward
from regard.nn.fused.looks import looks_forward, prepared
from regard.nn.fused.mathematics import hyperbolic_in_place
from regard.nn.packing import Packing


@dataclass(frozen=True)
class Asked:
    """Which memory each packed row asks, and which positions (B, S) of the memories exist."""

    packing: Packing
    mask: Tensor

    @property
    def arrays(self) -> tuple[Any, Any]:
        return self.mask.numpy(), self.packing.order.numpy()


class Weights(NamedTuple):
    """U (3H, H) and its bias (3H), R (3H, D or O), the score's query weight (A, H) and vector (A), O (O, H + D)."""

    recurrent: Any
    bias: Any
    read: Any
    query: Any
    vector: Any
    output: Any


class Forth:
    """The state, and for all N packed positions: [h; c] side by side, the gates, the queries, the weights, h before
    the step, and the vectors o where they are fed back."""

    def __init__(
        self,
        asked: Asked,
        projected: Tensor,
        combined: Tensor | None,
        first: Tensor,
        keys: Tensor,
        values: Tensor,
        weights: Weights,
    ) -> None:
        rows, self.size = first.shape
        count, new = len(projected), projected.new_empty
        self.asked, self.projected, self.combined = asked, projected, combined
        self.state = first.clone(memory_format=torch.contiguous_format)
        self.both = new(count, self.size + values.shape[2])
        self.kept, self.previous = new(count, 4 * self.size), new(count, self.size)
        self.queries, self.weights = new(count, len(weights.vector)), new(count, values.shape[1])
        self.vectors = None if combined is None else new(count, combined.shape[1])
        self.fed = None if combined is None else projected.new_zeros(rows, combined.shape[1])
        self.inputs, self.recurrent = new(rows, 3 * self.size), new(rows, 3 * self.size)
        # the layout in which a product with few rows is fastest
        self.turned = Weights(*(None if weight is None else weight.t().contiguous() for weight in weights))
        self.prepared = prepared(keys)
        self.memory = (*self.prepared, values.detach().numpy(), weights.vector.detach().numpy())

    def step_previous(self, low: int, high: int) -> None:
        self._look(low, high)
        self._gates(low, high, self.both[low:high, self.size :])

    def step_current(self, low: int, high: int) -> None:
        assert self.fed is not None and self.vectors is not None and self.combined is not None
        alive, vectors = self.fed[: high - low], self.vectors[low:high]
        self._gates(low, high, alive)
        self._look(low, high)
        torch.addmm(self.combined[low:high], self.both[low:high], self.turned.output, out=vectors)
        hyperbolic_in_place(vectors.numpy())
        alive.copy_(vectors)

    def _gates(self, low: int, high: int, read: Tensor) -> None:
        rows = high - low
        alive, inputs, recurrent = self.state[:rows], self.inputs[:rows], self.recurrent[:rows]
        self.previous[low:high] = alive
        torch.mm(alive, self.turned.recurrent, out=recurrent)
        torch.addmm(self.projected[low:high], read, self.turned.read, out=inputs)
        gates_forward(
            inputs.numpy(),
            recurrent.numpy(),
            self.turned.bias.detach().numpy(),
            alive.numpy(),
            self.kept.numpy()[low:high],
            self.both.numpy(),
            low,
        )

    def _look(self, low: int, high: int) -> None:
        torch.mm(self.state[: high - low], self.turned.query, out=self.queries[low:high])
        looks_forward(
            self.queries.numpy()[low:high],
            *self.memory,
            *self.asked.arrays,
            self.both.numpy(),
            low,
            self.size,
            self.weights.numpy()[low:high],
        )
