# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The gates of a recurrent cell for one row at one step. Forward and backward each take one pass over memory.

    gru    r = σ(p_r + g_r),  z = σ(p_z + g_z),  n = tanh(p_n + r ⊙ g_n),  h' = (1 − z) ⊙ n + z ⊙ h
    lstm   i, f, o = σ(p + g) each,  a = tanh(p_a + g_a),  m' = f ⊙ m + i ⊙ a,  h' = o ⊙ tanh(m')
    rnn    h' = φ(p + g),  φ tanh, σ, relu or the identity

with p = W x + b from the input and g = U h + c from the state; m is the memory cell of an lstm. `kept` holds
the values for the backward pass: [r, z, n, g_n], [i, f, a, o, tanh m', m] or [h'].
"""

from __future__ import annotations

from typing import Any

from regard.fast.cpu.layout import GRU, LOGISTIC, LSTM, RELU, TANH
from regard.structures.kernels.cpu.compilation import part, reduction
from regard.structures.kernels.cpu.mathematics import hyperbolic, larger, logistic, product_added
from regard.structures.kernels.cpu.rows import copy

Array = Any


@reduction
def _advance_gru(
    inputs: Array, recurrent: Array, bias: Array, state: Array, previous: Array, kept: Array, output: Array
) -> None:
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


# In one loop the gates of an lstm are not vectorized: the compiler compares addresses once for all rows, and the
# slices of `kept` seem to overlap. So there are several loops, none of which reads one slice of an array and writes
# to another.


@reduction
def _open(inputs: Array, recurrent: Array, bias: Array, out: Array) -> None:
    for j in range(len(out)):
        out[j] = logistic(inputs[j] + recurrent[j] + bias[j])


@reduction
def _propose(inputs: Array, recurrent: Array, bias: Array, out: Array) -> None:
    for j in range(len(out)):
        out[j] = hyperbolic(inputs[j] + recurrent[j] + bias[j])


@reduction
def _remember(forget: Array, before: Array, enter: Array, proposed: Array, after: Array) -> None:
    for j in range(len(after)):
        after[j] = product_added(forget[j], before[j], enter[j] * proposed[j])


@reduction
def _bend(source: Array, out: Array) -> None:
    for j in range(len(out)):
        out[j] = hyperbolic(source[j])


@reduction
def _times(one: Array, other: Array, out: Array) -> None:
    for j in range(len(out)):
        out[j] = one[j] * other[j]


@part
def _advance_lstm(
    inputs: Array, recurrent: Array, bias: Array, state: Array, carry: Array, previous: Array, kept: Array,
    output: Array,
) -> None:  # fmt: skip
    size = len(state)
    two, three, four, five = 2 * size, 3 * size, 4 * size, 5 * size
    i, f, a, o = kept[:size], kept[size:two], kept[two:three], kept[three:four]
    bent, before = kept[four:five], kept[five : 6 * size]
    _open(inputs[:two], recurrent[:two], bias[:two], kept[:two])
    _propose(inputs[two:three], recurrent[two:three], bias[two:three], a)
    _open(inputs[three:four], recurrent[three:four], bias[three:four], o)
    copy(carry, before)
    _remember(f, before, i, a, carry)
    _bend(carry, bent)
    copy(state, previous)
    _times(o, bent, state)
    copy(state, output)


@part
def _bent(kind: int, x: Any, zero: Any) -> Any:
    if kind == TANH:
        return hyperbolic(x)
    if kind == LOGISTIC:
        return logistic(x)
    return larger(x, zero) if kind == RELU else x


@part
def _slope(kind: int, d: Any, h: Any, zero: Any, one: Any) -> Any:
    """The gradient of φ's argument, from the gradient d of its value h."""
    if kind == TANH:
        return d * (one - h * h)
    if kind == LOGISTIC:
        return d * h * (one - h)
    return zero if kind == RELU and h <= zero else d


@reduction
def _advance_rnn(
    kind: int, inputs: Array, recurrent: Array, bias: Array, state: Array, previous: Array, kept: Array,
    output: Array,
) -> None:  # fmt: skip
    zero = state.dtype.type(0)
    for j in range(len(state)):
        h = _bent(kind, inputs[j] + recurrent[j] + bias[j], zero)
        previous[j] = state[j]
        kept[j] = h
        state[j] = h
        output[j] = h


@part
def advance(
    kind: int, inputs: Array, recurrent: Array, bias: Array, state: Array, carry: Array, previous: Array,
    kept: Array, output: Array,
) -> None:  # fmt: skip
    """Advance state (H) and carry (H; of width 0 except for an lstm) by one step, given p (G·H) and U h
    without its bias c (G·H). The new state is also written to `output`, the old one to `previous`, the gates
    to `kept`."""
    if kind == GRU:
        _advance_gru(inputs, recurrent, bias, state, previous, kept, output)
    elif kind == LSTM:
        _advance_lstm(inputs, recurrent, bias, state, carry, previous, kept, output)
    else:
        _advance_rnn(kind, inputs, recurrent, bias, state, previous, kept, output)


@reduction
def _retreat_gru(
    d_state: Array, d_output: Array, kept: Array, previous: Array, d_inputs: Array, d_recurrent: Array
) -> None:
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


@reduction
def _retreat_lstm(d_state: Array, d_carry: Array, d_output: Array, kept: Array, d_inputs: Array) -> None:
    size = len(d_state)
    one = d_state.dtype.type(1)
    for j in range(size):
        d = d_state[j] + d_output[j]
        i, f, a = kept[j], kept[size + j], kept[2 * size + j]
        o, bent, before = kept[3 * size + j], kept[4 * size + j], kept[5 * size + j]
        d_after = d_carry[j] + d * o * (one - bent * bent)
        d_inputs[j] = d_after * a * i * (one - i)
        d_inputs[size + j] = d_after * before * f * (one - f)
        d_inputs[2 * size + j] = d_after * i * (one - a * a)
        d_inputs[3 * size + j] = d * bent * o * (one - o)
        d_carry[j] = d_after * f
        d_state[j] = 0


@reduction
def _retreat_rnn(kind: int, d_state: Array, d_output: Array, kept: Array, d_inputs: Array) -> None:
    zero, one = d_state.dtype.type(0), d_state.dtype.type(1)
    for j in range(len(d_state)):
        d_inputs[j] = _slope(kind, d_state[j] + d_output[j], kept[j], zero, one)
        d_state[j] = zero


@part
def retreat(
    kind: int, d_state: Array, d_carry: Array, d_output: Array, kept: Array, previous: Array, d_inputs: Array,
    d_recurrent: Array,
) -> None:  # fmt: skip
    """On entry d_state (H) and d_carry (H) hold the gradients of h' and m' from the next step, d_output (H)
    the gradient of h' at this step. On return d_state and d_carry hold the parts of the gradients of h and m
    that need no matrix product. Only for a gru does the gradient of U h + c (d_recurrent) differ from that of
    W x + b (d_inputs); for the other cells d_recurrent is not written."""
    if kind == GRU:
        _retreat_gru(d_state, d_output, kept, previous, d_inputs, d_recurrent)
    elif kind == LSTM:
        _retreat_lstm(d_state, d_carry, d_output, kept, d_inputs)
    else:
        _retreat_rnn(kind, d_state, d_output, kept, d_inputs)
