"""Hypotheses: the result of a search, and what a search keeps of them on the way.

`Unfinished` are the sources that are still searched, `Finished` the hypotheses of a beam that have ended, and
`BackPointers` the steps of a beam, from which whole hypotheses are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import torch
from torch import Tensor

from regard.data.batch import END, PAD


@dataclass(frozen=True)
class Hypotheses:
    """K outputs for each of B sources, the best first.

    tokens        (B, K, T) padded with PAD; the last token of each is END
    lengths       (B, K) number of tokens, including END; 0 if there is no such hypothesis
    scores        (B, K) log-probability of the whole output
    token_scores  (B, K, T) log-probability of each token, 0 for padding
    attention     by attended memory, (B, K, T, S): row t holds the attention weights of token t
    end           the id of END
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor
    token_scores: Tensor
    attention: dict[str, Tensor]
    end: int = END

    def cut(self) -> Hypotheses:
        """Without the steps at the end that no hypothesis uses."""
        longest = int(self.lengths.max()) if self.lengths.numel() else 0
        return self.narrowed(steps=longest)

    def narrowed(self, *, rows: int | None = None, steps: int | None = None) -> Hypotheses:
        """The first `rows` sources and the first `steps` steps."""
        return replace(
            self,
            tokens=self.tokens[:rows, :, :steps],
            lengths=self.lengths[:rows],
            scores=self.scores[:rows],
            token_scores=self.token_scores[:rows, :, :steps],
            attention={name: looks[:rows, :, :steps] for name, looks in self.attention.items()},
        )

    def ranked(self, order: Tensor) -> Hypotheses:
        """Some hypotheses of each source in another order; order (B, K') their ranks, K for none."""
        there = order < self.lengths.shape[1]
        places = order.clamp(max=self.lengths.shape[1] - 1)

        def follow(tensor: Tensor) -> Tensor:
            shape = (*places.shape, *[1] * (tensor.dim() - 2))
            index = places.view(shape).expand(*places.shape, *tensor.shape[2:])
            return torch.where(there.view(shape), tensor.gather(1, index), 0)

        found = replace(
            self,
            tokens=follow(self.tokens),
            lengths=follow(self.lengths),
            scores=follow(self.scores).masked_fill(~there, -torch.inf),
            token_scores=follow(self.token_scores),
            attention={name: follow(weights) for name, weights in self.attention.items()},
        )
        return found.cut()

    def copied(self, widths: Mapping[str, int]) -> Hypotheses:
        """A copy, with the attention cut to the given number of positions of each memory."""
        return replace(
            self,
            tokens=self.tokens.clone(),
            lengths=self.lengths.clone(),
            scores=self.scores.clone(),
            token_scores=self.token_scores.clone(),
            attention={name: looks[..., : widths[name]].clone() for name, looks in self.attention.items()},
        )

    def content(self, row: int, rank: int = 0) -> list[int]:
        """The ids of one hypothesis without its END."""
        ids: list[int] = self.tokens[row, rank, : int(self.lengths[row, rank])].tolist()
        return ids[:-1] if ids and ids[-1] == self.end else ids


SHARE = 0.25
"""Share of the unfinished sources that must be finished before they leave together:
each departure copies the rest."""


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Some of the `total` sources of a search.

    rows      (B') int64, their indices, in order
    numbers   the same as integers
    """

    total: int
    rows: Tensor
    numbers: Sequence[int]

    @staticmethod
    def all(total: int, device: torch.device) -> Unfinished:
        return Unfinished(total, torch.arange(total, device=device), range(total))

    def __len__(self) -> int:
        return len(self.numbers)

    def worth_leaving(self, finished: int) -> bool:
        """Whether this many finished sources should leave now."""
        return finished > 0 and finished >= SHARE * len(self)

    def select(self, kept: Tensor) -> Unfinished:
        """The sources that stay, given their indices among the unfinished ones, (B'') int64."""
        rows = self.rows.index_select(0, kept)
        return Unfinished(self.total, rows, rows.tolist())

    def pick(self, tensor: Tensor) -> Tensor:
        """(B, …) of all sources → (B', …) of the unfinished ones."""
        return tensor if len(self) == self.total else tensor.index_select(0, self.rows)

    def restore(self, tensor: Tensor) -> Tensor:
        """(B', …) of the unfinished sources → (B, …) of all, with zeros for sources that have left."""
        if len(self) == self.total:
            return tensor
        return tensor.new_zeros(self.total, *tensor.shape[1:]).index_copy_(0, self.rows, tensor)


def over_time(parts: Sequence[tuple[Unfinished, Tensor]]) -> Tensor:
    """Concatenate the results of consecutive steps, (n, B', K, …) for their unfinished sources, to one tensor
    (B, K, T, …)."""
    found = [
        unfinished.restore(torch.cat([tensor for _, tensor in together]).movedim(0, 2).contiguous())
        for unfinished, together in groupby(parts, lambda part: part[0])
    ]
    return found[0] if len(found) == 1 else torch.cat(found, 2)


@dataclass(frozen=True)
class Finished:
    """The best K finished hypotheses of each source so far, best first; a path is identified by its end.

    normalized   (B, K) score divided by the length penalty, −inf if there is no hypothesis yet
    totals       (B, K) log-probability
    steps        (B, K) the step at which END was written
    slots        (B, K) the slot of the beam from which END was written
    """

    normalized: Tensor
    totals: Tensor
    steps: Tensor
    slots: Tensor

    @staticmethod
    def empty(like: Tensor) -> Finished:
        """`like`: (B, K) floating point."""
        nothing = torch.full_like(like, -torch.inf)
        zeros = torch.zeros_like(like, dtype=torch.int64)
        return Finished(nothing, nothing, zeros, zeros)

    def add(self, normalized: Tensor, totals: Tensor, step: int | Tensor, slots: Tensor) -> Finished:
        """Candidates (B, C), −inf where there is none; the K best remain, the older first among equals."""
        size = self.totals.shape[1]
        every = torch.cat([self.normalized, normalized], 1)
        best, order = every.sort(dim=1, descending=True, stable=True)
        order = order[:, :size]

        def pick(old: Tensor, new: Tensor) -> Tensor:
            return torch.cat([old, new], 1).gather(1, order)

        return Finished(
            best[:, :size],
            pick(self.totals, totals),
            pick(self.steps, torch.zeros_like(slots) + step),
            pick(self.slots, slots),
        )

    def select(self, rows: Tensor) -> Finished:
        """The hypotheses of some of the sources, (B') int64."""
        return Finished(*(part.index_select(0, rows) for part in self.parts))

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.normalized, self.totals, self.steps, self.slots

    @staticmethod
    def joined(parts: Sequence[tuple[Tensor, Finished]]) -> Finished:
        """Join the hypotheses of some of the sources, given with their indices, to those of all."""
        if len(parts) == 1:
            return parts[0][1]
        order = torch.cat([rows for rows, _ in parts]).argsort()
        columns = zip(*(finished.parts for _, finished in parts), strict=True)
        return Finished(*(torch.cat(column)[order] for column in columns))

    def has(self, count: int) -> Tensor:
        """(B) whether a source has this many finished hypotheses."""
        return self.normalized[:, count - 1] > -torch.inf


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
