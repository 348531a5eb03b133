"""Soft parents: every position of a memory looks for its head in the same memory.

    h_0 … h_N = BiLSTM(x_0, x_1, …, x_N)                   x_0 the vector of the root symbol, learned
    arcs[h, m] = v · tanh(W h_h + U h_m + b)   (additive)      how well h is the head of m
               = h_h · W h_m + w · h_h          (general)
    p(h → m)  = the marginals of a distribution over heads:

        softmax      each word chooses its head on its own                              (simple self-attention)
        projective   a tree whose arcs do not cross: Eisner's algorithm                  (syntactic attention, Kim 2017)
        spanning     any tree: the matrix-tree theorem
        given        the heads of a tree that comes with the data

    soft parent of m = Σ_h p(h → m) x_h

The recurrent network sees the values times `gain`, so that their features are of about one (√D for embeddings).

The values stay what they were, so that words meet their heads and nothing else of their surroundings: the recurrent
network decides who the parent is, not what is known of it.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.arcs import Arcs, ParentSelection
from regard.nn.cells import CellName
from regard.nn.encoders.layer import RecurrentLayer
from regard.nn.packing import Packing
from regard.nn.selections import masked_softmax
from regard.structures import ProjectiveTree, SpanningTree

ArcScore = Literal["additive", "general"]

SELECTIONS: tuple[ParentSelection, ...] = ("softmax", "projective", "spanning", "given")


class ArcScores(nn.Module):
    """Positions (B, N+1, D) → arcs (B, N+1, N+1): `arcs[h, m]` scores h as the head of m."""

    def __init__(self, size: int, *, score: ArcScore = "additive", hidden: int | None = None) -> None:
        super().__init__()
        hidden = hidden or size
        self.score = score
        if score == "additive":
            self.head, self.modifier = nn.Linear(size, hidden), nn.Linear(size, hidden, bias=False)
            self.vector = nn.Parameter(torch.randn(hidden) * hidden**-0.5)
        elif score == "general":
            self.head, self.modifier = nn.Linear(size, hidden), nn.Linear(size, hidden, bias=False)
            self.alone = nn.Linear(size, 1, bias=False)
            self.scale = hidden**-0.5
        else:
            raise RegardError(f"There is no score {score!r} of arcs.", fix="Choose additive or general.")

    def forward(self, states: Tensor) -> Tensor:
        heads, modifiers = self.head(states), self.modifier(states)  # (B, N+1, A)
        if self.score == "additive":
            return torch.tanh(heads.unsqueeze(2) + modifiers.unsqueeze(1)) @ self.vector
        together: Tensor = self.scale * heads @ modifiers.transpose(1, 2) + self.alone(states)
        return together


class Parents(nn.Module):
    """Values (B, N, D) of words → their soft parents (B, N, D) and the arcs behind them.

    size      of the recurrent network that reads the values, in each direction
    hidden    features in which head and modifier are compared; twice the size when absent
    gain      what the values are multiplied with before they are read
    """

    def __init__(
        self,
        value_size: int,
        *,
        select: ParentSelection = "projective",
        score: ArcScore = "additive",
        cell: CellName = "lstm",
        size: int = 64,
        hidden: int | None = None,
        dropout: float = 0.0,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        if select not in SELECTIONS:
            raise RegardError(
                f"There is no selection of parents {select!r}.", fix=f"Choose one of {', '.join(SELECTIONS)}."
            )
        self.select: ParentSelection = select
        self.root = nn.Parameter(torch.randn(value_size) / gain)
        self.gain = gain
        self.dropout = nn.Dropout(dropout)
        self.reader: RecurrentLayer | None = None
        self.scores: ArcScores | None = None
        if select != "given":
            self.reader = RecurrentLayer(value_size, size, cell=cell, bidirectional=True)
            self.scores = ArcScores(2 * size, score=score, hidden=hidden)

    def forward(
        self,
        values: Tensor,
        lengths: Tensor,
        heads: Tensor | None = None,
        *,
        counts: Tensor | None = None,
    ) -> tuple[Tensor, Arcs]:
        """heads (B, N) int64, 0 the root symbol, where the selection is `given`.

        counts   the lengths on the processor, where they are known there
        """
        rooted = torch.cat([self.root.expand(len(values), 1, -1), values], 1)  # (B, N+1, D)
        arcs = (
            self._given(rooted, lengths, heads)
            if self.select == "given"
            else self._found(rooted, lengths, counts)
        )
        parents = arcs.marginals[:, :, 1:].transpose(1, 2).to(rooted.dtype) @ rooted  # (B, N, D)
        return parents, arcs

    def _found(self, rooted: Tensor, lengths: Tensor, counts: Tensor | None) -> Arcs:
        reader, score = self.reader, self.scores
        if reader is None or score is None:
            raise RegardError("These parents are given; there is nothing to find.")
        packing = Packing.of(lengths + 1, rooted.shape[1], None if counts is None else counts + 1)
        states = packing.unpack(
            reader(packing.pack(self.dropout(rooted * self.gain)), packing)[0]
        )  # (B, N+1, 2·size)
        scores = score(self.dropout(states))
        if self.select == "softmax":
            return Arcs(scores, self._alone(scores, lengths), lengths, self.select)
        structure = ProjectiveTree if self.select == "projective" else SpanningTree
        return Arcs(scores, structure(scores, lengths=lengths).marginals, lengths, self.select)

    @staticmethod
    def _alone(scores: Tensor, lengths: Tensor) -> Tensor:
        """Each word's head by a softmax over all other positions and the root symbol."""
        places = torch.arange(scores.shape[1], device=scores.device)
        exists = places <= lengths[:, None]  # (B, N+1)
        allowed = exists[:, None, :] & (places[:, None] != places)  # (B, m, h)
        chosen = masked_softmax(scores.transpose(1, 2), allowed).transpose(1, 2)
        word = exists & (places > 0)
        return chosen * word[:, None, :]

    def _given(self, rooted: Tensor, lengths: Tensor, heads: Tensor | None) -> Arcs:
        if heads is None:
            raise RegardError(
                "These parents are given with the data, and no tree came.",
                fix="Add a tree column of this input, or choose select: projective.",
            )
        places = torch.arange(rooted.shape[1], device=rooted.device)
        words = (places[1:] <= lengths[:, None]).unsqueeze(1)  # (B, 1, N)
        hard = ((heads.unsqueeze(1) == places[:, None]) & words).to(rooted.dtype)  # (B, N+1, N)
        marginals = nn.functional.pad(hard, (1, 0))
        return Arcs(marginals, marginals, lengths, self.select)
