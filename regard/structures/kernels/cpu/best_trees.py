"""The k best spanning trees of a sentence, by Lawler's partition of the remaining trees.

Besides its best tree, with heads h_1 .. h_n and labels, a set of trees consists of n disjoint subsets: the
trees that agree with the best on the words before m and differ at m. A heap holds the best tree of each
subset. Taking the best tree from the heap splits its subset in turn. Each subset is a mask on the arcs, so
Edmonds' algorithm finds its best tree, with a single root or not.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.arborescence import best_tree

Array = NDArray[Any]


def topk(arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k best trees of labeled arcs (B, N+1, N+1, C): scores (k, B), best first, −inf past the last tree;
    heads and labels (k, B, N+1), −1 where undefined.
    """
    B, size = arcs.shape[:2]
    scores = torch.full((k, B), -torch.inf, dtype=torch.float64)
    heads, labels = torch.full((2, k, B, size), -1, dtype=torch.int64)
    for b in range(B):
        found = _trees(arcs[b].detach().cpu().double().numpy(), int(lengths[b]), single_root, k)
        for rank, (score, tree, labelling) in enumerate(found):
            scores[rank, b] = score
            heads[rank, b], labels[rank, b] = torch.from_numpy(tree), torch.from_numpy(labelling)
    return scores.to(arcs.device, arcs.dtype), heads.to(arcs.device), labels.to(arcs.device)


def _trees(arcs: Array, n: int, single_root: bool, k: int) -> list[tuple[float, Array, Array]]:
    found: list[tuple[float, Array, Array]] = []
    heap: list[tuple[float, int, Array, Array, Array, int]] = []
    serial = 0  # breaks ties, since arrays do not compare

    def offer(masked: Array, fixed: int) -> None:
        nonlocal serial
        heads = np.full(arcs.shape[0], -1, np.int64)
        score = best_tree(np.ascontiguousarray(masked.max(-1)), n, single_root, heads)
        if score > -np.inf:
            serial += 1
            labels = np.full(arcs.shape[0], -1, np.int64)
            labels[1 : n + 1] = [masked[heads[m], m].argmax() for m in range(1, n + 1)]
            heapq.heappush(heap, (-score, serial, heads, labels, masked, fixed))

    offer(arcs, 1)
    while heap and len(found) < k:
        score, _, heads, labels, masked, fixed = heapq.heappop(heap)
        found.append((-score, heads, labels))
        if len(found) == k:
            break
        agreed = masked
        for m in range(fixed, n + 1):
            chosen = heads[m], m, labels[m]
            differs = agreed.copy()
            differs[chosen] = -np.inf
            offer(differs, m)
            agreed = agreed.copy()
            agreed[:, m] = -np.inf
            agreed[chosen] = arcs[chosen]
    return found
