# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Cross-entropy of many words over a large vocabulary, and its gradient, a few rows at a time.

    logits = V o + b,   cost = (1 − ε)(log Z − logit_y) + ε (log Z − mean logit),   d logits = p − (1 − ε) 1_y − ε/V

The logits of some rows are computed, replaced by their gradient in place, multiplied into the gradients of
rows and weights, and then overwritten, so that only tensors of the size of the inputs are kept. No product is
computed twice: the forward pass already knows the gradient up to the factor from the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.fast.cuda.product import multiply
from regard.structures.kernels.availability import once
from regard.structures.kernels.cuda.launching import on_device_of, power_of_two

NUMBERS = 1 << 24
"""Maximum number of logits at a time: 64 megabytes in single precision."""
WIDE = 1 << 14
"""For larger vocabularies half as many, because the gradient of the weights needs the memory."""
ROWS = 128
"""Rows of a product's tile. Chunks are rounded up to a multiple of it if memory allows."""
BLOCK = 4096


@triton.jit(do_not_specialize_on_alignment=["targets", "costs", "likelihoods"])
def descend_kernel(logits, bias, targets, costs, likelihoods, KEPT: tl.constexpr, SHARE: tl.constexpr,
                   V: tl.constexpr, WORK: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """logits (N, V), without their bias, become d cost / d logits; writes cost and −log p(target) of each
    row. Rows with a negative target cost nothing."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * V
    target = tl.load(targets + row)
    real = target >= 0
    target = tl.where(real, target, 0)
    kept = tl.full([], KEPT, WORK)
    share = tl.full([], SHARE, WORK)
    top = tl.full([BLOCK], float("-inf"), WORK)
    total = tl.zeros([BLOCK], WORK)
    summed = tl.zeros([BLOCK], WORK)
    for first in range(0, V, BLOCK):
        v = first + tl.arange(0, BLOCK)
        here = v < V
        x = tl.load(logits + v, mask=here, other=0.0).to(WORK) + tl.load(bias + v, mask=here, other=0.0).to(
            WORK
        )
        x = tl.where(here, x, float("-inf"))
        higher = tl.maximum(top, x)
        safe = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(top - safe) + tl.exp(x - safe)
        top = higher
        summed += tl.where(here, x, 0.0)
    highest = tl.max(top, 0)
    safe = tl.where(highest == float("-inf"), 0.0, highest)
    normalizer = safe + tl.log(tl.sum(total * tl.exp(top - safe), 0))
    aim = tl.load(logits + target).to(WORK) + tl.load(bias + target).to(WORK)
    likelihood = normalizer - aim
    cost = kept * likelihood + share * (V * normalizer - tl.sum(summed, 0))
    tl.store(likelihoods + row, tl.where(real, likelihood, 0.0))
    tl.store(costs + row, tl.where(real, cost, 0.0))
    tl.debug_barrier()  # all threads must have read the target's logit
    for first in range(0, V, BLOCK):
        v = first + tl.arange(0, BLOCK)
        here = v < V
        x = tl.load(logits + v, mask=here, other=0.0).to(WORK) + tl.load(bias + v, mask=here, other=0.0).to(
            WORK
        )
        d = tl.exp(x - normalizer) - share - tl.where(v == target, kept, 0.0)
        d = tl.where(real, d, 0.0)
        tl.store(logits + v, d.to(logits.dtype.element_ty), mask=here)


def rows_at_once(count: int, vocabulary: int) -> int:
    """Size of a chunk: as few chunks as memory allows, all of one size."""
    most = max(1, NUMBERS // (vocabulary if vocabulary <= WIDE else 2 * vocabulary))
    each = -(-count // -(-count // most)) if count else 1
    wide = -(-each // ROWS) * ROWS
    return wide if wide <= most else each


class ChunkedCost(torch.autograd.Function):
    """rows (N, O), weight (V, O), bias (V), targets (N), ε → Σ cost, Σ −log p(target), of the targets ≥ 0.

    Under autocast the products are in its precision; sums and gradients of the weights keep the weights'
    precision.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        (count, _), vocabulary, dtype = rows.shape, len(weight), weight.dtype
        narrow = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else dtype
        ctx.dtype = rows.dtype
        rows, factor = rows.to(narrow).contiguous(), weight.to(narrow)
        chunk = rows_at_once(count, vocabulary)
        work = tl.float64 if dtype == torch.float64 else tl.float32
        block = min(BLOCK, power_of_two(vocabulary, 16))
        both = rows.new_empty(2, count, dtype=dtype)
        costs, likelihoods = both.unbind()
        d_rows, d_weight = torch.empty_like(rows), torch.empty_like(weight)
        d_bias = torch.zeros_like(bias)
        logits, ones = rows.new_empty(chunk, vocabulary), rows.new_ones(chunk)
        with on_device_of(rows), torch.autocast(rows.device.type, enabled=False):
            for low in range(0, count, chunk):
                some = rows[low : low + chunk]
                slab = logits[: len(some)]
                multiply(some, factor.t(), slab)
                part = slice(low, low + len(some))
                descend_kernel[(len(some),)](
                    slab, bias, targets[part], costs[part], likelihoods[part], KEPT=1.0 - smoothing,
                    SHARE=smoothing / vocabulary, V=vocabulary, WORK=work, BLOCK=block, num_warps=8,
                )  # fmt: skip
                multiply(slab, factor, d_rows[part])
                if narrow != dtype:
                    product = (slab.t() @ some).to(dtype)
                    d_weight = product if low == 0 else d_weight.add_(product)
                    d_bias += slab.sum(0, dtype=dtype)
                else:
                    multiply(slab.t(), some, d_weight, add=low > 0)
                    d_bias.addmv_(
                        slab.t(), ones[: len(some)]
                    )  # `slab.sum(0)` takes twice the memory of the slab
        ctx.save_for_backward(d_rows, d_weight, d_bias)
        cost, likelihood = both.sum(1).unbind()
        ctx.mark_non_differentiable(likelihood)
        return cost, likelihood

    @staticmethod
    @once
    def backward(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        d_rows, d_weight, d_bias = ctx.saved_tensors
        return d_rows.to(ctx.dtype) * gradient, d_weight * gradient, d_bias * gradient, None, None
