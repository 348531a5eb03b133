# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Eisner's outside pass on CUDA: items gather their probability from the larger items that contain them.

An item x with part y passes p(split | x) · mass(x) to y, p(split | x) = exp(y + other part − x). Gathering
runs from the widest spans to the narrowest and needs no atomic addition. With TANGENT the derivative of each
mass along G is gathered too (`rates`).
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.structures.kernels.cuda.projective_inside import ARC, ARC_TURNED, COMPLETE, SPLIT, TURNED, inside

# mass[COMPLETE] and mass[TURNED] are indexed as in the charts. A split's mass, the sum of both arcs over it,
# is symmetric.
MASS_SPLIT = tl.constexpr(2)


@triton.jit
def _gather(charts, scores, masses, rates, item, item_score, other, whole, mass_at, first, count, longest, banned,
            F: tl.constexpr, ITEMS: tl.constexpr, PARTS: tl.constexpr, TANGENT: tl.constexpr):  # fmt: skip
    """Σ_k mass[k] · exp(item + other[k] − whole[k]) over k from `first`, and its derivative.

    k = 0 is left out where banned.
    """
    mass = tl.zeros([ITEMS], F)
    rate = tl.zeros([ITEMS], F)
    for start in range(0, longest, PARTS):
        step = start + tl.arange(0, PARTS)[None, :]
        k = first[:, None] + step
        known = (step < count[:, None]) & ((k > 0) | (banned[:, None] == 0))
        weight = tl.load(masses + mass_at[:, None] + k, mask=known, other=0.0)
        known = known & (weight > 0)
        x = tl.load(charts + other[:, None] + k, mask=known, other=float("-inf"))
        x -= tl.load(charts + whole[:, None] + k, mask=known, other=0.0)
        share = tl.exp((item[:, None] + x).to(F))
        mass += tl.sum(weight * share, 1)
        if TANGENT:
            gain = item_score[:, None] + tl.load(scores + other[:, None] + k, mask=known, other=0.0)
            gain -= tl.load(scores + whole[:, None] + k, mask=known, other=0.0)
            moved = tl.load(rates + mass_at[:, None] + k, mask=known, other=0.0)
            rate += tl.sum(share * (moved + weight * gain), 1)
    return mass, rate


@triton.jit
def _complete_masses(charts, scores, masses, rates, n, size, width, F: tl.constexpr, SINGLE: tl.constexpr,
                     ITEMS: tl.constexpr, PARTS: tl.constexpr, TANGENT: tl.constexpr):  # fmt: skip
    """complete[h, o] is one side of split[h, k] for k beyond o, and the inner part of complete[k, o] for k beyond h."""
    chart = size * size
    spans = n + 1 - width
    for start in range(0, 2 * spans, ITEMS):
        index = start + tl.arange(0, ITEMS)
        known = index < 2 * spans
        rightward = index < spans
        s = tl.where(rightward, index, index - spans)
        head, end = tl.where(rightward, s, s + width), tl.where(rightward, s + width, s)
        item = tl.load(charts + head * size + end, mask=known, other=float("-inf"))
        score = tl.zeros([ITEMS], F)
        if TANGENT:
            score = tl.load(scores + head * size + end, mask=known, other=0.0)
        beyond = tl.where(rightward, end + 1, 0)
        count = tl.where(rightward, n - end, end)
        banned = tl.zeros([ITEMS], tl.int32)
        if SINGLE:
            count = tl.where(rightward & (head == 0), 0, count)
            banned = tl.where(end != 1, 1, 0)
        count = tl.where(known, count, 0)
        neighbor = tl.where(rightward, end + 1, end - 1)
        mass, rate = _gather(
            charts, scores, masses, rates, item, score, chart * TURNED + neighbor * size, chart * SPLIT + head * size,
            chart * MASS_SPLIT + head * size, beyond, count, n - width, banned, F, ITEMS, PARTS, TANGENT)  # fmt: skip
        behind = tl.where(rightward, 0, head + 1)
        count = tl.where(known, tl.where(rightward, head, n - head), 0)
        more, faster = _gather(
            charts, scores, masses, rates, item, score, chart * ARC_TURNED + head * size, chart * TURNED + end * size,
            chart * TURNED + end * size, behind, count, n - width, tl.zeros([ITEMS], tl.int32),
            F, ITEMS, PARTS, TANGENT)  # fmt: skip
        whole = (head == 0) & (end == n) & (item > float("-inf"))
        mass = mass + more + tl.where(whole, 1.0, 0.0).to(F)
        tl.store(masses + head * size + end, mass, mask=known)
        tl.store(masses + chart * TURNED + end * size + head, mass, mask=known)
        if TANGENT:
            tl.store(rates + head * size + end, rate + faster, mask=known)
            tl.store(rates + chart * TURNED + end * size + head, rate + faster, mask=known)


@triton.jit
def _arc_mass(charts, scores, masses, rates, head, modifier, first, count, longest, size, known,
              F: tl.constexpr, ITEMS: tl.constexpr, PARTS: tl.constexpr, TANGENT: tl.constexpr):  # fmt: skip
    """arc[h, m] is part of complete[h, k] for k from m outwards."""
    chart = size * size
    item = tl.load(charts + chart * ARC + head * size + modifier, mask=known, other=float("-inf"))
    score = tl.zeros([ITEMS], F)
    if TANGENT:
        score = tl.load(scores + chart * ARC + head * size + modifier, mask=known, other=0.0)
    return _gather(
        charts, scores, masses, rates, item, score, chart * COMPLETE + modifier * size, chart * COMPLETE + head * size,
        chart * COMPLETE + head * size, first, tl.where(known, count, 0), longest, tl.zeros([ITEMS], tl.int32),
        F, ITEMS, PARTS, TANGENT)  # fmt: skip


@triton.jit
def _arc_masses(charts, scores, masses, rates, out, n, size, width, F: tl.constexpr, ITEMS: tl.constexpr,
                PARTS: tl.constexpr, TANGENT: tl.constexpr):  # fmt: skip
    chart = size * size
    spans = n + 1 - width
    for start in range(0, spans, ITEMS):
        s = start + tl.arange(0, ITEMS)
        known = s < spans
        t = s + width
        right, right_rate = _arc_mass(
            charts, scores, masses, rates, s, t, t, n - t + 1, spans, size, known,
            F, ITEMS, PARTS, TANGENT)  # fmt: skip
        left, left_rate = _arc_mass(
            charts, scores, masses, rates, t, s, s * 0, s + 1, spans, size, known,
            F, ITEMS, PARTS, TANGENT)  # fmt: skip
        tl.store(masses + chart * MASS_SPLIT + s * size + t, right + left, mask=known)
        tl.store(masses + chart * MASS_SPLIT + t * size + s, right + left, mask=known)
        if TANGENT:
            tl.store(rates + chart * MASS_SPLIT + s * size + t, right_rate + left_rate, mask=known)
            tl.store(rates + chart * MASS_SPLIT + t * size + s, right_rate + left_rate, mask=known)
            tl.store(out + s * size + t, right_rate, mask=known)
            tl.store(out + t * size + s, left_rate, mask=known)
        else:
            tl.store(out + s * size + t, right, mask=known)
            tl.store(out + t * size + s, left, mask=known)


@triton.jit(do_not_specialize=["size"])
def projective_kernel(arcs, lengths, gains, charts, scores, masses, rates, out, log_z, size, SINGLE: tl.constexpr,
                      ITEMS: tl.constexpr, PARTS: tl.constexpr, OUTSIDE: tl.constexpr,
                      TANGENT: tl.constexpr):  # fmt: skip
    """One sentence per program: log_z, or with OUTSIDE marginals in `out`, with TANGENT their derivative."""
    F: tl.constexpr = arcs.dtype.element_ty
    b = tl.program_id(0).to(tl.int64)
    chart = size * size
    n = size - 1
    if lengths is not None:
        n = tl.load(lengths + b).to(tl.int32)
    arcs += b * chart
    charts += b * 5 * chart
    if TANGENT:
        gains += b * chart
        scores += b * 5 * chart
        rates += b * 3 * chart
    value = inside(arcs, gains, charts, scores, n, size, SINGLE, ITEMS, PARTS, TANGENT)
    if OUTSIDE:
        masses += b * 3 * chart
        out += b * chart
        for step in range(n):
            width = n - step
            _complete_masses(charts, scores, masses, rates, n, size, width, F, SINGLE, ITEMS, PARTS, TANGENT)
            tl.debug_barrier()
            _arc_masses(charts, scores, masses, rates, out, n, size, width, F, ITEMS, PARTS, TANGENT)
            tl.debug_barrier()
    else:
        tl.store(log_z + b, value.to(F))
