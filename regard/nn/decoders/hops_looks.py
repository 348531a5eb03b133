"""The looks of a memory network: one hop after another, or a chain of facts that are selected jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention, Look
from regard.nn.memory import Memory
from regard.nn.selections import NOTHING, Given, Selection
from regard.nn.watching import record_of


@dataclass(frozen=True)
class HopReads:
    """Weights (B, K, S), the vectors read o_k (B, K, D), the state after the last hop (B, D),
    chosen facts (B, K)."""

    weights: Tensor
    read: Tensor
    state: Tensor
    facts: Tensor | None = None

    def put_back(self, places: Tensor, story: Memory) -> HopReads:
        """Weights and facts in terms of the whole story, given the places (B, R) of the sentences."""
        weights = self.weights.new_zeros(*self.weights.shape[:2], story.mask.shape[1])
        weights = weights.scatter_add(2, places.unsqueeze(1).expand_as(self.weights), self.weights)
        facts = self.facts
        if facts is not None:
            facts = torch.where(facts < 0, facts, places.gather(1, facts.clamp(min=0)))
        return replace(self, weights=weights, facts=facts)


class Unnormalized(Selection):
    """The scores themselves, with which a memory network may start training (linear start)."""

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        return scores * mask.unsqueeze(1)


class StoryLooks:
    """The looks into one story. Each of K hops reads it with its own tables, or all with the same.

    keys, values   K times (B, S, D)
    best           whether to return the chosen facts too
    """

    def __init__(self, attention: Attention, story: Memory, hops: int, *, tables: int, best: bool) -> None:
        self.attention, self.story, self.hops, self.best = attention, story, hops, best
        self.keys = self._by_hop(story.values if story.keys is None else story.keys, tables)
        self.values = self._by_hop(story.values, tables)

    def _by_hop(self, memory: Tensor, tables: int) -> list[Tensor]:
        return [memory] * self.hops if tables == 1 else list(memory.chunk(tables, -1))

    def in_turn(self, query: Tensor, carry: nn.Module, select: Selection | None) -> HopReads:
        """One hop after another, each with the state after the previous hop as its query:
        u_{k+1} = carry(u_k) + o_k"""
        score, looks = self.attention.score, list[Look]()
        state = query
        for k in range(self.hops):
            asked = state.unsqueeze(1)
            scores = score(asked, score.keys(self.keys[k]))  # (B, 1, S)
            memory = replace(self.story, values=self.values[k].unsqueeze(1))
            looks.append(self.attention.look(scores, memory, Given(step=k, query=asked), select=select))
            state = carry(state) + looks[-1].context.squeeze(1)
        together = torch.cat([look.weights for look in looks], 1)
        exists = self.story.mask.unsqueeze(1)
        facts = together.masked_fill(~exists, float("-inf")).argmax(-1) if self.best else None
        return HopReads(together, torch.cat([look.context for look in looks], 1), state, facts)

    def onward(self) -> Tensor:
        """(B, K − 1, S, S) scores of each sentence at the next hop,
        with the value read from another as the query."""
        score = self.attention.score
        pairs = [score(self.values[k], score.keys(self.keys[k + 1])) for k in range(self.hops - 1)]
        return torch.stack(pairs, 1)

    def together(
        self, query: Tensor, asked: Tensor, transitions: Tensor, *, fewer: bool = False
    ) -> list[HopReads]:
        """The chain of all K facts; with `fewer` the chains of the last L = 2 … K facts.

        asked         (B, K, Q) the query of each hop
        transitions   (B, K − 1, S, S) scores between the facts of two consecutive hops
        """
        score = self.attention.score
        scores = torch.cat(
            [score(asked[:, k : k + 1], score.keys(self.keys[k])) for k in range(self.hops)], 1
        )
        values = torch.stack(self.values, 1)  # (B, K, S, D)
        imposed, found = self.story.override, []
        for unused in range(self.hops - 2 if fewer else 0, -1, -1):  # unused hops before the first fact
            given = Given(transitions=transitions[:, unused:])
            memory = replace(
                self.story,
                values=values[:, unused:],
                override=None if imposed is None else imposed.later(unused),
            )
            look = self.attention.look(scores[:, unused:], memory, given)
            weights, read = (_padded(part, unused) for part in (look.weights, look.context))  # (B, K, …)
            facts = self._chosen(look, memory, given, unused) if self.best else None
            found.append(HopReads(weights, read, query + read.sum(1), facts))
        return found

    def _chosen(self, look: Look, memory: Memory, given: Given, unused: int) -> Tensor:
        """(B, K) the jointly most probable facts, −1 for hops without one."""
        select: Any = self.attention.select
        if (record := record_of(self.attention)) is not None and given.transitions is not None:
            nodes = look.scores.masked_fill(~memory.mask.unsqueeze(1), float("-inf"))
            record.add({"nodes": nodes, "pairs": given.transitions})
        best = select.chain(look.scores, memory.mask, given.transitions).mode.argmax(-1)
        if memory.override is not None:
            best = look.weights.argmax(-1)
        return nn.functional.pad(best, (unused, 0), value=-1)


def remembered(story: Memory) -> tuple[Memory, Tensor | None]:
    """The story without its forgotten sentences, and (B, R) the places of the kept ones in the whole story;
    the story itself and None if all are kept. The kept ones are consecutive: a story is forgotten from its
    beginning."""
    count, most = story.mask.shape[1], int(story.mask.sum(1).max())
    if most == count:
        return story, None
    places = story.mask.int().argmax(1)[:, None] + torch.arange(most, device=story.mask.device)
    inside, places = places < count, places.clamp(max=count - 1)

    def taken(part: Tensor) -> Tensor:
        """(B, S, D) → (B, R, D)"""
        return part.gather(1, places.unsqueeze(-1).expand(-1, -1, part.shape[-1]))

    shorter = replace(
        story,
        values=taken(story.values),
        keys=None if story.keys is None else taken(story.keys),
        mask=story.mask.gather(1, places) & inside,
        override=None if story.override is None else story.override.gathered(places),
    )
    return shorter, places


def _padded(tensor: Tensor, before: int) -> Tensor:
    """(B, T, …) with `before` rows of zeros before the first."""
    return nn.functional.pad(tensor, (0, 0, before, 0))


def chosen_rows(several: Sequence[Tensor], which: Tensor) -> Tensor:
    """Row b of several[which[b]]."""
    return torch.stack(list(several))[which, torch.arange(len(which), device=which.device)]
