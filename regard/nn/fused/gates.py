"""The gates of a GRU, one step of many rows: forward and backward in one pass over memory each.

    r = σ(p_r + g_r),  z = σ(p_z + g_z),  n = tanh(p_n + r ⊙ g_n),  h' = (1 − z) ⊙ n + z ⊙ h

with p = W x + b from the input and g = U h + c from the state; `kept` holds [r, z, n, g_n] for the way back.
"""

from __future__ import annotations

from typing import Any

from numba import njit, prange

from regard.nn.fused.mathematics import hyperbolic, logistic
from regard.structures.kernels.cpu.compilation import compiled

Array = Any

# Rows are functions of their own: inside a parallel loop the compiler no longer sees that numbers lie side by side.
_fast = njit(fastmath=True, error_model="numpy", nogil=True)


@_fast  # type: ignore[untyped-decorator]
def _advance(inputs: Array, recurrent: Array, bias: Array, state: Array, kept: Array, output: Array) -> None:
    size = len(state)
    for j in range(size):
        r = logistic(inputs[j] + recurrent[j] + bias[j])
        z = logistic(inputs[size + j] + recurrent[size + j] + bias[size + j])
        g = recurrent[2 * size + j] + bias[2 * size + j]
        n = hyperbolic(inputs[2 * size + j] + r * g)
        h = n + z * (state[j] - n)
        kept[j] = r
        kept[size + j] = z
        kept[2 * size + j] = n
        kept[3 * size + j] = g
        state[j] = h
        output[j] = h


@_fast  # type: ignore[untyped-decorator]
def _return(d_state: Array, kept: Array, previous: Array, d_inputs: Array, d_recurrent: Array) -> None:
    size = len(d_state)
    one = d_state.dtype.type(1)
    for j in range(size):
        d = d_state[j]
        r, z, n, g = kept[j], kept[size + j], kept[2 * size + j], kept[3 * size + j]
        d_n = d * (one - z) * (one - n * n)
        d_r = d_n * g * r * (one - r)
        d_z = d * (previous[j] - n) * z * (one - z)
        d_inputs[j] = d_r
        d_inputs[size + j] = d_z
        d_inputs[2 * size + j] = d_n
        d_recurrent[j] = d_r
        d_recurrent[size + j] = d_z
        d_recurrent[2 * size + j] = d_n * r
        d_state[j] = d * z


def _forward(
    inputs: Array, recurrent: Array, bias: Array, state: Array, kept: Array, output: Array, low: int
) -> None:
    """inputs, recurrent (b, 3H), recurrent without its bias (3H); state (b, H) is advanced; kept (b, 4H).

    The state is also written to rows low … low + b of output, which may be wider.
    """
    for i in prange(len(state)):
        _advance(inputs[i], recurrent[i], bias, state[i], kept[i], output[low + i])


def _backward(d_state: Array, kept: Array, previous: Array, d_inputs: Array, d_recurrent: Array) -> None:
    """d_state (b, H) holds the gradient of h' and leaves with the part of h's that needs no matrix: z ⊙ dh'."""
    for i in prange(len(d_state)):
        _return(d_state[i], kept[i], previous[i], d_inputs[i], d_recurrent[i])


gates_forward = compiled(_forward, parallel=True, fastmath=True, nogil=True, error_model="numpy")
gates_backward = compiled(_backward, parallel=True, fastmath=True, nogil=True, error_model="numpy")
