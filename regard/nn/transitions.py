"""Transitions: scores of one sentence following another as the next fact."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.products import pair_products

NEVER = -1e4
"""Score of staying at a fact if that is not allowed; finite, for stories of one sentence."""


class Transitions(nn.Module):
    """θ_k(i, j) = (P_k m_i + G_k u) · (R_k m_j + e_k[j − i]),   k = 1 … K−1.

    After fact i, given the question u, the score of fact j depends on its content (R_k m_j: the same person,
    …) and on its distance from i (e_k[j − i], clipped to ±`reach`: right before it, later, the same fact
    again).

    stay   False: consecutive facts are different sentences, and θ_k(i, i) is practically −∞
    """

    def __init__(
        self, steps: int, query_size: int, key_size: int, *, size: int, reach: int = 32, stay: bool = True
    ) -> None:
        super().__init__()
        self.steps, self.size, self.reach, self.stay = steps, size, reach, stay
        first = [nn.Linear(key_size, size, bias=False) for _ in range(steps)]
        second = [nn.Linear(key_size, size, bias=False) for _ in range(steps)]
        for before, after in zip(first, second, strict=True):
            # initially, a fact is followed by facts that share its words
            nn.init.orthogonal_(before.weight)
            after.weight.data.copy_(before.weight)
        self.first, self.second = nn.ModuleList(first), nn.ModuleList(second)
        self.question = nn.ModuleList(nn.Linear(query_size, size, bias=False) for _ in range(steps))
        self.distances = nn.Parameter(torch.randn(steps, 2 * reach + 1, size) * 0.1)

    def forward(self, query: Tensor, keys: list[Tensor]) -> Tensor:
        """query u (B, Q), the keys (B, S, D) of each hop → (B, K−1, S, S)."""
        return torch.stack([self._step(step, query, keys) for step in range(self.steps)], 1)

    def _step(self, step: int, query: Tensor, keys: list[Tensor]) -> Tensor:
        wanted = self.first[step](keys[step]) + self.question[step](query).unsqueeze(1)  # (B, S, A)
        found = self.second[step](keys[step + 1])
        count = found.shape[1]
        places = torch.arange(count, device=found.device)
        apart = torch.arange(1 - count, count, device=found.device).clamp(-self.reach, self.reach)
        by_distance = wanted @ self.distances[step, apart + self.reach].T  # (B, S, 2S−1)
        index = (places - places[:, None] + count - 1).expand(len(found), -1, -1)  # [i, j] → j − i + S − 1
        scores: Tensor = pair_products(wanted, found) + by_distance.gather(2, index)
        return scores if self.stay else scores + NEVER * torch.eye(count, device=scores.device)


class Following(nn.Module):
    """θ_k(i, j) = s_k(i, j) + D_k[j − i], where s_k scores fact j with the value of fact i as the query.

    Only D is learned; it starts at 0. The rest of the score comes from the vectors of the facts' words, as in
    hops that use the result of the previous hop as their query. `reach` and `stay` are as in `Transitions`.
    """

    def __init__(self, steps: int, *, reach: int = 32, stay: bool = True) -> None:
        super().__init__()
        self.reach, self.stay = reach, stay
        self.distances = nn.Parameter(torch.zeros(steps, 2 * reach + 1))

    def forward(self, asked: Tensor) -> Tensor:
        """s (B, K−1, S, S) → θ"""
        places = torch.arange(asked.shape[-1], device=asked.device)
        apart = (places - places[:, None]).clamp(-self.reach, self.reach)
        scores = asked + self.distances[:, apart + self.reach]
        return scores if self.stay else scores + NEVER * torch.eye(len(places), device=scores.device)
