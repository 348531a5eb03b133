"""Labels with scores of any pairs, whose exact sums are out of reach: approximate marginals.

    p(y) ∝ exp( Σ_n nodes[n, y_n] + Σ_{i<j} pairs[i, j, y_i, y_j] )

The exact sum costs C^N as soon as pairs form cycles. Two approximations, each with its bias:

    mean-field   the product q(y) = Π_n q_n(y_n) nearest to p in KL(q ‖ p). Its log-partition is a lower bound. It
                 ignores correlations: marginals are too sure, and of two symmetric modes it chooses one
    loopy        belief propagation on the graph as if it were a tree (Pearl 1988; Bethe's free energy, Yedidia et al.
                 2001). Exact without cycles. On a cycle, evidence comes back and counts again: with pairs that attract
                 each other, marginals are too sure. Its log-partition is no bound, and it may not converge

Results say which one they are; they are not a `Structure`, whose queries are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from regard.structures.potentials import Scores, as_floats, check_axes, joint_batch


@dataclass(frozen=True)
class Approximation:
    """Approximate sums of a `PairwiseField`.

    method         "mean-field" or "loopy"
    marginals      (..., N, C) approximately p(y_n = c)
    log_partition  (...,) approximately log Σ exp score: a lower bound if `bound` is "lower"
    bound          "lower", or "none"
    change         (...,) how much the marginals moved in the last step: large if the iteration did not converge
    """

    method: Literal["mean-field", "loopy"]
    marginals: Tensor
    log_partition: Tensor
    bound: Literal["lower", "none"]
    change: Tensor


class PairwiseField:
    """N variables with one of C labels each, and scores of their pairs.

    nodes[..., n, c]        scores label c of variable n; (..., N, C)
    pairs[..., i, j, a, b]  scores labels a of i and b of j, for i < j; (..., N, N, C, C). Other entries are ignored; 0
                            where two variables are not connected

    Scores are finite. Both approximations are differentiable: gradients pass through their steps.
    """

    approximate = True

    def __init__(self, nodes: Scores, pairs: Scores) -> None:
        nodes, pairs = as_floats(nodes=nodes, pairs=pairs)
        check_axes("nodes", nodes, "NC", [None, None])
        size, labels = nodes.shape[-2:]
        check_axes("pairs", pairs, "NNCC", [size, size, labels, labels])
        batch = joint_batch(nodes=nodes.shape[:-2], pairs=pairs.shape[:-4])
        above = torch.ones(size, size, dtype=torch.bool, device=nodes.device).triu(1)[..., None, None]
        half = torch.where(above, pairs, 0.0)
        self.nodes: Tensor = nodes.expand(*batch, size, labels)
        # [i, j, a, b] and [j, i, b, a] are the same score
        self.pairs: Tensor = (half + half.transpose(-4, -3).transpose(-2, -1)).expand(
            *batch, size, size, labels, labels
        )

    def score(self, labels: Tensor) -> Tensor:
        """(...,) the score of labels (..., N) int64."""
        hot = torch.nn.functional.one_hot(labels, self.nodes.shape[-1]).to(self.nodes)
        pairs = torch.einsum("...ia,...ijab,...jb->...", hot, self.pairs, hot) / 2
        return (hot * self.nodes).sum((-2, -1)) + pairs

    def mean_field(self, *, steps: int = 50) -> Approximation:
        """Coordinate ascent: q_n ∝ exp(nodes[n] + Σ_m E_q[pairs[n, m]]), one variable after another."""
        logs = self.nodes.log_softmax(-1)
        change = torch.zeros_like(logs[..., 0, 0])
        for _ in range(steps):
            before = logs
            for n in range(logs.shape[-2]):
                others = torch.einsum("...jab,...jb->...a", self.pairs[..., n, :, :, :], logs.exp())
                new = (self.nodes[..., n, :] + others).log_softmax(-1)
                logs = torch.cat([logs[..., :n, :], new.unsqueeze(-2), logs[..., n + 1 :, :]], -2)
            change = (logs.exp() - before.exp()).abs().amax((-2, -1))
        q = logs.exp()
        inside = torch.einsum("...ia,...ijab,...jb->...", q, self.pairs, q) / 2
        total = (q * (self.nodes - logs)).sum((-2, -1)) + inside
        return Approximation("mean-field", q, total, "lower", change.detach())

    def loopy(self, *, steps: int = 50, damping: float = 0.5) -> Approximation:
        """Belief propagation: all messages at once, each `damping` of the old one."""
        size = self.nodes.shape[-2]
        apart = ~torch.eye(size, dtype=torch.bool, device=self.nodes.device).unsqueeze(-1)
        messages = torch.zeros_like(self.pairs[..., 0])  # (..., i, j, b): from i to j
        marginals = self._beliefs(messages).softmax(-1)
        change = torch.zeros_like(marginals[..., 0, 0])
        for _ in range(steps):
            sent = self._without(messages).unsqueeze(-1) + self.pairs  # (..., i, j, a, b)
            new = sent.logsumexp(-2).log_softmax(-1)
            messages = torch.where(apart, damping * messages + (1 - damping) * new, 0.0)
            before, marginals = marginals, self._beliefs(messages).softmax(-1)
            change = (marginals - before).abs().amax((-2, -1))
        return Approximation("loopy", marginals, self._bethe(messages, marginals), "none", change.detach())

    def _beliefs(self, messages: Tensor) -> Tensor:
        """(..., N, C) a variable's score and all messages to it."""
        return self.nodes + messages.sum(-3)

    def _without(self, messages: Tensor) -> Tensor:
        """(..., i, j, a): what i knows without what j sent it."""
        return self._beliefs(messages).unsqueeze(-2) - messages.transpose(-3, -2)

    def _bethe(self, messages: Tensor, marginals: Tensor) -> Tensor:
        """Bethe's log-partition: Σ_ij (E[pairs] + H_ij) + Σ_n (E[nodes] − (N − 2) H_n), exact on trees."""
        size, labels = self.nodes.shape[-2:]
        known = self._without(messages)
        joint = self.pairs + known.unsqueeze(-1) + known.transpose(-3, -2).unsqueeze(-2)  # (..., i, j, a, b)
        logs = joint.flatten(-2).log_softmax(-1).unflatten(-1, (labels, labels))
        above = torch.ones(size, size, dtype=torch.bool, device=logs.device).triu(1)
        edges = torch.where(above, (logs.exp() * (self.pairs - logs)).sum((-2, -1)), 0.0).sum((-2, -1))
        entropy = torch.special.entr(marginals).sum((-2, -1))
        found: Tensor = edges + (marginals * self.nodes).sum((-2, -1)) - (size - 2) * entropy
        return found
