"""Segmental attention: each of N positions is inside or outside a segment, and neighbors attract or repel.

    score(z) = Σ_n scores[n] z_n + Σ_n transitions[z_n, z_{n+1}],  z_n ∈ {0, 1}

A binary linear chain (Kim et al. 2017, Structured attention networks). O(N).
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures import kernels
from regard.structures.base import Backend, logistic_noise
from regard.structures.potentials import (
    Lengths,
    Mask,
    Scores,
    apply_mask,
    as_floats,
    as_lengths,
    as_tensor,
    check_axes,
    expand_batch,
    flatten_batch,
    joint_batch,
    restore_batch,
    shape_of,
)
from regard.structures.ragged import before_end
from regard.structures.semirings import NEGATIVE_INFINITY, Semiring
from regard.structures.states import StateSequence, forward_algorithm


class Segmentation(StateSequence):
    """A 0/1 labeling of N positions.

    scores[..., n]          scores position n being inside (1); outside (0) scores 0
    transitions[..., i, j]  (..., 2, 2) scores label i at n followed by j at n+1, shared by all n
    lengths                 (...,) from 0 to N
    mask                    True where a position may be inside, broadcastable to scores

    A value is (N,): 1 inside, 0 outside and beyond the length. `marginals` is (..., N), p(z_n = 1).
    """

    def __init__(
        self,
        scores: Scores,
        transitions: Scores,
        *,
        lengths: Lengths = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        scores, transitions = as_floats(scores=scores, transitions=transitions)
        check_axes("scores", scores, "N", [None])
        check_axes("transitions", transitions, "CC", [2, 2])
        scores = apply_mask(scores, mask, 1)
        self.lengths = as_lengths(lengths, scores.shape[-1], scores.device)
        batch = joint_batch(
            scores=scores.shape[:-1], transitions=transitions.shape[:-2], lengths=shape_of(self.lengths)
        )
        potentials = [expand_batch(scores, batch, 1), expand_batch(transitions, batch, 2)]
        super().__init__(potentials, batch, (1, 2), lengths=(self.lengths,), backend=backend)

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        scores, transitions = parts
        nodes = torch.stack([semiring.ones_like(scores), scores], -1)  # (..., N, 2)
        edges = transitions.unsqueeze(-3).expand(*transitions.shape[:-2], max(scores.shape[-1] - 1, 0), 2, 2)
        return forward_algorithm(semiring, edges, nodes, self.lengths)

    def score(self, value: Tensor) -> Tensor:
        scores, transitions = self.potentials
        present = self._as_parts("value", value)
        inside = before_end(self.lengths, self.event_shape[0], scores.device)
        pairs = 2 * present[..., :-1].long() + present[..., 1:].long()  # (..., N−1) of the 4 pairs
        batch = torch.broadcast_shapes(pairs.shape[:-1], transitions.shape[:-2])
        between = transitions.flatten(-2).expand(*batch, 4).gather(-1, pairs.expand(*batch, -1))
        total = torch.where(present, scores, 0.0).sum(-1) + torch.where(inside[..., 1:], between, 0.0).sum(-1)
        valid = (inside | ~present).all(-1) & (total > NEGATIVE_INFINITY)
        return torch.where(valid, total, NEGATIVE_INFINITY)

    def value_of(self, states: Tensor) -> Tensor:
        """The value (..., N) of states (..., N): 1 inside a segment."""
        return (as_tensor("states", states) == 1).to(self.potentials[0])

    def _perturbation(self, like: Tensor, generator: torch.Generator | None) -> Tensor:
        return logistic_noise(like, generator)

    def _has_kernel(self, kernel: str) -> bool:
        scores, transitions = self.potentials
        return self.backend == "auto" and scores.shape[-1] > 1 and kernels.available(kernel, transitions)

    def _folded(self, kernel: str) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """For the chain kernels: init (B, 2), edges plus scores (B, N−1, 2, 2), lengths (B,); or None."""
        scores, transitions = self.potentials
        if not self._has_kernel(kernel):
            return None
        nodes = torch.stack([torch.zeros_like(scores), scores], -1)
        edges = transitions.unsqueeze(-3) + nodes[..., 1:, :].unsqueeze(-2)
        init = flatten_batch(nodes[..., 0, :], self.batch_shape, 1)
        return init, flatten_batch(edges, self.batch_shape, 3), self._flat_lengths()

    def _fast_marginals(self) -> Tensor | None:
        if not self._has_kernel("segments"):
            return None
        scores, transitions = self.potentials
        inside = kernels.segment_marginals(
            flatten_batch(scores, self.batch_shape, 1),
            flatten_batch(transitions, self.batch_shape, 2),
            self._flat_lengths(),
        )
        return restore_batch(inside, self.batch_shape)
