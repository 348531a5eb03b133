"""Segments that are forced or forbidden: the exact marginals of a binary chain under such rules.

A rule is about a whole segment [a, b): z_a … z_{b−1} = 1, and z_{a−1} = z_b = 0 where these positions exist. What is
forced is given to the chain: the other state of a position scores −∞. What is forbidden is no sum over neighbors; with
F what is forced and E a set of forbidden segments, inclusion and exclusion gives

    p(z_s = 1 | rules) = Σ_E (−1)^|E| Z(F ∪ E) p(z_s = 1 | F ∪ E) / Σ_E (−1)^|E| Z(F ∪ E)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from regard.errors import Option, RegardError
from regard.structures import LinearChain

EVERY, NO_RULE = -1, -2
"""The step of a rule for every step, and of padding."""
MOST_FORBIDDEN = 6
"""The largest number of forbidden segments of one step: their sets are enumerated."""
Rule = tuple[int, int, bool]
"""Start, end, and whether the segment is forced."""


def rules_at(rules: Tensor, row: int, step: int) -> list[Rule]:
    """The rules (B, R, 4) of a row for one step: step, start, end, 1 if forced."""
    given = rules[row].tolist()
    return [(start, end, force == 1) for at, start, end, force in given if at in (step, EVERY)]


def ruled(scores: Tensor, transitions: Tensor, mask: Tensor, rules: Sequence[Rule]) -> Tensor:
    """(S) the marginals under the rules, from scores (S), transitions (2, 2) and the mask (S)."""
    length = int(mask.nonzero().max()) + 1 if bool(mask.any()) else 0
    forced = [rule for rule in rules if rule[2]]
    forbidden = [rule for rule in rules if not rule[2]]
    if len(forbidden) > MOST_FORBIDDEN:
        raise RegardError(
            f"{len(forbidden)} segments of one step are forbidden; at most {MOST_FORBIDDEN} can be.",
            where=Option("look"),
            fix="Forbid fewer, or force the segment that should be there.",
        )
    sets = [chosen for count in range(len(forbidden) + 1) for chosen in combinations(forbidden, count)]
    nodes = torch.stack([_nodes(scores, mask, length, [*forced, *one]) for one in sets])  # (E, N, 2)
    chain = LinearChain(transitions.double(), nodes, backend="reference")
    sums = chain.log_partition  # (E)
    signs = torch.tensor([(-1.0) ** len(one) for one in sets], dtype=torch.float64, device=scores.device)
    shares = torch.where(sums > -torch.inf, signs * (sums - sums.max()).exp(), 0.0)
    if not bool(shares.sum() > 1e-12):
        raise RegardError(
            "no segmentation obeys these segments.", where=Option("look"), fix="Leave one of them out."
        )
    inside = torch.where(shares[:, None] != 0, chain.node_marginals[..., 1], 0.0)  # (E, N)
    found = (shares[:, None] * inside).sum(0) / shares.sum()
    weights = torch.zeros_like(scores)
    weights[:length] = found.clamp(0.0, 1.0).to(scores.dtype)
    return weights


def _nodes(scores: Tensor, mask: Tensor, length: int, segments: Sequence[Rule]) -> Tensor:
    """(N, 2) the scores of outside and inside, −∞ where a segment leaves no choice."""
    inside = torch.where(mask, scores, -torch.inf)[:length].double()
    nodes = torch.stack([torch.zeros_like(inside), inside], -1)
    for start, end, _ in segments:
        nodes[start:end, 0] = -torch.inf
        for edge in (start - 1, end):
            if 0 <= edge < length:
                nodes[edge, 1] = -torch.inf
    return nodes
