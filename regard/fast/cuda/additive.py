# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Additive scores of many queries at once, e = v · tanh(q + k), and their gradients.

    scores[b, t, s] = Σ_a v_a tanh(q[b, t, a] + k[b, s, a])
    dq = Σ_s g,   dk = Σ_t g,   g = de · v ⊙ (1 − tanh²),   dv = Σ de · tanh

Nothing of size B·T·S·A is stored: the backward pass recomputes the tanh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.fast.cuda.recurrence.gates import tanh
from regard.structures.kernels.cuda.launching import on_device_of, power_of_two

KEYS = 16
"""Maximum number of keys, and of queries, that are processed at a time."""
FEATURES = 128


def additive_scores(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """queries (B, T, A), keys (B, S, A), vector (A) → (B, T, S), at least in single precision."""
    found: Tensor = _Additive.apply(queries, keys, vector)
    return found


def plain_scores(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """The same in plain torch operations."""
    return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ vector


class _Additive(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> Tensor:
        ctx.save_for_backward(*given)
        queries, keys, vector = (tensor.contiguous() for tensor in given)
        (rows, count, _), positions = queries.shape, keys.shape[1]
        scores = queries.new_empty(rows, count, positions, dtype=_work(queries))
        if scores.numel():
            with on_device_of(queries):
                S = power_of_two(min(positions, KEYS), 1)
                grid = (rows, count, triton.cdiv(positions, S))
                _forth[grid](queries, keys, vector, scores, positions, S=S, **_options(queries))
        return scores

    @staticmethod
    def backward(ctx: Any, d_scores: Tensor) -> Any:
        if torch.is_grad_enabled():
            return _differentiable(ctx.saved_tensors, ctx.needs_input_grad, d_scores)
        queries, keys, vector = given = [tensor.contiguous() for tensor in ctx.saved_tensors]
        (rows, count, size), positions = queries.shape, keys.shape[1]
        if not d_scores.numel():
            return tuple(torch.zeros_like(tensor) for tensor in given)
        d_scores = d_scores.contiguous()
        d_queries, d_keys = torch.empty_like(queries), torch.empty_like(keys)
        d_vectors = queries.new_empty(rows, size, dtype=_work(queries))
        options = _options(queries)
        S, T = (power_of_two(min(some, KEYS), 1) for some in (positions, count))
        grid = (rows, triton.cdiv(size, options["BLOCK"]))
        with on_device_of(queries):
            to = (d_keys, d_vectors, count, positions)
            _back_keys[grid](*given, d_scores, *to, S=S, **options)
            _back_queries[grid](*given, d_scores, d_queries, count, positions, T=T, **options)
        return d_queries, d_keys, d_vectors.sum(0).to(vector.dtype)


def _differentiable(given: Sequence[Tensor], wanted: Sequence[bool], d_scores: Tensor) -> tuple[Any, ...]:
    """The gradients in differentiable operations."""
    scores = plain_scores(*(tensor.to(d_scores.dtype) for tensor in given))
    learned = [tensor for tensor, learns in zip(given, wanted, strict=True) if learns]
    found = iter(torch.autograd.grad(scores, learned, d_scores, create_graph=True))
    return tuple(next(found) if learns else None for learns in wanted)


def _work(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _options(queries: Tensor) -> dict[str, Any]:
    size = queries.shape[-1]
    work = tl.float64 if queries.dtype == torch.float64 else tl.float32
    return {"A": size, "BLOCK": power_of_two(min(size, FEATURES), 16), "WORK": work}


@triton.jit(do_not_specialize=["positions"])
def _forth(queries, keys, vector, scores, positions, A: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr,
           WORK: tl.constexpr):  # fmt: skip
    row, step = tl.program_id(0).to(tl.int64), tl.program_id(1)
    s = tl.program_id(2) * S + tl.arange(0, S)
    known = s < positions
    queries += (row * tl.num_programs(1) + step) * A
    keys += row * positions * A
    total = tl.zeros((S,), WORK)
    for first in range(0, A, BLOCK):
        a = first + tl.arange(0, BLOCK)
        here = a < A
        q = tl.load(queries + a, mask=here, other=0.0).to(WORK)
        v = tl.load(vector + a, mask=here, other=0.0).to(WORK)
        k = tl.load(keys + s[:, None] * A + a[None, :], mask=known[:, None] & here[None, :], other=0.0).to(
            WORK
        )
        total += tl.sum(v[None, :] * tanh(q[None, :] + k), 1)
    tl.store(scores + (row * tl.num_programs(1) + step) * positions + s, total, mask=known)


@triton.jit(do_not_specialize=["count", "positions"])
def _back_keys(queries, keys, vector, d_scores, d_keys, d_vectors, count, positions, A: tl.constexpr,
               S: tl.constexpr, BLOCK: tl.constexpr, WORK: tl.constexpr):  # fmt: skip
    """For one row and some features: the gradients of all keys, and this row's part of the vector's."""
    row = tl.program_id(0).to(tl.int64)
    a = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    here = a < A
    v = tl.load(vector + a, mask=here, other=0.0).to(WORK)
    d_vector = tl.zeros((S, BLOCK), WORK)
    for first in range(0, positions, S):
        s = first + tl.arange(0, S)
        known = s < positions
        place, inside = (row * positions + s)[:, None] * A + a[None, :], known[:, None] & here[None, :]
        k = tl.load(keys + place, mask=inside, other=0.0).to(WORK)
        d_key = tl.zeros((S, BLOCK), WORK)
        for step in range(count):
            q = tl.load(queries + (row * count + step) * A + a, mask=here, other=0.0).to(WORK)
            d = tl.load(d_scores + (row * count + step) * positions + s, mask=known, other=0.0)[:, None]
            bent = tanh(q[None, :] + k)
            d_key += d * (v[None, :] * (1.0 - bent * bent))
            d_vector += d * bent
        tl.store(d_keys + place, d_key, mask=inside)
    tl.store(d_vectors + row * A + a, tl.sum(d_vector, 0), mask=here)


@triton.jit(do_not_specialize=["count", "positions"])
def _back_queries(queries, keys, vector, d_scores, d_queries, count, positions, A: tl.constexpr,
                  T: tl.constexpr, BLOCK: tl.constexpr, WORK: tl.constexpr):  # fmt: skip
    """The gradients of all queries of one row, in some features."""
    row = tl.program_id(0).to(tl.int64)
    a = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    here = a < A
    v = tl.load(vector + a, mask=here, other=0.0).to(WORK)
    for first in range(0, count, T):
        t = first + tl.arange(0, T)
        known = t < count
        place, inside = (row * count + t)[:, None] * A + a[None, :], known[:, None] & here[None, :]
        q = tl.load(queries + place, mask=inside, other=0.0).to(WORK)
        d_query = tl.zeros((T, BLOCK), WORK)
        for s in range(positions):
            k = tl.load(keys + (row * positions + s) * A + a, mask=here, other=0.0).to(WORK)
            d = tl.load(d_scores + (row * count + t) * positions + s, mask=known, other=0.0)[:, None]
            bent = tanh(q + k[None, :])
            d_query += d * (v[None, :] * (1.0 - bent * bent))
        tl.store(d_queries + place, d_query, mask=inside)
