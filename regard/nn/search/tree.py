"""The hypotheses of a search as a tree: what was kept at each step, and why each ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.nn.search.hypotheses import BackPointers, Finished, Hypotheses


@dataclass
class SearchTree:
    """N hypotheses about one source, parents before children; the first is the root, which has no token.

    tokens    the token that each adds to its parent; −1 for the root
    parents   −1 for the root
    scores    log-probability of all tokens of a hypothesis
    ended     why it ended: "end", "pruned", "limit", "alive"; empty if it was continued
    ranks     the place among the answers, from 1; 0 for others
    looks     (S,) the attention while the token was chosen, by memory; that of the root is empty
    """

    tokens: list[int] = field(default_factory=lambda: [-1])
    parents: list[int] = field(default_factory=lambda: [-1])
    scores: list[float] = field(default_factory=lambda: [0.0])
    ended: list[str] = field(default_factory=lambda: [""])
    ranks: list[int] = field(default_factory=lambda: [0])
    looks: list[dict[str, Tensor]] = field(default_factory=lambda: [{}])

    def add(self, token: int, parent: int, score: float, looks: dict[str, Tensor], ended: str = "") -> int:
        """A new hypothesis; returns its number."""
        self.tokens.append(token)
        self.parents.append(parent)
        self.scores.append(score)
        self.ended.append(ended)
        self.ranks.append(0)
        self.looks.append(looks)
        return len(self.tokens) - 1

    def attention(self) -> dict[str, Tensor]:
        """(N, S) by memory; the row of the root is 0."""
        found = {}
        for name in self.looks[-1]:
            rows = [one[name] for one in self.looks[1:]]
            found[name] = torch.stack([torch.zeros_like(rows[0]), *rows])
        return found


def tree_of_hypotheses(found: Hypotheses, last: int | None = None) -> SearchTree:
    """The answers of the first source; equal beginnings are one hypothesis.

    last   the step at which an output had to end; None: not known
    """
    tree = SearchTree()
    known: dict[tuple[int, int], int] = {}
    for rank, length in enumerate(found.lengths[0].tolist()):
        node = 0
        for step, token in enumerate(found.tokens[0, rank, :length].tolist()):
            if (node, token) not in known:
                score = tree.scores[node] + float(found.token_scores[0, rank, step])
                looks = {name: rows[0, rank, step] for name, rows in found.attention.items()}
                known[node, token] = tree.add(token, node, score, looks)
            node = known[node, token]
        if node and not tree.ranks[node]:
            tree.ranks[node] = rank + 1
            tree.ended[node] = "limit" if last is not None and length > last else "end"
    return tree


Ending = tuple[int, int, float]
"""A hypothesis that wrote END: the step, the slot of the beam that it continues, its log-probability."""


def tree_of_beam(
    paths: BackPointers, finished: Finished, endings: Sequence[Ending], best: int, last: int
) -> SearchTree:
    """The tree of a beam search of one source.

    best   number of answers
    last   the step at which an output had to end
    """
    tree, before = SearchTree(), {0: 0}  # the hypothesis in each slot of the beam
    ends: dict[tuple[int, int], int] = {}
    steps = len(paths.words)
    for t in range(steps):
        words, parents, totals = (part[t][0].tolist() for part in (paths.words, paths.parents, paths.totals))
        now: dict[int, int] = {}

        def looks(slot: int, step: int = t) -> dict[str, Tensor]:
            return {name: rows[0, slot] for name, rows in paths.looks[step].items()}

        for _, slot, total in (one for one in endings if one[0] == t):
            ended = "limit" if t >= last else "end"
            ends[t, slot] = tree.add(paths.end, before[slot], total, looks(slot), ended)
        for slot, (word, parent, total) in enumerate(zip(words, parents, totals, strict=True)):
            if total > -torch.inf:
                now[slot] = tree.add(word, before[parent], total, looks(parent))
        before = now
    continued = set(tree.parents)
    for node, reason in enumerate(tree.ended):
        if node and not reason and node not in continued:
            tree.ended[node] = "alive" if node in before.values() else "pruned"
    pairs = zip(
        finished.steps[0].tolist(), finished.slots[0].tolist(), finished.totals[0].tolist(), strict=True
    )
    for rank, (step, slot, total) in enumerate(list(pairs)[:best], 1):
        if total > -torch.inf:
            tree.ranks[ends[step, slot]] = rank
    return tree
