"""A network of one hidden layer with its products by hand, for labs about training.

    a = W x + b,  h = tanh a,  y = v·h + c            x and y are numbers, h has H units; L = ½ mean (y − target)²

`forward` moves a change of the parameters to the outputs (J d), `backward` an output's gradient to them (Jᵀ g).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.trace import Array


@dataclass(frozen=True, eq=False)
class SmallNetwork:
    """The network at parameters θ = (W, b, v, c), all in one vector of 3 H + 1 numbers; x is (N,)."""

    parameters: Array
    x: Array

    @property
    def units(self) -> int:
        return (len(self.parameters) - 1) // 3

    def _parts(self, vector: Array) -> tuple[Array, Array, Array, float]:
        H = self.units
        return vector[:H], vector[H : 2 * H], vector[2 * H : 3 * H], float(vector[-1])

    @property
    def hidden(self) -> Array:
        """(N, H)."""
        W, b, _, _ = self._parts(self.parameters)
        return np.asarray(np.tanh(self.x[:, None] * W + b))

    @property
    def outputs(self) -> Array:
        """(N,)."""
        _, _, v, c = self._parts(self.parameters)
        return np.asarray(self.hidden @ v + c)

    def forward(self, change: Array) -> Array:
        """J d, (N,): how the outputs move with the parameters."""
        h, (_, _, v, _) = self.hidden, self._parts(self.parameters)
        dW, db, dv, dc = self._parts(change)
        return np.asarray(((1 - h**2) * (self.x[:, None] * dW + db)) @ v + h @ dv + dc)

    def backward(self, gradient: Array) -> Array:
        """Jᵀ g, (3 H + 1,): the gradient of the parameters from that of the outputs."""
        h, (_, _, v, _) = self.hidden, self._parts(self.parameters)
        da = gradient[:, None] * v * (1 - h**2)
        return np.concatenate([self.x @ da, da.sum(0), gradient @ h, [gradient.sum()]])


def first_parameters(units: int, generator: np.random.Generator) -> Array:
    """Random parameters with which the hidden units bend at different x."""
    return np.concatenate(
        [
            generator.standard_normal(units) * 2,
            generator.standard_normal(units),
            generator.standard_normal(units) / np.sqrt(units),
            [0.0],
        ]
    )


def half_squares(outputs: Array, targets: Array) -> float:
    """½ mean (y − target)²."""
    return 0.5 * float(np.mean((outputs - targets) ** 2))
