"""The gates of a GRU, one step of many rows: forward and backward in one pass over memory each.

    r = σ(p_r + g_r),  z = σ(p_z + g_z),  n = tanh(p_n + r ⊙ g_n),  h' = (1 − z) ⊙ n + z ⊙ h

with p = W x + b from the input and g = U h + c from the state; `kept` holds [r, z, n, g_n] for the way back.
"""

from __future__ import annotations

from typing import Any

from numba import prange

from regard.nn.fused.mathematics import hyperbolic, logistic
from regard.structures.kernels.cpu.compilation import compiled

Array = Any


def _forward(inputs: Array, recurrent: Array, bias: Array, state: Array, kept: Array, output: Array) -> None:
    """inputs, recurrent (b, 3H), recurrent without its bias (3H); state (b, H) is advanced; kept (b, 4H), output (b, H)."""
    rows, size = state.shape
    for i in prange(rows):
        for j in range(size):
            r = logistic(inputs[i, j] + recurrent[i, j] + bias[j])
            z = logistic(inputs[i, size + j] + recurrent[i, size + j] + bias[size + j])
            g = recurrent[i, 2 * size + j] + bias[2 * size + j]
            n = hyperbolic(inputs[i, 2 * size + j] + r * g)
            h = n + z * (state[i, j] - n)
            kept[i, j] = r
            kept[i, size + j] = z
            kept[i, 2 * size + j] = n
            kept[i, 3 * size + j] = g
            state[i, j] = h
            output[i, j] = h


def _backward(d_state: Array, kept: Array, previous: Array, d_inputs: Array, d_recurrent: Array) -> None:
    """d_state (b, H) holds the gradient of h' and leaves with the part of h's that needs no matrix: z ⊙ dh'."""
    rows, size = d_state.shape
    for i in prange(rows):
        for j in range(size):
            d = d_state[i, j]
            r, z = kept[i, j], kept[i, size + j]
            n, g = kept[i, 2 * size + j], kept[i, 3 * size + j]
            d_n = d * (1 - z) * (1 - n * n)
            d_r = d_n * g * r * (1 - r)
            d_z = d * (previous[i, j] - n) * z * (1 - z)
            d_inputs[i, j] = d_r
            d_inputs[i, size + j] = d_z
            d_inputs[i, 2 * size + j] = d_n
            d_recurrent[i, j] = d_r
            d_recurrent[i, size + j] = d_z
            d_recurrent[i, 2 * size + j] = d_n * r
            d_state[i, j] = d * z


gates_forward = compiled(_forward, parallel=True, fastmath=True, nogil=True)
gates_backward = compiled(_backward, parallel=True, fastmath=True, nogil=True)
