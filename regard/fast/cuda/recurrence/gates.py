# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""The cells after their matrix products, in place: preactivations → gates → their gradients.

    gru    r, z = σ(·), n = tanh(a_n + r ⊙ hn), h' = n + z ⊙ (h − n)
           dn = dh' (1 − z)(1 − n²),  dhn = dn ⊙ r,  dr = dn ⊙ hn ⊙ r(1 − r),  dz = dh' (h − n) z(1 − z),  dh += dh' z
    lstm   i, f, o = σ(·), g = tanh(·), c' = f c + i g, h' = o tanh c'
           dc' += dh' o (1 − tanh² c'),  do = dh' tanh c' · o(1 − o),  di = dc' g i(1 − i),  df = dc' c f(1 − f),
           dg = dc' i (1 − g²),  dc = dc' f
    rnn    h' = f(a),  da = dh' f'(a), f' written in h'

z points to rows of width W whose gates begin at AT (see `plan`). Several directions are ZD numbers apart in z
and SD in all other tensors. With DROPS, the layer above reads below = h' ⊙ mask, and its gradient d_below is
added to dh' as d_below ⊙ mask. With BIAS, `row` (W) is added to the rows of z first. The gates are written to
`kept`, which has rows like z or is z itself; in the backward kernels z is that tensor. With NARROW, `slim`
receives h' for the products in half precision, and `kept` is in half precision too.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    return 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0)


@triton.jit
def _place(count, ZD, SD, H: tl.constexpr, W: tl.constexpr, AT: tl.constexpr, BLOCK: tl.constexpr):
    """Of a block of the B·H features: index, whether it exists, offsets of its gates in z and in a row."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    direction = tl.program_id(1).to(tl.int64)
    return (
        direction * SD + i,
        i < count,
        direction * ZD + (i // H) * W + AT + i % H,
        direction * W + AT + i % H,
    )


@triton.jit
def _sum(z, row, at, feature, here, BIAS: tl.constexpr):
    """The preactivation of a gate; `feature` is its offset in a row of z."""
    found = tl.load(z + at, mask=here, other=0.0)
    if BIAS:
        found += tl.load(row + feature, mask=here, other=0.0)
    return found


@triton.jit
def _known(z, at, here):
    """Load a gate in at least single precision."""
    found = tl.load(z + at, mask=here, other=0.0)
    if found.dtype == tl.bfloat16:
        found = found.to(tl.float32)
    return found


@triton.jit
def _leave(h, after, mask, below, slim, i, here, DROPS: tl.constexpr, NARROW: tl.constexpr):
    tl.store(after + i, h, mask=here)
    if NARROW:
        tl.store(slim + i, h, mask=here)
    if DROPS:
        tl.store(below + i, h * tl.load(mask + i, mask=here, other=0.0), mask=here)


@triton.jit
def _gradient(d_after, mask, d_below, i, here, DROPS: tl.constexpr):
    dh = tl.load(d_after + i, mask=here, other=0.0)
    if DROPS:
        dh += tl.load(d_below + i, mask=here, other=0.0) * tl.load(mask + i, mask=here, other=0.0)
    return dh


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def gru_forth(z, kept, row, before, after, mask, below, slim, count, ZD, SD, H: tl.constexpr, W: tl.constexpr,
              AT: tl.constexpr, DROPS: tl.constexpr, NARROW: tl.constexpr, BIAS: tl.constexpr,
              BLOCK: tl.constexpr):  # fmt: skip
    i, here, at, feature = _place(count, ZD, SD, H, W, AT, BLOCK)
    hn = _sum(z, row, at, feature, here, BIAS)
    reset = sigmoid(_sum(z, row, at + H, feature + H, here, BIAS))
    update = sigmoid(_sum(z, row, at + 2 * H, feature + 2 * H, here, BIAS))
    new = tanh(_sum(z, row, at + 3 * H, feature + 3 * H, here, BIAS) + reset * hn)
    h = tl.load(before + i, mask=here, other=0.0)
    if BIAS or NARROW:
        tl.store(kept + at, hn, mask=here)
    tl.store(kept + at + H, reset, mask=here)
    tl.store(kept + at + 2 * H, update, mask=here)
    tl.store(kept + at + 3 * H, new, mask=here)
    _leave(new + update * (h - new), after, mask, below, slim, i, here, DROPS, NARROW)


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def gru_back(z, before, d_after, d_before, mask, d_below, count, ZD, SD, H: tl.constexpr, W: tl.constexpr,
             AT: tl.constexpr, DROPS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    i, here, at, _ = _place(count, ZD, SD, H, W, AT, BLOCK)
    hn = _known(z, at, here)
    reset = _known(z, at + H, here)
    update = _known(z, at + 2 * H, here)
    new = _known(z, at + 3 * H, here)
    h = tl.load(before + i, mask=here, other=0.0)
    carried = tl.load(d_before + i, mask=here, other=0.0)
    dh = _gradient(d_after, mask, d_below, i, here, DROPS)
    d_new = dh * (1.0 - update) * (1.0 - new * new)
    tl.store(z + at, d_new * reset, mask=here)
    tl.store(z + at + H, d_new * hn * reset * (1.0 - reset), mask=here)
    tl.store(z + at + 2 * H, dh * (h - new) * update * (1.0 - update), mask=here)
    tl.store(z + at + 3 * H, d_new, mask=here)
    tl.store(d_before + i, carried + dh * update, mask=here)


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def lstm_forth(z, kept, row, carry, carried, after, mask, below, slim, count, ZD, SD, H: tl.constexpr, W: tl.constexpr,
               AT: tl.constexpr, DROPS: tl.constexpr, NARROW: tl.constexpr, BIAS: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    i, here, at, feature = _place(count, ZD, SD, H, W, AT, BLOCK)
    entry = sigmoid(_sum(z, row, at, feature, here, BIAS))
    forget = sigmoid(_sum(z, row, at + H, feature + H, here, BIAS))
    new = tanh(_sum(z, row, at + 2 * H, feature + 2 * H, here, BIAS))
    leave = sigmoid(_sum(z, row, at + 3 * H, feature + 3 * H, here, BIAS))
    c = forget * tl.load(carry + i, mask=here, other=0.0) + entry * new
    tl.store(kept + at, entry, mask=here)
    tl.store(kept + at + H, forget, mask=here)
    tl.store(kept + at + 2 * H, new, mask=here)
    tl.store(kept + at + 3 * H, leave, mask=here)
    tl.store(carried + i, c, mask=here)
    _leave(leave * tanh(c), after, mask, below, slim, i, here, DROPS, NARROW)


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def lstm_back(z, carry, carried, d_carry, d_after, mask, d_below, count, ZD, SD, H: tl.constexpr, W: tl.constexpr,
              AT: tl.constexpr, DROPS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """d_carry (B, H) holds dc' and then dc."""
    i, here, at, _ = _place(count, ZD, SD, H, W, AT, BLOCK)
    entry = _known(z, at, here)
    forget = _known(z, at + H, here)
    new = _known(z, at + 2 * H, here)
    leave = _known(z, at + 3 * H, here)
    c = tl.load(carry + i, mask=here, other=0.0)
    bent = tanh(tl.load(carried + i, mask=here, other=0.0))
    dh = _gradient(d_after, mask, d_below, i, here, DROPS)
    dc = tl.load(d_carry + i, mask=here, other=0.0) + dh * leave * (1.0 - bent * bent)
    tl.store(z + at, dc * new * entry * (1.0 - entry), mask=here)
    tl.store(z + at + H, dc * c * forget * (1.0 - forget), mask=here)
    tl.store(z + at + 2 * H, dc * entry * (1.0 - new * new), mask=here)
    tl.store(z + at + 3 * H, dh * bent * leave * (1.0 - leave), mask=here)
    tl.store(d_carry + i, dc * forget, mask=here)


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def rnn_forth(z, row, after, mask, below, slim, count, ZD, SD, H: tl.constexpr, W: tl.constexpr, AT: tl.constexpr,
              DROPS: tl.constexpr, NARROW: tl.constexpr, BIAS: tl.constexpr, ACTIVATION: tl.constexpr,
              BLOCK: tl.constexpr):  # fmt: skip
    i, here, at, feature = _place(count, ZD, SD, H, W, AT, BLOCK)
    h = _sum(z, row, at, feature, here, BIAS)
    if ACTIVATION == "tanh":
        h = tanh(h)
    elif ACTIVATION == "sigmoid":
        h = sigmoid(h)
    elif ACTIVATION == "relu":
        h = tl.where(h < 0, 0.0, h)  # NaN stays
    _leave(h, after, mask, below, slim, i, here, DROPS, NARROW)


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def rnn_back(z, after, d_after, mask, d_below, count, ZD, SD, H: tl.constexpr, W: tl.constexpr, AT: tl.constexpr,
             DROPS: tl.constexpr, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    i, here, at, _ = _place(count, ZD, SD, H, W, AT, BLOCK)
    h = tl.load(after + i, mask=here, other=0.0)
    d = _gradient(d_after, mask, d_below, i, here, DROPS)
    if ACTIVATION == "tanh":
        d = d * (1.0 - h * h)
    elif ACTIVATION == "sigmoid":
        d = d * h * (1.0 - h)
    elif ACTIVATION == "relu":
        d = tl.where(h > 0, d, 0.0)
    tl.store(z + at, d, mask=here)


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def combine_forth(z, out, count, ZD, SD, H: tl.constexpr, W: tl.constexpr, AT: tl.constexpr,
                  BLOCK: tl.constexpr):  # fmt: skip
    """o = tanh p."""
    i, here, at, _ = _place(count, ZD, SD, H, W, AT, BLOCK)
    tl.store(out + i, tanh(tl.load(z + at, mask=here, other=0.0)), mask=here)


@triton.jit(do_not_specialize=["count", "ZD", "SD"])
def combine_back(z, out, d_out, count, ZD, SD, H: tl.constexpr, W: tl.constexpr, AT: tl.constexpr,
                 BLOCK: tl.constexpr):  # fmt: skip
    """dp = do (1 − o²)."""
    i, here, at, _ = _place(count, ZD, SD, H, W, AT, BLOCK)
    o = tl.load(out + i, mask=here, other=0.0)
    tl.store(z + at, tl.load(d_out + i, mask=here, other=0.0) * (1.0 - o * o), mask=here)
