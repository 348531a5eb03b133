"""BackPointers: from the back-pointers of a beam search to whole hypotheses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.data.batch import PAD
from regard.nn.search.finished import Finished
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.unfinished import Unfinished


@dataclass
class BackPointers:
    """The record of every step t of all sources, by slots of the beam before (in) and after (out) the step.

    end                      the id that ends a hypothesis
    words, parents, totals   (B, K) by out-slot: the token, the in-slot it continues, the log-probability so far
    looks                    (B, K, S) by in-slot and memory: the attention weights of the step
    """

    end: int
    words: list[Tensor] = field(default_factory=list)
    parents: list[Tensor] = field(default_factory=list)
    totals: list[Tensor] = field(default_factory=list)
    looks: list[dict[str, Tensor]] = field(default_factory=list)

    def keep(
        self,
        unfinished: Unfinished,
        words: Tensor,
        parents: Tensor,
        totals: Tensor,
        looks: Mapping[str, Tensor],
    ) -> None:
        """Record one step of the unfinished sources."""
        self.words.append(unfinished.restore(words))
        self.parents.append(unfinished.restore(parents))
        self.totals.append(unfinished.restore(totals))
        self.looks.append({name: unfinished.restore(look) for name, look in looks.items()})

    def follow(self, finished: Finished, best: int, steps: int | None = None) -> Hypotheses:
        """Walk back from the end of each of the `best` finished hypotheses.

        steps   number of steps in the result; None: those of the longest hypothesis
        """
        ends, slots, totals = finished.steps[:, :best], finished.slots[:, :best], finished.totals[:, :best]
        exists = totals > -torch.inf
        lengths = torch.where(exists, ends + 1, 0)
        if steps is None:
            steps = int(lengths.max()) if lengths.numel() else 0
        words, reached, places = [], [], []
        after = slots
        for t in reversed(range(steps)):
            inside, ending = exists & (t < ends), exists & (t == ends)
            out = torch.where(inside, after, 0)
            place = torch.where(inside, self.parents[t].gather(1, out), slots)
            word = torch.where(inside, self.words[t].gather(1, out), PAD)
            words.append(torch.where(ending, self.end, word))
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
            self.end,
        )

    def _attention(self, places: list[Tensor], real: Tensor) -> dict[str, Tensor]:
        """(B, K, T, S) by memory: the attention of each hypothesis, found along its in-slots."""
        attention = {}
        for name in self.looks[0]:
            rows = []
            for t, place in enumerate(places):
                look = self.looks[t][name]
                place = place.clamp(max=look.shape[1] - 1).unsqueeze(-1).expand(-1, -1, look.shape[2])
                rows.append(look.gather(1, place))
            attention[name] = torch.where(real.unsqueeze(-1), torch.stack(rows, 2), 0)
        return attention
