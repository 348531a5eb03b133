# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Eisner's inside pass on CUDA: the program of a sentence computes all spans of one width together.

Items and names are those of the CPU kernel: complete[h, o] and arc[h, m] by head and far end, both also
transposed, and split, here symmetric. They are logs in double precision, while the exponentials between them
are in the dtype of the input: differences of large scores stay exact, and the work stays cheap. A barrier
separates writes from the reads that depend on them.

With TANGENT each item also has the expected G-score of its trees.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.structures.kernels.cuda.arithmetic import finite

COMPLETE = tl.constexpr(0)
TURNED = tl.constexpr(1)
ARC = tl.constexpr(2)
ARC_TURNED = tl.constexpr(3)
SPLIT = tl.constexpr(4)


@triton.jit
def _log_sum(charts, scores, left, right, count, longest, F: tl.constexpr, ITEMS: tl.constexpr, PARTS: tl.constexpr,
             TANGENT: tl.constexpr):  # fmt: skip
    """log Σ_k exp(charts[left + k] + charts[right + k]), k < count, for ITEMS rows; and the mean of the scores."""
    top = tl.full([ITEMS], float("-inf"), tl.float64)
    total = tl.zeros([ITEMS], F)
    score = tl.zeros([ITEMS], F)
    for start in range(0, longest, PARTS):
        k = start + tl.arange(0, PARTS)[None, :]
        known = k < count[:, None]
        x = tl.load(charts + left[:, None] + k, mask=known, other=float("-inf"))
        x += tl.load(charts + right[:, None] + k, mask=known, other=float("-inf"))
        peak = tl.maximum(top, tl.max(x, 1))
        level = finite(peak)
        fade = tl.exp((top - level).to(F))
        weights = tl.exp((x - level[:, None]).to(F))
        total = total * fade + tl.sum(weights, 1)
        if TANGENT:
            gain = tl.load(scores + left[:, None] + k, mask=known, other=0.0)
            gain += tl.load(scores + right[:, None] + k, mask=known, other=0.0)
            score = score * fade + tl.sum(weights * gain, 1)
        top = peak
    value = finite(top) + tl.log(total).to(tl.float64)
    return value, score / tl.where(total > 0, total, 1.0)


@triton.jit
def _prepare(arcs, charts, scores, n, size, ITEMS: tl.constexpr, PARTS: tl.constexpr, TANGENT: tl.constexpr):
    """arc = arcs − maximum of each column; complete[h, h] = 0. Returns the sum of the maxima.

    Every word has one head, so subtracting a constant from its column shifts the log-partition by that
    constant and leaves all probabilities unchanged.
    """
    chart = size * size
    shift = tl.zeros([PARTS], tl.float64)
    for first in range(0, n + 1, PARTS):
        m = first + tl.arange(0, PARTS)
        best = tl.full([PARTS], float("-inf"), tl.float64)
        for row in range(0, n + 1, ITEMS):
            h = row + tl.arange(0, ITEMS)[:, None]
            allowed = (h <= n) & (m <= n)[None, :] & (m > 0)[None, :] & (h != m[None, :])
            best = tl.maximum(
                best, tl.max(tl.load(arcs + h * size + m[None, :], mask=allowed, other=float("-inf")), 0)
            )
        best = finite(best)
        shift += best
        for row in range(0, n + 1, ITEMS):
            h = row + tl.arange(0, ITEMS)[:, None]
            exists = (h <= n) & (m <= n)[None, :]
            allowed = exists & (m > 0)[None, :] & (h != m[None, :])
            score = tl.load(arcs + h * size + m[None, :], mask=allowed, other=float("-inf")).to(tl.float64)
            tl.store(charts + chart * ARC + h * size + m[None, :], score - best[None, :], mask=exists)
        diagonal = m * size + m
        tl.store(charts + chart * COMPLETE + diagonal, tl.zeros([PARTS], tl.float64), mask=m <= n)
        tl.store(charts + chart * TURNED + diagonal, tl.zeros([PARTS], tl.float64), mask=m <= n)
        if TANGENT:
            nothing = tl.zeros([PARTS], scores.dtype.element_ty)
            tl.store(scores + chart * COMPLETE + diagonal, nothing, mask=m <= n)
            tl.store(scores + chart * TURNED + diagonal, nothing, mask=m <= n)
    return tl.sum(shift, 0)


@triton.jit
def _store_arc(charts, scores, gains, h, m, value, score, size, known, TANGENT: tl.constexpr):
    """arc[h, m] = arcs[h, m] + split."""
    chart = size * size
    value += tl.load(charts + chart * ARC + h * size + m, mask=known, other=float("-inf"))
    tl.store(charts + chart * ARC + h * size + m, value, mask=known)
    tl.store(charts + chart * ARC_TURNED + m * size + h, value, mask=known)
    if TANGENT:
        possible = known & (value > float("-inf"))
        gain = tl.load(gains + h * size + m, mask=possible, other=0.0)
        score = tl.where(possible, score + gain, 0.0)
        tl.store(scores + chart * ARC + h * size + m, score, mask=known)
        tl.store(scores + chart * ARC_TURNED + m * size + h, score, mask=known)


@triton.jit
def inside(arcs, gains, charts, scores, n, size, SINGLE: tl.constexpr, ITEMS: tl.constexpr, PARTS: tl.constexpr,
           TANGENT: tl.constexpr):  # fmt: skip
    """Fill the charts (5, size, size) of one sentence of n words and return its log-partition."""
    F: tl.constexpr = arcs.dtype.element_ty
    chart = size * size
    shift = _prepare(arcs, charts, scores, n, size, ITEMS, PARTS, TANGENT)
    tl.debug_barrier()
    for width in range(1, n + 1):
        spans = n + 1 - width
        for first in range(0, spans, ITEMS):
            s = first + tl.arange(0, ITEMS)
            known = s < spans
            t = s + width
            count = tl.where(known, width, 0)
            if SINGLE:
                count = tl.where(known & (s == 0), 1, count)
            value, score = _log_sum(
                charts, scores, s * size + s, t * size + s + 1, count, width, F, ITEMS, PARTS, TANGENT
            )
            for_split = chart * SPLIT
            tl.store(charts + for_split + s * size + t, value, mask=known)
            tl.store(charts + for_split + t * size + s, value, mask=known)
            if TANGENT:
                tl.store(scores + for_split + s * size + t, score, mask=known)
                tl.store(scores + for_split + t * size + s, score, mask=known)
            _store_arc(charts, scores, gains, s, t, value, score, size, known, TANGENT)
            _store_arc(charts, scores, gains, t, s, value, score, size, known, TANGENT)
        tl.debug_barrier()
        for first in range(0, 2 * spans, ITEMS):
            item = first + tl.arange(0, ITEMS)
            known = item < 2 * spans
            rightward = item < spans
            s = tl.where(rightward, item, item - spans)
            head, end = tl.where(rightward, s, s + width), tl.where(rightward, s + width, s)
            k = tl.where(rightward, s + 1, s)
            left, right = chart * ARC + head * size + k, chart * TURNED + end * size + k
            count = tl.where(known, width, 0)
            value, score = _log_sum(charts, scores, left, right, count, width, F, ITEMS, PARTS, TANGENT)
            tl.store(charts + head * size + end, value, mask=known)
            tl.store(charts + chart * TURNED + end * size + head, value, mask=known)
            if TANGENT:
                tl.store(scores + head * size + end, score, mask=known)
                tl.store(scores + chart * TURNED + end * size + head, score, mask=known)
        tl.debug_barrier()
    return shift + tl.load(charts + n)
