"""Memory: what an encoder leaves behind for a decoder to look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from regard.nn.heads import HeadMarginals

Layout = Literal["line", "grid", "frames", "sentences", "tree", "points"]
"""How the S positions lie, so that a figure knows how to draw them."""


@dataclass(frozen=True)
class Memory:
    """values (B, S, D), mask (B, S), summary (B, D').

    values    what a read returns a mixture of
    mask      True where a position exists
    summary   the whole input in one vector: the last states of a recurrent encoder, the mean of a convolutional one
    keys      (B, S, D'') what is compared with the query, where that is not the values themselves
    layout    how the positions lie; `shape` gives rows and columns of a grid
    parent    the coarser memory these positions belong to (words → sentences), and `parent_index` (B, S) where in it
    above     (B, S) of positions that are the nodes of a tree in post-order, the place of the parent; −1 for the root
    heads     which position is whose head, where the encoder gave its positions parents
    points    (B, S, k) float64, the coordinates of positions that are points
    verbatim  (B, S) the key of the word at each position (`regard.data.batch.Verbatim`), where it may be copied
    override  (B, T, S) where to look, whatever a selection says: row t for output position t, zeros where it is free
    """

    values: Tensor
    mask: Tensor
    summary: Tensor
    keys: Tensor | None = None
    layout: Layout = "line"
    shape: tuple[int, ...] | None = None
    parent: Memory | None = None
    parent_index: Tensor | None = None
    above: Tensor | None = None
    heads: HeadMarginals | None = None
    override: Tensor | None = None
    points: Tensor | None = None
    verbatim: Tensor | None = None

    def select(self, rows: Tensor) -> Memory:
        """The memory of some rows of the batch, (B') int64."""

        def pick(value: Tensor | None) -> Tensor | None:
            return None if value is None else value.index_select(0, rows)

        return replace(
            self,
            values=self.values.index_select(0, rows),
            mask=self.mask.index_select(0, rows),
            summary=self.summary.index_select(0, rows),
            keys=pick(self.keys),
            parent=None if self.parent is None else self.parent.select(rows),
            parent_index=pick(self.parent_index),
            above=pick(self.above),
            heads=None if self.heads is None else self.heads.select(rows),
            override=pick(self.override),
            points=pick(self.points),
            verbatim=pick(self.verbatim),
        )
