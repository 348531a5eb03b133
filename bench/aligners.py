"""Unsupervised word alignment: IBM model 1 and an HMM, both a chain of `regard.structures` trained by EM.

A target word y_t is generated from the source word at position z_t, or from the empty word:

    IBM-1   p(y, z | x) = Π_t p(z_t) p(y_t | x_{z_t})              p(z_t) uniform (Brown et al. 1993)
    HMM     p(y, z | x) = Π_t p(z_t | z_{t−1}) p(y_t | x_{z_t})    p(j | i) ∝ c(j − i) (Vogel et al. 1996)

Both are a `PositionChain` over the source positions, without and with transitions. Its marginals are the
expected counts of word pairs; the gradient of its log-partition by the transitions gives the expected counts
of jumps. In the HMM every position has a second state for the empty word, which remembers that position (Och
and Ney 2003).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from regard.structures import PositionChain

Pair = tuple[Sequence[str], Sequence[str]]
Links = set[tuple[int, int]]
"""(source position, target position), from 0."""
FLOOR = 1e-12


@dataclass
class Bundle:
    """Sentence pairs whose sources have the same length.

    rows      indices of the pairs
    entries   (B, T, S + 1) ids of the word pairs; the last column is the pair with the empty source word
    lengths   (B,) lengths of the targets
    """

    rows: list[int]
    entries: Tensor
    lengths: Tensor


@dataclass
class Corpus:
    """Sentence pairs, with an id for every word pair that co-occurs in one of them.

    source    (E,) source word of each word pair; 0 is the empty word
    """

    bundles: list[Bundle]
    source: np.ndarray
    words: int
    pairs: list[Pair] = field(repr=False, default_factory=list)

    @classmethod
    def of(cls, pairs: Sequence[Pair], *, rows: int = 1000) -> Corpus:
        names: tuple[dict[str, int], dict[str, int]] = ({"": 0}, {})
        numbered = [
            [
                [side.setdefault(word, len(side)) for word in words]
                for words, side in zip(pair, names, strict=True)
            ]
            for pair in pairs
        ]
        known: dict[tuple[int, int], int] = {}
        by_length: dict[int, list[int]] = defaultdict(list)
        for row, (source, target) in enumerate(numbered):
            if source and target:
                by_length[len(source)].append(row)
        bundles = []
        for _, found in sorted(by_length.items()):
            found.sort(key=lambda row: len(numbered[row][1]))
            for first in range(0, len(found), rows):
                chunk = found[first : first + rows]
                longest = max(len(numbered[row][1]) for row in chunk)
                entries = np.zeros((len(chunk), longest, len(numbered[chunk[0]][0]) + 1), dtype=np.int64)
                for place, row in enumerate(chunk):
                    source, target = numbered[row]
                    for t, word in enumerate(target):
                        for s, other in enumerate((*source, 0)):
                            entries[place, t, s] = known.setdefault((other, word), len(known))
                lengths = torch.tensor([len(numbered[row][1]) for row in chunk])
                bundles.append(Bundle(chunk, torch.from_numpy(entries), lengths))
        return cls(bundles, np.array([other for other, _ in known]), len(names[0]), list(pairs))


@dataclass
class IBM1:
    """t(y | x) of every word pair, by `passes` of EM from a uniform start."""

    corpus: Corpus
    passes: int = 5
    table: Tensor = field(init=False)
    log_likelihood: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.table = _normalized(torch.ones(len(self.corpus.source), dtype=torch.float64), self.corpus)
        for _ in range(self.passes):
            counts = torch.zeros_like(self.table)
            total = 0.0
            for bundle in self.corpus.bundles:
                chain = self.chain(bundle)
                counts += _counted(bundle.entries, chain.marginals, len(counts))
                total += float(chain.log_partition.sum())
            self.log_likelihood.append(total)
            self.table = _normalized(counts, self.corpus)

    def chain(self, bundle: Bundle) -> PositionChain:
        """p(z | x, y) of the pairs of a bundle: states 0 … S − 1 are positions, S is the empty word."""
        states = bundle.entries.shape[-1]
        scores = self.table[bundle.entries].clamp_min(FLOOR).log() - float(np.log(states))
        return PositionChain(scores, lengths=bundle.lengths)

    def links(self) -> dict[int, Links]:
        """{row: links}: the most probable source position of each target word; no link for the empty word."""
        found: dict[int, Links] = {}
        for bundle in self.corpus.bundles:
            found.update(_decoded(bundle, self.chain(bundle).marginals))
        return found


@dataclass
class HMM:
    """The table of IBM-1 and a distribution of jumps, by `passes` of EM that start from a trained IBM-1.

    none      probability that a target word is generated from the empty word
    furthest  jumps from −furthest to furthest have one weight each; longer ones share the last
    """

    start: IBM1
    passes: int = 5
    none: float = 0.2
    furthest: int = 40
    table: Tensor = field(init=False)
    jumps: Tensor = field(init=False)
    log_likelihood: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.corpus, self.table = self.start.corpus, self.start.table
        self.jumps = torch.ones(2 * self.furthest + 1, dtype=torch.float64)
        for _ in range(self.passes):
            counts, jumped, total = torch.zeros_like(self.table), torch.zeros_like(self.jumps), 0.0
            for bundle in self.corpus.bundles:
                chain, scores, moves = self.chain(bundle)
                value = chain.log_partition.sum()
                total += float(value.detach())
                by_score, by_move = torch.autograd.grad(value, (scores, moves), materialize_grads=True)
                counts += _counted(bundle.entries, _folded(by_score), len(counts))
                jumped += self._jumped(by_move)
            self.log_likelihood.append(total)
            self.table = _normalized(counts, self.corpus)
            self.jumps = jumped / jumped.sum() + 1e-6

    def chain(self, bundle: Bundle) -> tuple[PositionChain, Tensor, Tensor]:
        """p(z | x, y), its scores and transitions. States: S positions, then the empty word after each of
        them."""
        size = bundle.entries.shape[-1] - 1
        said = self.table[bundle.entries].clamp_min(FLOOR).log()
        scores = torch.cat([said[..., :size], said[..., size:].expand(*said.shape[:-1], size)], -1)
        moves = self._moves(size)
        begin = torch.cat(
            [torch.full((size,), (1 - self.none) / size), torch.full((size,), self.none / size)]
        )
        scores = scores.clone()
        scores[:, 0] += begin.to(scores).log()
        scores.requires_grad_()
        moves.requires_grad_()
        return PositionChain(scores, moves, lengths=bundle.lengths), scores, moves

    def _moves(self, size: int) -> Tensor:
        """log p(state | state before), (2S, 2S)."""
        places = torch.arange(size)
        distance = (places[None] - places[:, None]).clamp(-self.furthest, self.furthest) + self.furthest
        jump = self.jumps[distance]
        jump = (1 - self.none) * jump / jump.sum(1, keepdim=True)
        stay = self.none * torch.eye(size, dtype=jump.dtype)
        return torch.cat([torch.cat([jump, stay], 1)] * 2).clamp_min(FLOOR).log()

    def _jumped(self, moved: Tensor) -> Tensor:
        """Expected count of each jump distance, from the expected transitions (2S, 2S)."""
        size = len(moved) // 2
        counts = moved[:size, :size] + moved[size:, :size]
        places = torch.arange(size)
        distance = (places[None] - places[:, None]).clamp(-self.furthest, self.furthest) + self.furthest
        return torch.zeros_like(self.jumps).index_add(0, distance.flatten(), counts.flatten())

    def links(self) -> dict[int, Links]:
        """{row: links}: the most probable source position of each target word; no link for the empty word."""
        found: dict[int, Links] = {}
        for bundle in self.corpus.bundles:
            chain, _, _ = self.chain(bundle)
            found.update(_decoded(bundle, _folded(chain.marginals.detach())))
        return found


def _folded(states: Tensor) -> Tensor:
    """(…, 2S) → (…, S + 1): sum the S states of the empty word."""
    size = states.shape[-1] // 2
    return torch.cat([states[..., :size], states[..., size:].sum(-1, keepdim=True)], -1)


def _counted(entries: Tensor, weights: Tensor, count: int) -> Tensor:
    """Expected counts of word pairs; the weights are 0 beyond a target's length."""
    return torch.bincount(entries.flatten(), weights.flatten(), minlength=count)


def _normalized(counts: Tensor, corpus: Corpus) -> Tensor:
    """Normalize counts to p(target word | source word)."""
    source = torch.from_numpy(corpus.source)
    totals = torch.bincount(source, counts, minlength=corpus.words)
    return counts / totals.clamp_min(FLOOR)[source]


def _decoded(bundle: Bundle, marginals: Tensor) -> Iterator[tuple[int, Links]]:
    best, none = marginals.argmax(-1), marginals.shape[-1] - 1
    for place, row in enumerate(bundle.rows):
        chosen = best[place, : bundle.lengths[place]].tolist()
        yield row, {(s, t) for t, s in enumerate(chosen) if s != none}


def symmetrized(forth: Links, back: Links) -> Links:
    """Merge both directions. Start from their intersection, grow it by neighboring links of either direction
    (Och and Ney 2003), then add links between words that are still unaligned."""
    found, either = forth & back, forth | back
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    grown = True
    while grown:
        grown = False
        for source, target in sorted(found):
            for i, j in around:
                link = (source + i, target + j)
                free = all(s != link[0] for s, _ in found) or all(t != link[1] for _, t in found)
                if link in either and link not in found and free:
                    found.add(link)
                    grown = True
    for link in sorted(either - found):
        if all(s != link[0] for s, _ in found) and all(t != link[1] for _, t in found):
            found.add(link)
    return found


def diagonal(source: int, target: int) -> Links:
    """Link each target word with the source word at the same relative position."""
    return {(min(source - 1, int((t + 0.5) * source / target)), t) for t in range(target)}
