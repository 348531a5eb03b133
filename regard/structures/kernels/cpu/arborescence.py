# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The best spanning tree on the processor: Chu-Liu and Edmonds' algorithm by contraction, O(N³), exact with a single
root.

Every word takes its best head. If these form a cycle, the cycle becomes one node: an arc into it through v is worth
what it gains over v's head in the cycle. Once there is no cycle left the cycles are opened again, each where the arc
chosen for it enters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.parallel import arrays, over_batch

Array = NDArray[Any]


@kernel
def _best_heads(score: Array, alive: Array, count: int, head: Array) -> bool:
    """head[v] for every live node but the root; False where one has none."""
    for v in range(1, count):
        if not alive[v]:
            continue
        best = -np.inf
        for u in range(count):
            if alive[u] and u != v and score[u, v] > best:
                best = score[u, v]
                head[v] = u
        if best == -np.inf:
            return False
    return True


@kernel
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


@kernel
def _contract(
    score: Array, origin: Array, alive: Array, head: Array, parent: Array, v: int, new: int
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
            entering = score[w, u] - score[head[u], u]
            if score[w, u] > -np.inf and entering > score[w, new]:
                score[w, new] = entering
                origin[w, new] = origin[w, u]
            if w > 0 and score[u, w] > score[new, w]:
                score[new, w] = score[u, w]
                origin[new, w] = origin[u, w]
            u = head[u]
            if u == v:
                break
    score[new, new] = -np.inf
    alive[new] = True


@kernel
def edmonds(arcs: Array, n: int, heads: Array) -> float:
    """Heads of the best tree over words 1 .. n with any number of roots, and its score; −inf and no heads if there
    is none.
    """
    most = 2 * n + 1
    score, origin = np.full((most, most), -np.inf), np.zeros((most, most, 2), np.int64)
    alive, head = np.zeros(most, np.bool_), np.zeros(most, np.int64)
    parent, mark = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    for h in range(n + 1):
        alive[h] = True
        for m in range(1, n + 1):
            origin[h, m, 0], origin[h, m, 1] = h, m
            if h != m:
                score[h, m] = arcs[h, m]
    count = n + 1
    while True:
        if not _best_heads(score, alive, count, head):
            return -np.inf
        v = _find_cycle(head, alive, count, mark)
        if v == 0:
            break
        _contract(score, origin, alive, head, parent, v, count)
        count += 1
    chosen = np.full((most, 2), -1, np.int64)
    for v in range(count - 1, 0, -1):
        if chosen[v, 0] < 0:
            chosen[v] = origin[head[v], v]
        if v > n:
            # Inside, the arc goes to the member that holds its modifier; the other members keep their place in the
            # cycle.
            member = chosen[v, 1]
            while parent[member] != v:
                member = parent[member]
            chosen[member] = chosen[v]
    total = 0.0
    for m in range(1, n + 1):
        heads[m] = chosen[m, 0]
        total += arcs[chosen[m, 0], m]
    return total


@kernel
def best_tree(arcs: Array, n: int, single_root: bool, heads: Array) -> float:
    """As `edmonds`; with a single root, the best over the words that may be it, unless the best tree has one anyway."""
    best = edmonds(arcs, n, heads)
    if not single_root or n == 0 or best == -np.inf or (heads[1 : n + 1] == 0).sum() == 1:
        return best
    trial, these = arcs.copy(), heads.copy()
    best = -np.inf
    for root in range(1, n + 1):
        if arcs[0, root] == -np.inf:
            continue
        trial[0, 1 : n + 1] = -np.inf
        trial[:, root] = -np.inf
        trial[0, root] = arcs[0, root]
        value = edmonds(trial, n, these)
        trial[:, root] = arcs[:, root]
        if value > best:
            best = value
            heads[1 : n + 1] = these[1 : n + 1]
    return best


@kernel
def _mode(
    arcs: Array, lengths: Array, single_root: bool, scores: Array, heads: Array, first: int, last: int
) -> None:
    for b in range(first, last):
        n = lengths[b]
        scores[b] = best_tree(arcs[b], n, single_root, heads[b])
        if scores[b] == -np.inf:
            heads[b, :] = -1


def mode(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Scores (B,) and heads (B, N+1) int64, −1 for the root symbol, beyond the length and where no tree is possible."""
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
            forced[:, m] = arcs[b, :, m]


def best_with_each_arc(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """heads[b, h, m] (N+1,) of the best tree with the arc h → m, −1 where there is none: one search an arc, O(N⁵) in
    all.
    """
    heads = torch.full((*arcs.shape, arcs.shape[-1]), -1, dtype=torch.int64)
    a, n, t = arrays(arcs.detach().cpu().double(), lengths.cpu(), heads)
    over_batch(_best_with_each_arc, arcs.shape[0], arcs.shape[1] ** 4, a, n, single_root, t)
    return heads.to(arcs.device)
