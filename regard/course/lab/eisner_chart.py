"""Eisner's chart: spans of a sentence with their head at one end, and the rules that join them.

    I(h, m)   incomplete: the arc h → m with all between its ends     = θ(h, m) + log Σ_k exp(C(a, k) + C(b, k + 1))
    C(h, e)   complete: h with all its words up to e on one side      = log Σ_m exp(I(h, m) + C(m, e)),  C(h, h) = 0

a and b are the left and the right end of the arc, k runs from a to b − 1 and m from next to h to e. Position 0 is the
root, whose span C(0, n) is the whole sentence: log Z = C(0, n).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.course.lab.dynamic import log_sum
from regard.trace import Array

Span = tuple[Literal["C", "I"], int, int]
"""Complete or incomplete, its head, and its other end."""


@dataclass(frozen=True)
class SpanRule:
    """One way to make a span of two smaller ones; an incomplete span adds the arc from its head to its other end."""

    makes: Span
    left: Span
    right: Span


def rules(words: int, *, single_root: bool) -> Iterator[SpanRule]:
    """Every rule, from short spans to long; with `single_root`, one word depends on the root."""
    for width in range(1, words + 1):
        for a in range(words + 1 - width):
            b = a + width
            for k in range(a, b):
                if not (single_root and a == 0 and k > 0):
                    yield SpanRule(("I", a, b), ("C", a, k), ("C", b, k + 1))
                if a > 0:  # nothing is the head of the root
                    yield SpanRule(("I", b, a), ("C", a, k), ("C", b, k + 1))
            for m in range(a + 1, b + 1):
                yield SpanRule(("C", a, b), ("I", a, m), ("C", m, b))
            for m in range(a, b) if a > 0 else ():
                yield SpanRule(("C", b, a), ("C", m, a), ("I", b, m))


@dataclass(frozen=True, eq=False)
class EisnerChart:
    """inside and outside of all spans, −inf for those in no tree.

    The arrays are (n + 1, n + 1) at [head, other end], NaN where there is no such span."""

    inside: dict[str, Array]
    outside: dict[str, Array]
    log_partition: float

    @property
    def marginals(self) -> Array:
        """p(h → m), (n + 1, n + 1) at [head, word]; 0 where there is no arc."""
        found = np.exp(self.inside["I"] + self.outside["I"] - self.log_partition)
        return np.nan_to_num(found)


def fill(arcs: Array, *, single_root: bool) -> EisnerChart:
    """The chart of potentials `arcs`, (n + 1, n + 1) at [head, word]."""
    n = len(arcs) - 1
    made = list(rules(n, single_root=single_root))
    inside: dict[Span, float] = {("C", h, h): 0.0 for h in range(n + 1)}
    for span, ways in grouped(made):
        total = log_sum(np.array([inside[one.left] + inside[one.right] for one in ways]))
        inside[span] = total + (arcs[span[1], span[2]] if span[0] == "I" else 0.0)
    uses: dict[Span, list[float]] = {("C", 0, n): [0.0]}
    outside: dict[Span, float] = {}
    for span, ways in reversed(list(grouped(made))):
        outside[span] = log_sum(np.array(uses.get(span, [])))
        above = outside[span] + (arcs[span[1], span[2]] if span[0] == "I" else 0.0)
        for one in ways:
            uses.setdefault(one.left, []).append(above + inside[one.right])
            uses.setdefault(one.right, []).append(above + inside[one.left])
    outside |= {("C", h, h): log_sum(np.array(uses.get(("C", h, h), []))) for h in range(n + 1)}
    return EisnerChart(_tables(inside, n), _tables(outside, n), inside["C", 0, n])


def grouped(made: Sequence[SpanRule]) -> Iterator[tuple[Span, list[SpanRule]]]:
    """Each span with the rules that make it; the spans from short to long, incomplete ones first."""
    ways: dict[Span, list[SpanRule]] = {}
    for one in made:
        ways.setdefault(one.makes, []).append(one)
    yield from sorted(ways.items(), key=lambda item: (abs(item[0][1] - item[0][2]), item[0][0] == "C"))


def _tables(values: dict[Span, float], n: int) -> dict[str, Array]:
    found = {kind: np.full((n + 1, n + 1), np.nan) for kind in "CI"}
    for (kind, head, end), value in values.items():
        found[kind][head, end] = value
    return found


def best_heads(arcs: Array, *, single_root: bool) -> tuple[list[int], float]:
    """The head of each word in the best tree, and the score of that tree (Viterbi in the same chart)."""
    n = len(arcs) - 1
    best: dict[Span, tuple[float, SpanRule | None]] = {("C", h, h): (0.0, None) for h in range(n + 1)}
    for span, ways in grouped(list(rules(n, single_root=single_root))):
        score, way = max(
            ((best[one.left][0] + best[one.right][0], one) for one in ways), key=lambda item: item[0]
        )
        best[span] = (score + (float(arcs[span[1], span[2]]) if span[0] == "I" else 0.0), way)
    heads = [0] * n
    left: list[Span] = [("C", 0, n)]
    while left:
        span = left.pop()
        if span[0] == "I":
            heads[span[2] - 1] = span[1]
        chosen = best[span][1]
        left += [chosen.left, chosen.right] if chosen is not None else []
    return heads, best["C", 0, n][0]


def gradients(arcs: Array, of: tuple[int, int], *, single_root: bool) -> tuple[Array, Array]:
    """∂ log Z / ∂θ, and ∂p(of) / ∂θ of one arc, by automatic differentiation of the inside recursion."""
    import torch

    n = len(arcs) - 1
    theta = torch.tensor(arcs, dtype=torch.float64, requires_grad=True)
    inside: dict[Span, torch.Tensor] = {
        ("C", h, h): torch.zeros((), dtype=torch.float64) for h in range(n + 1)
    }
    for span, ways in grouped(list(rules(n, single_root=single_root))):
        total = torch.logsumexp(torch.stack([inside[one.left] + inside[one.right] for one in ways]), 0)
        inside[span] = total + theta[span[1], span[2]] if span[0] == "I" else total
    (first,) = torch.autograd.grad(inside["C", 0, n], theta, create_graph=True)
    (second,) = torch.autograd.grad(first[of], theta)
    return first.detach().numpy(), second.numpy()
