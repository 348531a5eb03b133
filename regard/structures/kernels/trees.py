"""Searches over spanning trees on the CPU: the best trees, the best with each arc, and samples.

arcs (B, N+1, N+1) in any precision, on any device; lengths (B,); heads are −1 for the root symbol, beyond the
length, and where no tree is possible. None has a gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.kernels.operators import seen_whole

_GIVEN = "(Tensor arcs, Tensor lengths, bool single_root"


@seen_whole(
    "best_tree",
    f"{_GIVEN}) -> (Tensor, Tensor)",
    lambda arcs, *_: (arcs.new_empty(arcs.shape[0]), arcs.new_empty(arcs.shape[:2], dtype=torch.int64)),
)
def best_tree(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Scores (B,) and heads (B, N+1)."""
    from regard.structures.kernels.cpu import arborescence

    return arborescence.mode(arcs, lengths, single_root)


@seen_whole(
    "best_tree_with_each_arc",
    f"{_GIVEN}) -> Tensor",
    lambda arcs, *_: arcs.new_empty((*arcs.shape, arcs.shape[-1]), dtype=torch.int64),
)
def best_tree_with_each_arc(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Heads (B, N+1, N+1, N+1) of the best tree with the arc h → m."""
    from regard.structures.kernels.cpu import arborescence

    return arborescence.best_with_each_arc(arcs, lengths, single_root)


@seen_whole(
    "best_trees",
    f"{_GIVEN}, int k) -> (Tensor, Tensor, Tensor)",
    lambda arcs, lengths, single_root, k: (
        arcs.new_empty(arcs.shape[0], k),
        *(arcs.new_empty((arcs.shape[0], k, arcs.shape[1]), dtype=torch.int64) for _ in range(2)),
    ),
)
def best_trees(arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k best trees of labeled arcs (B, N+1, N+1, C): scores (B, k), heads and labels (B, k, N+1)."""
    from regard.structures.kernels.cpu import best_trees as on_cpu

    scores, heads, labels = on_cpu.topk(arcs, lengths, single_root, k)
    return scores.t().contiguous(), heads.transpose(0, 1).contiguous(), labels.transpose(0, 1).contiguous()


@seen_whole(
    "sampled_trees",
    "(Tensor arcs, Tensor W, Tensor marginals, Tensor lengths, Tensor doubtful, bool single_root, Tensor seeds)"
    " -> Tensor",
    lambda arcs, W, marginals, lengths, doubtful, single_root, seeds: arcs.new_empty(
        (arcs.shape[0], seeds.shape[1], arcs.shape[1]), dtype=torch.int64
    ),
)
def sampled_trees(
    arcs: Tensor,
    W: Tensor,
    marginals: Tensor,
    lengths: Tensor,
    doubtful: Tensor,
    single_root: bool,
    seeds: Tensor,
) -> Tensor:
    """Heads (B, samples, N+1), one for each seed (B, samples); W, marginals and doubts as in `spanning`."""
    from regard.structures.kernels.cpu import walks

    by_sample = seeds.t().contiguous()
    heads = walks.sample(arcs, W, marginals, lengths, doubtful, single_root, by_sample)
    return heads.transpose(0, 1).contiguous()
