"""The error surface of one recurrent unit (Doya 1993; Pascanu, Mikolov and Bengio 2013).

    x_t = w σ(x_{t−1}) + b,   E(w, b) = (σ(x_T) − target)²

The gradient is computed forward with x: ∂x_t/∂w = σ(x_{t−1}) + w σ'(x_{t−1}) ∂x_{t−1}/∂w; b likewise.
"""

from __future__ import annotations

import numpy as np

from regard.trace import Array


def surface(
    w: Array, b: Array, *, steps: int = 50, start: float = 0.5, target: float = 0.7
) -> tuple[Array, Array, Array]:
    """E, ∂E/∂w and ∂E/∂b, in the broadcast shape of w and b."""
    shape = np.broadcast(w, b).shape
    x, dw, db = np.full(shape, start), np.zeros(shape), np.zeros(shape)
    for _ in range(steps):
        s = _sigmoid(x)
        slope = w * s * (1 - s)
        dw, db = s + slope * dw, 1 + slope * db
        x = w * s + b
    s = _sigmoid(x)
    outer = 2 * (s - target) * s * (1 - s)
    return (s - target) ** 2, outer * dw, outer * db


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))
