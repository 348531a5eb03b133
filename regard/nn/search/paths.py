"""Paths: from the back-pointers of a beam search to whole hypotheses."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.data.batch import END, PAD
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.pool import Pool


@dataclass
class Paths:
    """What was kept of every step t, in slots of the beam before (in) and after (out) it.

    words, parents, totals   (B, K) by out-slot: the word, the in-slot it continues, the log-probability so far
    looks                    (B, K, S) by in-slot and memory: where the step looked
    """

    words: list[Tensor] = field(default_factory=list)
    parents: list[Tensor] = field(default_factory=list)
    totals: list[Tensor] = field(default_factory=list)
    looks: list[dict[str, Tensor]] = field(default_factory=list)

    def follow(self, pool: Pool, best: int) -> Hypotheses:
        """Walks back from where each of the `best` finished hypotheses ended."""
        ends, slots, totals = pool.steps[:, :best], pool.slots[:, :best], pool.totals[:, :best]
        exists = totals > -torch.inf
        lengths = torch.where(exists, ends + 1, 0)
        steps = int(lengths.max()) if lengths.numel() else 0
        words, reached, places = [], [], []
        after = slots
        for t in reversed(range(steps)):
            inside, ending = exists & (t < ends), exists & (t == ends)
            out = torch.where(inside, after, 0)
            place = torch.where(inside, self.parents[t].gather(1, out), slots)
            word = torch.where(inside, self.words[t].gather(1, out), PAD)
            words.append(torch.where(ending, END, word))
            total = torch.where(inside, self.totals[t].gather(1, out), 0)
            reached.append(torch.where(ending, totals, total))
            places.append(place)
            after = place
        tokens = torch.stack(words[::-1], 2)
        along = torch.stack(reached[::-1], 2)
        before = torch.cat([torch.zeros_like(along[..., :1]), along[..., :-1]], 2)
        real = torch.arange(steps, device=lengths.device) < lengths.unsqueeze(-1)
        return Hypotheses(
            tokens,
            lengths,
            totals,
            torch.where(real, along - before, 0),
            self._attention(places[::-1], real),
        )

    def _attention(self, places: list[Tensor], real: Tensor) -> dict[str, Tensor]:
        """(B, K, T, S) by memory: each hypothesis' own looks, found by the in-slots it went through."""
        attention = {}
        for name in self.looks[0]:
            rows = []
            for t, place in enumerate(places):
                look = self.looks[t][name]
                place = place.clamp(max=look.shape[1] - 1).unsqueeze(-1).expand(-1, -1, look.shape[2])
                rows.append(look.gather(1, place))
            attention[name] = torch.stack(rows, 2) * real.unsqueeze(-1)
        return attention
