"""Binary trees over a sequence: every span of more than one position is split in two, down to single positions.

    score(tree) = Σ of spans[i, j] over the 2N − 1 spans of the tree, single positions and the whole included

The inside algorithm of Cocke, Kasami and Younger: O(N³) time, O(N²) cells.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure
from regard.structures.potentials import (
    Lengths,
    Mask,
    Scores,
    apply_mask,
    as_floats,
    as_lengths,
    check_axes,
    expand_batch,
    joint_batch,
    shape_of,
)
from regard.structures.ragged import or_empty, pick
from regard.structures.semirings import NEGATIVE_INFINITY, Semiring
from regard.structures.spans import SpanChart

_LABELS = " If the last axis is labels, pass labeled=True."


class BinaryTree(Structure):
    """A binary constituency tree over N positions.

    spans[..., i, j]      scores the span from i to j inclusive; (..., N, N), entries below the diagonal are
                          ignored
    spans[..., i, j, c]   the same with a label c on the span; (..., N, N, C)
    labeled              whether the last axis is labels
    lengths               (...,) from 0 to N
    mask                  True where a span is allowed, broadcastable to spans

    A value and `marginals` have the shape of spans: p(the tree has the span from i to j).
    """

    def __init__(
        self,
        spans: Scores,
        *,
        labeled: bool = False,
        lengths: Lengths = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        (spans,) = as_floats(spans=spans)
        own = 3 if labeled else 2
        size = spans.shape[-own] if spans.dim() >= own else None
        check_axes("spans", spans, "NNC"[:own], [size, size, None][:own], _LABELS)
        spans = apply_mask(spans, mask, own)
        forwards = torch.ones(
            spans.shape[-own], spans.shape[-own], dtype=torch.bool, device=spans.device
        ).triu()
        spans = torch.where(forwards.unsqueeze(-1) if labeled else forwards, spans, NEGATIVE_INFINITY)
        self.labeled = labeled
        self.lengths = as_lengths(lengths, spans.shape[-own], spans.device)
        batch = joint_batch(spans=spans.shape[: spans.dim() - own], lengths=shape_of(self.lengths))
        potentials = [expand_batch(spans, batch, own)]
        super().__init__(
            potentials, batch, [own], lengths=(self.lengths,), options=(labeled,), backend=backend
        )

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        (spans,) = parts
        if self.labeled:
            spans = semiring.sum(spans, -1)
        if spans.shape[-1] == 0:
            return semiring.one(spans, 2)
        chart = SpanChart(spans.diagonal(0, -2, -1))
        for width in range(1, spans.shape[-1]):
            # The halves of the span from i to j: i .. k and k+1 .. j, for every k.
            halves = semiring.times(chart.left_parts(), chart.right_parts())
            chart.grow(semiring.times(semiring.sum(halves, -1), spans.diagonal(width, -2, -1)))
        whole = chart.from_first()  # (..., N): all trees of the first 1 .. N positions
        if self.lengths is None:
            return whole[..., -1]
        total = pick(whole, (self.lengths - 1).clamp(min=0))
        return or_empty(semiring, self.lengths, total)
