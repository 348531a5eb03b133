# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The best spanning tree on the CPU, with any roots or a single one: Chu-Liu and Edmonds' algorithm, O(N²).

Every word takes its best head. If these form a cycle, the cycle becomes one node: an arc into it through v is
worth its gain over v's head in the cycle. Once no cycle is left, the cycles are opened again, each at the
word that its chosen arc enters.

The worth of an arc is a pair, compared lexicographically: its cost in roots, then its score. If any number of
roots is allowed, the cost is always 0. For a single root it is 1 for arcs from the root symbol, so that the
best tree has the fewest roots.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.arguments import arrays
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.parallel import over_batch
from regard.structures.kernels.cpu.rows import copy

Array = NDArray[Any]


@part
def _better(cost: int, score: float, than_cost: int, than_score: float) -> bool:
    """Whether an arc is possible and worth more than another; a score of −inf means no arc."""
    if score == -np.inf or than_score == -np.inf:
        return score > than_score
    return cost < than_cost or (cost == than_cost and score > than_score)


@part
def _take_head(score: Array, cost: Array, alive: Array, count: int, v: int, head: Array) -> bool:
    """Set head[v] to the best live node; False if v has no possible head."""
    best, least = -np.inf, 0
    for u in range(count):
        if alive[u] and u != v and _better(cost[u, v], score[u, v], least, best):
            best, least = score[u, v], cost[u, v]
            head[v] = u
    return best > -np.inf


@part
def _find_cycle(head: Array, alive: Array, count: int, mark: Array) -> int:
    """A node on a cycle of heads, or 0."""
    mark[:count] = 0
    for start in range(1, count):
        if not alive[start] or mark[start] != 0:
            continue
        v = start
        while v != 0 and mark[v] == 0:
            mark[v] = start
            v = head[v]
        if v != 0 and mark[v] == start:
            return v
    return 0


@part
def _contract(
    score: Array, cost: Array, origin: Array, alive: Array, head: Array, parent: Array, v: int, new: int
) -> None:
    """Make the cycle through v the node `new`; origin[u, w] = (h, m), the arc of the sentence that u → w stands for."""
    u = v
    while True:
        alive[u] = False
        parent[u] = new
        u = head[u]
        if u == v:
            break
    for w in range(new):
        score[w, new] = score[new, w] = -np.inf
        if not alive[w]:
            continue
        u = v
        while True:
            gain, extra = score[w, u] - score[head[u], u], cost[w, u] - cost[head[u], u]
            if _better(extra, gain, cost[w, new], score[w, new]):
                score[w, new], cost[w, new] = gain, extra
                origin[w, new, 0], origin[w, new, 1] = origin[w, u, 0], origin[w, u, 1]
            if w > 0 and _better(cost[u, w], score[u, w], cost[new, w], score[new, w]):
                score[new, w], cost[new, w] = score[u, w], cost[u, w]
                origin[new, w, 0], origin[new, w, 1] = origin[u, w, 0], origin[u, w, 1]
            u = head[u]
            if u == v:
                break
    score[new, new] = -np.inf
    alive[new] = True
    # Words whose best head was in the cycle now have the new node as their head.
    for w in range(1, new):
        if alive[w] and parent[head[w]] == new:
            head[w] = new


@kernel
def best_tree(arcs: Array, n: int, single_root: bool, heads: Array) -> float:
    """Write the heads of the best tree over words 1 .. n.

    Returns its score: −inf if no tree is possible, NaN if an arc is NaN.
    """
    most = 2 * n + 1
    score, cost = np.full((most, most), -np.inf), np.zeros((most, most), np.int64)
    origin = np.zeros((most, most, 2), np.int64)
    alive, head = np.zeros(most, np.bool_), np.zeros(most, np.int64)
    parent, mark = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    for h in range(n + 1):
        alive[h] = True
        for m in range(1, n + 1):
            origin[h, m, 0], origin[h, m, 1] = h, m
            cost[h, m] = 1 if single_root and h == 0 else 0
            if h != m:
                score[h, m] = arcs[h, m]
                if arcs[h, m] != arcs[h, m]:
                    return np.nan
    count = n + 1
    for v in range(1, count):
        if not _take_head(score, cost, alive, count, v, head):
            return -np.inf
    cycle = _find_cycle(head, alive, count, mark)
    while cycle != 0:
        _contract(score, cost, origin, alive, head, parent, cycle, count)
        count += 1
        if not _take_head(score, cost, alive, count, count - 1, head):
            return -np.inf
        cycle = _find_cycle(head, alive, count, mark)
    return _open(arcs, n, single_root, origin, head, parent, count, heads)


@part
def _open(
    arcs: Array,
    n: int,
    single_root: bool,
    origin: Array,
    head: Array,
    parent: Array,
    count: int,
    heads: Array,
) -> float:
    """Write the heads that the contracted graph of `count` nodes represents; −inf if too many are roots."""
    chosen = np.full((count, 2), -1, np.int64)
    for v in range(count - 1, 0, -1):
        if chosen[v, 0] < 0:
            copy(origin[head[v], v], chosen[v])
        if v > n:
            # The arc enters the member that contains its modifier. The other members keep their heads in the
            # cycle.
            member = chosen[v, 1]
            while parent[member] != v:
                member = parent[member]
            copy(chosen[v], chosen[member])
    total, roots = 0.0, 0
    for m in range(1, n + 1):
        heads[m] = chosen[m, 0]
        roots += chosen[m, 0] == 0
        total += arcs[chosen[m, 0], m]
    return -np.inf if single_root and roots > 1 else total


@kernel
def _mode(
    arcs: Array, lengths: Array, single_root: bool, scores: Array, heads: Array, first: int, last: int
) -> None:
    for b in range(first, last):
        n = lengths[b]
        scores[b] = best_tree(arcs[b], n, single_root, heads[b])
        if not scores[b] > -np.inf:
            heads[b, :] = -1


def mode(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Scores (B,) and heads (B, N+1) int64; −1 for the root symbol, padding and sentences without a tree."""
    scores = torch.empty(arcs.shape[0], dtype=torch.float64)
    heads = torch.full(arcs.shape[:2], -1, dtype=torch.int64)
    a, n, z, h = arrays(arcs.detach().cpu().double(), lengths.cpu(), scores, heads)
    over_batch(_mode, arcs.shape[0], 10 * arcs.shape[1] ** 2, a, n, single_root, z, h)
    return scores.to(arcs.device, arcs.dtype), heads.to(arcs.device)


@kernel
def _best_with_each_arc(
    arcs: Array, lengths: Array, single_root: bool, heads: Array, first: int, last: int
) -> None:
    for b in range(first, last):
        n = lengths[b]
        forced = arcs[b].copy()
        for m in range(1, n + 1):
            for h in range(n + 1):
                if h == m or arcs[b, h, m] == -np.inf:
                    continue
                forced[:, m] = -np.inf
                forced[h, m] = arcs[b, h, m]
                if best_tree(forced, n, single_root, heads[b, h, m]) == -np.inf:
                    heads[b, h, m, :] = -1
            for h in range(len(forced)):
                forced[h, m] = arcs[b, h, m]


def best_with_each_arc(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """heads[b, h, m] (N+1,) of the best tree with the arc h → m, −1 if there is none.

    O(N⁴): one search for each arc.
    """
    heads = torch.full((*arcs.shape, arcs.shape[-1]), -1, dtype=torch.int64)
    a, n, t = arrays(arcs.detach().cpu().double(), lengths.cpu(), heads)
    over_batch(_best_with_each_arc, arcs.shape[0], arcs.shape[1] ** 4, a, n, single_root, t)
    return heads.to(arcs.device)
