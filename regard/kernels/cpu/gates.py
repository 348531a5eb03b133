"""The gates of a GRU, one row at one step: forward and backward in one pass over memory each.

    r = σ(p_r + g_r),  z = σ(p_z + g_z),  n = tanh(p_n + r ⊙ g_n),  h' = (1 − z) ⊙ n + z ⊙ h

with p = W x + b from the input and g = U h + c from the state; `kept` holds [r, z, n, g_n] for the way back.
"""

from __future__ import annotations

from typing import Any

from regard.kernels.cpu.compilation import reduction
from regard.kernels.cpu.mathematics import hyperbolic, logistic

Array = Any


@reduction
def advance(
    inputs: Array, recurrent: Array, bias: Array, state: Array, previous: Array, kept: Array, output: Array
) -> None:
    """p (3H), U h without its bias c (3H): the state (H) is advanced, and written to output too; previous keeps what
    it was, kept (4H) the gates."""
    size = len(state)
    for j in range(size):
        r = logistic(inputs[j] + recurrent[j] + bias[j])
        z = logistic(inputs[size + j] + recurrent[size + j] + bias[size + j])
        g = recurrent[2 * size + j] + bias[2 * size + j]
        n = hyperbolic(inputs[2 * size + j] + r * g)
        h = n + z * (state[j] - n)
        previous[j] = state[j]
        kept[j] = r
        kept[size + j] = z
        kept[2 * size + j] = n
        kept[3 * size + j] = g
        state[j] = h
        output[j] = h


@reduction
def retreat(
    d_state: Array, d_output: Array, kept: Array, previous: Array, d_inputs: Array, d_recurrent: Array
) -> None:
    """d_state (H) holds what h' receives from the next step, d_output (H) what it receives at this one; d_state leaves
    with the part of h's that needs no matrix: z ⊙ dh'."""
    size = len(d_state)
    one = d_state.dtype.type(1)
    for j in range(size):
        d = d_state[j] + d_output[j]
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
