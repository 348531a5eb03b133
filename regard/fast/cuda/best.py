# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""The most probable allowed next tokens of a search, and the normalizer of the logits, in one launch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.structures.kernels.cuda.launching import on_device_of, power_of_two

WIDEST = 1 << 16
"""Maximum vocabulary size, which one program holds."""
MOST = 64
"""Maximum number of best tokens, which are found one by one."""
FORBIDDEN = 2
"""Maximum number of tokens that a launch can forbid."""


def serves(logits: Tensor, count: int, forbidden: tuple[int, ...]) -> bool:
    return (
        logits.is_cuda
        and logits.dtype in (torch.float32, torch.float64)
        and 0 < logits.shape[-1] <= WIDEST
        and count <= MOST
        and len(forbidden) <= FORBIDDEN
    )


@triton.jit
def _highest(x, v, V, BLOCK: tl.constexpr):
    """The highest of some numbers, and the first place of it."""
    high = tl.max(x, 0)
    word = tl.min(tl.where(x == high, v, BLOCK), 0)
    return high, tl.where(word < V, word, 0)


@triton.jit
def _bank(after, missing, at):
    return tl.load(missing + tl.load(after + at).to(tl.int64))


@triton.jit(do_not_specialize=["V", "K", "end", "minimum", "first", "second"])
def best_kernel(logits, last, at, after, needed, missing, states, normalizers, values, words, banks, V, K, end, minimum,
                first, second, C: tl.constexpr, NEARER: tl.constexpr, BLOCK: tl.constexpr,
                BOUND: tl.constexpr):  # fmt: skip
    """logits (N, V), last (N / K), at () → normalizers (N), values and words (N, C), best first. With BOUND, those of
    the table `after` (Q, V) of a constraint in states (N), where needed (Q) is not too much. After them the NEARER best
    of the others that lead to a bank nearer to the end, by missing (Q); then banks (N, C + NEARER) are written too."""
    row = tl.program_id(0).to(tl.int64)
    v = tl.arange(0, BLOCK)
    x = tl.load(logits + row * V + v, mask=v < V, other=float("-inf"))
    top = tl.max(x, 0)
    safe = tl.where(top == float("-inf"), 0.0, top)
    tl.store(normalizers + row, safe + tl.log(tl.sum(tl.exp(x - safe), 0)))
    now = tl.load(at)
    x = tl.where((v == first) | (v == second) | ((v == end) & (now < minimum)), float("-inf"), x)
    ends = tl.load(last + row // K)
    over = ends <= now
    x = tl.where(over & (v != end), float("-inf"), x)
    if BOUND:
        state = tl.load(states + row).to(tl.int64)
        target = tl.load(after + state * V + v, mask=v < V, other=0)
        need = tl.load(needed + target, mask=v < V, other=0)
        x = tl.where(need > ends - now - 1, float("-inf"), x)
    for place in range(C):
        high, word = _highest(x, v, V, BLOCK)
        tl.store(values + row * (C + NEARER) + place, high)
        tl.store(words + row * (C + NEARER) + place, word.to(tl.int64))
        if NEARER > 0:
            tl.store(banks + row * (C + NEARER) + place, _bank(after, missing, state * V + word))
        x = tl.where(v == word, float("-inf"), x)
    if NEARER > 0:
        bank = tl.load(missing + target, mask=v < V, other=0)
        x = tl.where(bank < tl.load(missing + state), x, float("-inf"))
        for place in range(C, C + NEARER):
            high, word = _highest(x, v, V, BLOCK)
            tl.store(values + row * (C + NEARER) + place, high)
            tl.store(words + row * (C + NEARER) + place, word.to(tl.int64))
            tl.store(banks + row * (C + NEARER) + place, _bank(after, missing, state * V + word))
            x = tl.where(v == word, float("-inf"), x)


def best(
    logits: Tensor,
    last: Tensor,
    at: Tensor,
    count: int,
    *,
    end: int,
    minimum: int,
    forbidden: tuple[int, ...],
    table: tuple[Tensor, Tensor, Tensor | None, Tensor] | None = None,
    nearer: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """logits (B, K, V), last (B) the step after which a source must have ended, at () the current step →
    normalizers (B, K) over all tokens, and the values and indices (B, K, count) of the `count` best allowed
    tokens; with `nearer`, as many again that lead to a bank nearer to the end, and the banks
    (B, K, count + nearer) of all; else None.

    table   of a constraint: the states after each token (Q, V), the tokens that each still needs (Q), those that its
            banks need (Q), and the states (B, K) now
    """
    rows, hypotheses, choices = logits.shape
    logits = logits.contiguous()
    normalizers = logits.new_empty(rows, hypotheses)
    values = logits.new_empty(rows, hypotheses, count + nearer)
    words = torch.empty(values.shape, dtype=torch.int64, device=logits.device)
    banks = torch.empty(values.shape, dtype=torch.int32, device=logits.device) if nearer else None
    first, second = (*forbidden, -1, -1)[:FORBIDDEN]
    block = power_of_two(choices, 64)
    after, needed, missing, states = (logits, logits, None, logits) if table is None else table
    states = states.contiguous()
    with on_device_of(logits):
        best_kernel[(rows * hypotheses,)](
            logits, last, at, after, needed, needed if missing is None else missing, states, normalizers, values,
            words, words if banks is None else banks, choices, hypotheses, end, minimum, first, second,
            C=count, NEARER=nearer, BLOCK=block, BOUND=table is not None, num_warps=min(32, max(4, block // 1024)),
        )  # fmt: skip
    return normalizers, values, words, banks
