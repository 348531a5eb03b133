"""Constituents decoder: one constituency tree over the positions of the input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batch import UNLABELED, UNSEEN, SpanLabels
from regard.data.brackets import NO_LABEL, BracketTree
from regard.errors import RegardError
from regard.nn.biaffine import Biaffine
from regard.nn.decoders.decoder import BatchView, PositionDecoder, Source
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.precision import at_least_single
from regard.nn.symbols import MemorySymbols
from regard.parts import Size, register
from regard.structures import BinaryTree
from regard.trace import Constituents, Trace
from regard.trace.prediction import Prediction

SpanDecoding = Literal["map", "marginal"]


@dataclass(frozen=True)
class ParsedSpans:
    """The trees found.

    labels        (B, N, N) the label of the words from i to j; UNLABELED for a span that is no constituent
    scores        (B) log p of the tree
    mask          (B, N)
    distribution  the distribution over labeled binary trees, for its marginals and samples; label 0: no constituent
    """

    labels: Tensor
    scores: Tensor
    mask: Tensor
    distribution: BinaryTree


@register("decoder", "constituents")
class ConstituentsDecoder(PositionDecoder):
    """A neural conditional random field over the constituency trees of the source named `of` (Durrett and Klein 2015).

        p(z | x) ∝ exp(Σ_{(i, j, c) ∈ z} s[i, j, c])          p(tree | x) = Σ_{z: z stands for the tree} p(z | x)

    z are all binary trees with a label on each span. Label 0 is none: a span without a label is no
    constituent, so that a tree whose nodes have any number of children is the sum over its binarizations.
    Nodes over the same words are one label (`regard.data.constituents`). s is biaffine in the memory's values
    at i and j. The inside algorithm computes both sums.

    decode   map: the most probable z. marginal: the z with the highest expected number of correct spans, label 0 among
             the labels (minimum Bayes risk)
    """

    class Options(PositionDecoder.Options):
        """A constituency tree over all positions: p(z) ∝ exp(Σ s[i, j, label]) over binary trees with labels, of which
        one is none; s is biaffine in the two ends of a span."""

        decode: SpanDecoding = "map"
        """map: the most probable binary tree; marginal: that with the highest expected number of correct spans."""
        size: Size = 128
        """Features in which the first and the last word of a span are compared."""

    writes = ("constituents",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> ConstituentsDecoder:
        return cls(
            column.size,
            sources,
            of=column.of[0],
            decode=options.decode,
            size=options.size,
            dropout=options.dropout,
        )

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j, length = memory.index, memory.length
        found = {
            "map": "the most probable tree, with the best label of each span",
            "marginal": "the tree and labels with the highest expected number of correct spans",
        }[options.decode]
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            f"p = 1 … {length}, ν = 1 … N     — N labels; 1: no constituent",
            f"a_{j} = {memory.values}",
            "u_yp = leaky(W_uy a_p + b_uy)",
            f"v_y{j} = leaky(W_vy a_{j} + b_vy)",
            f"f_p{j}ν = u_yp·B_yν v_y{j} + g_yν·u_yp + d_yν·v_y{j} + b_yν"
            f"     — the score of label ν for the words from p to {j}",
            f"e_p{j} = log(Σ_ν exp(f_p{j}ν))",
            f"y ∈ binary({length})     — all binary trees; y_p{j}: whether the words from p to {j} are a node",
            f"ψ(y) = Σ_p Σ_{j} y_p{j} e_p{j}",
            "p(y) = exp(ψ(y)) / Σ_y exp(ψ(y))     — by the inside algorithm",
            f"ρ_p{j} = softmax_ν(f_p{j}ν)     — p(label from p to {j} | it is a node)",
            "leaky(x) = max(x, 0.1 x)",
            f"— ends of spans compared in {options.size} features{dropout}",
            f"— prediction: {found}; nodes of label 1 are left out",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        found: Letters = {"spans.weight": frozenset(f"{letter}_yν" for letter in "Bgdb")}
        return found | linear("spans.heads", "W_uy", "b_uy") | linear("spans.dependents", "W_vy", "b_vy")

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j, length = memory.index, memory.length
        return [
            f"φ(y) = Σ_p Σ_{j} y_p{j} f_{{p,{j},ŷ_p{j}}}     — ŷ_p{j}: the true label from p to {j}, else 1",
            f"κ(y) = Σ_p Σ_{j} y_p{j} κ_p{j}     — κ_p{j}: whether p to {j} crosses a true constituent",
            f"loss = (log(Σ_y exp(ψ(y))) − log(Σ_y [κ(y) = 0] exp(φ(y)))) / {length}",
            "— over all binary trees that stand for the true tree; mean over the words",
        ]

    def __init__(
        self,
        labels: int,
        sources: Mapping[str, Source],
        *,
        of: str | None = None,
        decode: SpanDecoding = "map",
        size: int = 128,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.of = next(iter(sources)) if of is None else of
        if self.of not in sources:
            raise RegardError(
                f"A tree over {self.of!r} needs a source of that name; there are {', '.join(sources)}."
            )
        self.decode = decode
        self.spans = Biaffine(sources[self.of].value_size, size, labels + 1, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def span_scores(self, memory: Memory) -> Tensor:
        """s (B, N, N, C + 1): of each label for the words from i to j; label 0: no constituent."""
        table = self.spans.table(*self.spans.sides(self.dropout(memory.values)))  # (B, C + 1, N, N)
        return at_least_single(table.permute(0, 2, 3, 1))

    def distribution(self, memory: Memory) -> BinaryTree:
        """The distribution over labeled binary trees."""
        return BinaryTree(self.span_scores(memory), labeled=True, lengths=memory.mask.sum(-1))

    def log_prob(self, trees: BinaryTree, labels: Tensor, lengths: Tensor) -> Tensor:
        """(B) log p of the trees with these labels of spans (B, N, N), summed over their binarizations.

        A label that is not known (UNSEEN) may be any.
        """
        (scores,) = trees.potentials
        known = labels.masked_fill(labels == UNLABELED, -1) + 1  # 0: no constituent
        chosen = scores.gather(-1, known.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        chosen = torch.where(labels == UNSEEN, scores[..., 1:].logsumexp(-1), chosen)
        # A binary tree that crosses no constituent contains them all: it has as many spans as can be nested.
        standing = BinaryTree(chosen, lengths=lengths, mask=~crossing(labels != UNLABELED))
        return standing.log_partition - trees.log_partition

    def count(self, target: SpanLabels) -> Tensor:
        return target.lengths.sum()

    def loss(self, memories: Mapping[str, Memory], target: SpanLabels, *, truth: Any = None) -> Loss:
        """−log p of the trees; the count is of words."""
        memory = memories[self.of]
        if memory.mask.shape[1] != target.labels.shape[1]:
            raise RegardError(
                f"There are trees of {target.labels.shape[1]} words and {memory.mask.shape[1]} positions "
                f"of {self.of!r}.",
                fix="Every position must be a word of the tree.",
            )
        total = -self.log_prob(self.distribution(memory), target.labels, target.lengths).sum()
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> ParsedSpans:
        memory = memories[self.of]
        trees, lengths = self.distribution(memory), memory.mask.sum(-1)
        best = trees if self.decode == "map" else BinaryTree(trees.marginals, labeled=True, lengths=lengths)
        present, number = best.mode.max(-1)  # (B, N, N)
        labels = torch.where((present > 0) & (number > 0), number - 1, UNLABELED)
        return ParsedSpans(labels, self.log_prob(trees, labels, lengths), memory.mask, trees)

    def predictions(self, found: ParsedSpans, column: Any, view: BatchView) -> list[Prediction]:
        labels, lengths = found.labels.cpu().numpy(), found.mask.sum(1).tolist()
        marginals = found.distribution.marginals.cpu().numpy() if view.trace else None  # (B, N, N, C + 1)
        answers = []
        for row, (score, length) in enumerate(zip(found.scores.tolist(), lengths, strict=True)):
            words, table = view.inputs(row)[self.of], labels[row, :length, :length]
            tree = column.bracketed(words, table)
            text = tree.written() if any(tree.labels) else _bare(tree)
            seen = None
            if marginals is not None:
                shares = marginals[row, :length, :length]
                spans = _spans(tree)
                drawn = Constituents(
                    spans,
                    tree.labels,
                    np.array([shares[i, j, max(table[i, j], -1) + 1] for i, j in spans]),
                    shares[..., 1:].sum(-1),
                    *_truth(view, column, row, words),
                )
                structures = {self.of: drawn}
                seen = Trace(input=view.inputs(row), output=text.split(), structures=structures, kind="tree")
            answers.append(Prediction(text, text, score, seen))
        return answers

    def with_structures(
        self,
        answers: Sequence[Prediction],
        found: ParsedSpans,
        memories: Callable[[], Mapping[str, Memory]],
        *,
        samples: int,
        seed: int,
    ) -> list[Prediction]:
        """The answers, with the constituents of `samples` sampled trees in their traces."""
        if not samples:
            return list(answers)
        generator = torch.Generator(found.labels.device).manual_seed(seed)
        drawn = found.distribution.sample((samples,), generator=generator)[..., 1:].sum(-1).cpu().numpy()
        shown = []
        for row, answer in enumerate(answers):
            if answer.trace is not None:
                tree, words = answer.trace.structures[self.of], int(found.mask[row].sum())
                if isinstance(tree, Constituents):
                    tree = replace(tree, samples=drawn[:, row, :words, :words])
                answer = replace(answer, trace=replace(answer.trace, structures={self.of: tree}))
            shown.append(answer)
        return shown


def crossing(spans: Tensor) -> Tensor:
    """Which spans cross one of `spans` (B, N, N): they share some words, and each has words that the other lacks."""
    before = (
        nn.functional.pad(spans.int(), (1, 0, 1, 0)).cumsum(1).cumsum(2)
    )  # [a, b]: spans with i < a, j < b
    size = spans.shape[-1]
    first, last = torch.arange(size, device=spans.device)[:, None], torch.arange(size, device=spans.device)
    # those that start before i and end from i to j − 1, and those that start from i + 1 to j and end after j
    left = before[:, first, last] - before[:, first, first]
    right = (before[:, last + 1, -1:].mT - before[:, last + 1, last + 1].unsqueeze(1)) - (
        before[:, first + 1, -1] - before[:, first + 1, last + 1]
    )
    return ((left > 0) | (right > 0)) & (first <= last)


def _bare(tree: BracketTree) -> str:
    """A tree without any label, as text with labels."""
    return f"({NO_LABEL} {' '.join(tree.leaves)})"


def _spans(tree: BracketTree) -> np.ndarray:
    """(M, 2) the first and the last word of each node."""
    return np.array(tree.spans) - [0, 1]


def _truth(view: BatchView, column: Any, row: int, words: Sequence[str]) -> tuple[Any, Sequence[str]]:
    """The spans and labels of the true tree, if the batch has it."""
    if not isinstance(view.target, SpanLabels):
        return None, ()
    size = len(words)
    tree = column.bracketed(words, view.target.labels[row, :size, :size].numpy())
    return _spans(tree), tree.labels
