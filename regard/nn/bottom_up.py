"""Compute the nodes of many trees bottom-up, all nodes of one height with one product.

Each node is used once, by its parent. The nodes of a height are therefore sorted by the heights of their
parents. The children that a height needs are then one slice of each lower height, and no node is copied
twice. The total work is proportional to the number of nodes, whatever the shape of the trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.nn.composers import Composer

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Height:
    """The nodes of one height and the indices of their children.

    taken    the lower heights that contain these children
    left     (count) index, among all these children, of each node's first child; `right` (count): of its last
             child
    single   (U) the nodes with a single child, whose state they take over
    children (E) indices of all children and `owner` (E) of their parents, for composers of many children
    count    number of nodes
    """

    taken: list[int]
    left: Tensor
    right: Tensor
    single: Tensor
    children: Tensor
    owner: Tensor
    count: int


@dataclass(frozen=True)
class Growth:
    """The schedule that computes the trees of a batch.

    leaves   (L) flat indices (row · N + node) of the words, in the order of their use
    heights  the heights 1, 2, …
    sizes    for each height from 0 on, the numbers of its nodes that each higher height uses
    where    (B, N) the index of each node among all computed nodes; 0 for padding
    """

    leaves: Tensor
    heights: list[Height]
    sizes: list[list[int]]
    where: Tensor

    @classmethod
    def of(cls, parents: Places, high: Places, lengths: Places, device: torch.device) -> Growth:
        """parents (B, N) in post-order, high (B, N) the heights of the nodes."""
        rows, width = parents.shape
        flat = np.flatnonzero(np.arange(width) < lengths[:, None])  # nodes, without padding
        h = high.reshape(-1)[flat]
        above = parents.reshape(-1)[flat]
        number = np.full(rows * width, -1)  # flat → place in the list
        number[flat] = np.arange(len(flat))
        parent = np.where(above >= 0, number[(flat // width) * width + above], -1)
        parent_height = np.where(parent >= 0, h[parent], h.max(initial=0) + 1)
        counts = np.bincount(parent[parent >= 0], minlength=len(flat))
        order = np.lexsort((parent_height, h))  # by height, then by the parent's height
        rank = np.empty(len(flat), dtype=np.int64)
        rank[order] = np.arange(len(flat))
        first, last = np.zeros(len(flat), dtype=np.int64), np.zeros(len(flat), dtype=np.int64)
        inner = np.flatnonzero(parent >= 0)
        last[parent[inner]] = inner
        first[parent[inner[::-1]]] = inner[::-1]
        top = int(h.max(initial=0))
        used = parent >= 0
        pairs, numbers = np.unique(parent_height[used] * (top + 1) + h[used], return_counts=True)
        taken: list[list[int]] = [[] for _ in range(top + 1)]
        sizes: list[list[int]] = [[] for _ in range(top + 1)]
        for pair, count in zip(pairs.tolist(), numbers.tolist(), strict=True):
            level, below = divmod(pair, top + 1)
            taken[level].append(below)
            sizes[below].append(count)
        # the index of a node among all children used by its parent's height, which are sorted by their own
        # height
        by_parent = np.lexsort((rank, parent_height))
        start = np.concatenate([[0], np.cumsum(np.bincount(parent_height, minlength=top + 2))])
        pooled = np.empty(len(flat), dtype=np.int64)
        pooled[by_parent] = np.arange(len(flat)) - start[parent_height[by_parent]]

        def moved(values: Places) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(
                device, non_blocking=True
            )

        bounds = np.concatenate([[0], np.cumsum(np.bincount(h, minlength=top + 1))])
        heights = []
        for level in range(1, top + 1):
            nodes = order[bounds[level] : bounds[level + 1]]
            here = by_parent[start[level] : start[level + 1]]
            heights.append(
                Height(
                    taken[level],
                    moved(pooled[first[nodes]]),
                    moved(pooled[last[nodes]]),
                    moved(np.flatnonzero(counts[nodes] == 1)),
                    moved(pooled[here]),
                    moved(rank[parent[here]] - bounds[level]),
                    len(nodes),
                )
            )
        where = np.zeros(rows * width, dtype=np.int64)
        where[flat] = rank
        return cls(moved(flat[order[: bounds[1]]]), heights, sizes, moved(where.reshape(rows, width)))


def grow(composer: Composer, vectors: Tensor, growth: Growth) -> Tensor:
    """The states of all nodes, in the order of `Growth.where`: vectors (L, input_size) of the leaves → (M, state)."""
    made = [composer.leaf(vectors)]
    pieces = [_split(made[0], growth.sizes[0])]
    for level, height in enumerate(growth.heights, start=1):
        used = [next(pieces[below]) for below in height.taken]
        pool = used[0] if len(used) == 1 else torch.cat(used)
        if composer.any_number:
            state = composer.several(pool.index_select(0, height.children), height.owner, height.count)
        else:
            left = pool.index_select(0, height.left)
            state = composer.pair(left, pool.index_select(0, height.right))
            if len(height.single):
                state = state.index_copy(0, height.single, left.index_select(0, height.single))
        made.append(state)
        pieces.append(_split(state, growth.sizes[level]))
    return torch.cat(made)


def _split(states: Tensor, sizes: list[int]) -> Iterator[Tensor]:
    """Split the nodes of a height by the heights of their parents, without the roots, which come last."""
    return iter(states[: sum(sizes)].split(sizes) if sizes else ())
