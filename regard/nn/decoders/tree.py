"""Tree decoder: a head and a relation for each position of the input, as one dependency tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batch import Trees
from regard.errors import RegardError
from regard.nn.biaffine import Biaffine
from regard.nn.decoders.decoder import BatchView, PositionDecoder, Source
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.precision import at_least_single
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, Size, register
from regard.structures import ProjectiveTree, SpanningTree
from regard.trace import Arcs, Potentials, Trace
from regard.trace.prediction import Prediction

TreeStructure = Literal["projective", "spanning"]
TreeDecoding = Literal["map", "marginal"]


@dataclass(frozen=True)
class ParsedTrees:
    """The trees found.

    heads         (B, N) from 1, 0 for the root symbol and for padding
    relations     (B, N), or None if the trees have none
    scores        (B) log p of the tree and its relations
    mask          (B, N)
    distribution  the distribution over trees, for its marginals and samples
    """

    heads: Tensor
    relations: Tensor | None
    scores: Tensor
    mask: Tensor
    distribution: ProjectiveTree | SpanningTree


@register("decoder", "tree")
class TreeDecoder(PositionDecoder):
    """A neural conditional random field over the dependency trees of the source named `of`.

        p(tree | x) ∝ exp(Σ_m s[head(m), m])          p(r_m | head(m), m, x) = softmax_c t[head(m), m, c]

    s and t are biaffine in the memory's values, preceded by a learned vector for the root symbol
    (position 0). The likelihood is exact: over all projective trees (Eisner 1996) or over all spanning trees
    (Koo et al. 2007).

    structure     the kind of trees; with "projective", training trees must be projective (`TreeColumn`
                  ensures it)
    decode        map: the most probable tree. marginal: the tree with the highest expected number of correct
                  heads, Σ_m p(head(m), m) (minimum Bayes risk). Then the most probable relation of each arc
    single_root   whether exactly one word is attached to the root symbol
    """

    class Options(PositionDecoder.Options):
        """A head and a relation for each position: p(tree) ∝ exp(Σ_m s[head(m), m]), p(r | arc) = softmax; s
        is biaffine."""

        structure: TreeStructure = "projective"
        """projective: no arcs cross (Eisner); spanning: they may (matrix-tree theorem)."""
        decode: TreeDecoding = "marginal"
        """map: the most probable tree;
        marginal: the tree with the highest expected number of correct heads."""
        nonprojective: Literal["lift", "refuse"] = "lift"
        """With structure projective: what to do with a training tree whose arcs cross. lift: lift
        non-projective arcs until the tree is projective; refuse: treat it as a bad row."""
        size: Size = 256
        """Features in which heads and dependents are compared."""
        relation_size: Size = 64
        """Features in which relations are compared."""

    writes = ("tree",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> TreeDecoder:
        return cls(
            column.size,
            sources,
            of=column.of[0],
            structure=options.structure,
            decode=options.decode,
            single_root=column.single_root,
            size=options.size,
            relation_size=options.relation_size,
            dropout=options.dropout,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        if options.structure == "spanning" and "nonprojective" in options.model_fields_set:
            mistakes.add(
                "nonprojective has no effect: arcs of structure: spanning may cross.",
                "nonprojective",
                fix="Leave nonprojective out, or use structure: projective.",
            )

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {"nonprojective": options.nonprojective} if options.structure == "projective" else {}

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j, length = memory.index, memory.length
        how = "Eisner's algorithm" if options.structure == "projective" else "the matrix-tree theorem"
        found = {
            "map": "the most probable tree",
            "marginal": "the tree with the highest expected number of correct heads",
        }[options.decode]
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            f"p = 0 … {length}, ν = 1 … N     — N relations",
            f"a_{j} = {memory.values}     — a_0: the root symbol, learned",
            *_biaffine(f"e_p{j}", f"the score of p as the head of {j}", j, "y", "y"),
            f"y ∈ {options.structure}({length})     — all such trees with one root; y_{j}: the head of {j}",
            f"ψ(y) = Σ_{j} e_{{y_{j},{j}}}",
            f"p(y) = exp(ψ(y)) / Σ_y exp(ψ(y))     — by {how}",
            *_biaffine(f"f_p{j}ν", f"the score of relation ν for an arc from p to {j}", j, "r", "rν"),
            f"ρ_p{j} = softmax_ν(f_p{j}ν)     — p(relation of {j} | p is its head)",
            "leaky(x) = max(x, 0.1 x)",
            f"— heads compared in {options.size} features, relations in {options.relation_size}{dropout}",
            f"— prediction: {found}, then the best relation of each arc",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        found: Letters = {"root": "a_0"}
        for path, mark, output in (("arcs", "y", "y"), ("relations", "r", "rν")):
            found[f"{path}.weight"] = frozenset(f"{letter}_{output}" for letter in "Bgdb")
            found |= linear(f"{path}.heads", f"W_u{mark}", f"b_u{mark}")
            found |= linear(f"{path}.dependents", f"W_v{mark}", f"b_v{mark}")
        return found

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j = memory.index
        relations = f"Σ_{j} log(ρ_{{ŷ_{j},{j}}}[r_{j}])"
        return [
            f"loss = (log(Σ_y exp(ψ(y))) − ψ(ŷ) − {relations}) / {memory.length}",
            f"— ŷ_{j}, r_{j}: the true head and relation of {j}; mean over the words",
        ]

    def __init__(
        self,
        relations: int,
        sources: Mapping[str, Source],
        *,
        of: str | None = None,
        structure: TreeStructure = "projective",
        decode: TreeDecoding = "marginal",
        single_root: bool = True,
        size: int = 256,
        relation_size: int = 64,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.of = next(iter(sources)) if of is None else of
        if self.of not in sources:
            raise RegardError(
                f"A tree over {self.of!r} needs a source of that name; there are {', '.join(sources)}."
            )
        self.structure, self.decode, self.single_root = structure, decode, single_root
        width = sources[self.of].value_size
        self.root = nn.Parameter(torch.randn(width) * 0.1)
        self.arcs = Biaffine(width, size, dropout=dropout)
        self.relations = Biaffine(width, relation_size, relations, dropout=dropout) if relations else None
        self.dropout = nn.Dropout(dropout)

    def vectors(self, memory: Memory) -> Tensor:
        """(B, N+1, D): the root symbol and the words."""
        root = self.root.to(memory.values.dtype).expand(len(memory.values), 1, -1)
        vectors: Tensor = self.dropout(torch.cat([root, memory.values], 1))
        return vectors

    @property
    def tree_over(self) -> str | None:
        return self.of

    def distribution(
        self, vectors: Tensor, lengths: Tensor, arcs: Tensor | None = None
    ) -> ProjectiveTree | SpanningTree:
        """The distribution over the trees of the first `lengths` words, from vectors (B, N+1, D).

        arcs   (B, N, N+1) bool, the heads that each word may have; default: all
        """
        scores = self.arcs.table(*self.arcs.sides(vectors)).squeeze(1)
        return self._trees(at_least_single(scores), lengths, arcs)

    def _trees(
        self, scores: Tensor, lengths: Tensor, arcs: Tensor | None = None
    ) -> ProjectiveTree | SpanningTree:
        kind = ProjectiveTree if self.structure == "projective" else SpanningTree
        mask = None if arcs is None else nn.functional.pad(arcs.transpose(1, 2), (1, 0), value=True)
        return kind(scores, self.single_root, lengths=lengths, mask=mask)

    def relation_scores(self, vectors: Tensor, heads: Tensor) -> Tensor | None:
        """log p(r | arc) (B, N, C) of the arcs from `heads` (B, N); None if the trees have no relations."""
        if self.relations is None:
            return None
        x, y = self.relations.sides(vectors)  # (B, N+1, R) each
        chosen = x.gather(1, heads.unsqueeze(-1).expand(-1, -1, x.shape[-1]))  # (B, N, R)
        return at_least_single(self.relations.pairs(chosen, y[:, 1:])).log_softmax(-1)

    def count(self, target: Trees) -> Tensor:
        return target.lengths.sum()

    def loss(self, memories: Mapping[str, Memory], target: Trees, *, truth: Any = None) -> Loss:
        """−log p of the trees and their relations; the count is of words."""
        memory, mask = memories[self.of], target.mask
        if memory.mask.shape[1] != mask.shape[1]:
            raise RegardError(
                f"There are heads for {mask.shape[1]} words and {memory.mask.shape[1]} positions of {self.of!r}.",
                fix="Every position needs exactly one head.",
            )
        vectors = self.vectors(memory)
        arcs = -self._log_prob(self.distribution(vectors, target.lengths), target.heads, mask).sum()
        logs = self.relation_scores(vectors, target.heads)
        if logs is None:
            return Loss(arcs, self.count(target), {"likelihood": arcs.detach()})
        known = mask & (target.relations >= 0)
        chosen = logs.gather(-1, target.relations.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        relations = -torch.where(known, chosen, 0.0).sum()
        total = arcs + relations
        parts = {
            "likelihood": total.detach(),
            "arcs": arcs.detach(),
            "relations": relations.detach(),
        }
        return Loss(total, self.count(target), parts)

    def _log_prob(self, trees: ProjectiveTree | SpanningTree, heads: Tensor, mask: Tensor) -> Tensor:
        """`trees.log_prob` without checking that the heads are a tree: (B)."""
        (scores,) = trees.potentials  # (B, N+1, N+1)
        chosen = scores[..., 1:].gather(1, heads.unsqueeze(1)).squeeze(1)  # (B, N)
        return torch.where(mask, chosen, 0.0).sum(-1) - trees.log_partition

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> ParsedTrees:
        memory = memories[self.of]
        vectors, lengths = self.vectors(memory), memory.mask.sum(-1)
        trees = self.distribution(vectors, lengths, memory.arcs)
        # The best tree is computed on the CPU, where there are kernels for it; there are none on CUDA.
        scores = trees.potentials[0] if self.decode == "map" else trees.marginals
        best = self._trees(scores.cpu(), lengths.cpu(), None if memory.arcs is None else memory.arcs.cpu())
        heads = best.heads(best.mode).clamp(min=0).to(memory.mask.device)  # (B, N)
        found = self._log_prob(trees, heads, memory.mask)
        logs = self.relation_scores(vectors, heads)
        if logs is None:
            return ParsedTrees(heads, None, found, memory.mask, trees)
        likely, relations = logs.max(-1)
        found = found + torch.where(memory.mask, likely, 0.0).sum(-1)
        return ParsedTrees(heads, relations, found, memory.mask, trees)

    def predictions(self, found: ParsedTrees, column: Any, view: BatchView) -> list[Prediction]:
        relations = torch.zeros_like(found.heads) if found.relations is None else found.relations
        pairs = torch.stack([found.heads, relations], -1).flatten(1).tolist()  # (B, 2N)
        scores, lengths = found.scores.tolist(), found.mask.sum(1).tolist()
        marginals = found.distribution.marginals.cpu().numpy() if view.trace else None  # (B, N+1, N+1)
        answers = []
        for row, (ids, score, length) in enumerate(zip(pairs, scores, lengths, strict=True)):
            arcs = column.tokens(ids[: 2 * length])
            seen = None
            if marginals is not None:
                names = _named(column, ids[1 : 2 * length : 2])
                table = marginals[row, : length + 1, : length + 1]
                drawn = Arcs(ids[: 2 * length : 2], table, names, *_truth(view, column, row))
                structures = {column.of[0]: drawn}
                seen = Trace(input=view.inputs(row), output=arcs, structures=structures, kind="tree")
            answers.append(Prediction(arcs, " ".join(arcs), score, seen))
        return answers

    def potentials(self, found: ParsedTrees, memories: Mapping[str, Memory]) -> dict[str, Potentials]:
        words = int(found.mask[0].sum())
        scores = found.distribution.potentials[0][0, : words + 1, : words + 1]
        return {self.of: Potentials("trees", scores.float().cpu().numpy())}

    def with_structures(
        self,
        answers: Sequence[Prediction],
        found: ParsedTrees,
        memories: Callable[[], Mapping[str, Memory]],
        *,
        samples: int,
        seed: int,
    ) -> list[Prediction]:
        """The answers, with `samples` sampled trees for each sentence in their traces."""
        if not samples:
            return list(answers)
        generator = torch.Generator(found.heads.device).manual_seed(seed)
        drawn = found.distribution.sample((samples,), generator=generator)  # (K, B, N+1, N+1)
        heads = found.distribution.heads(drawn).cpu().numpy()  # (K, B, N)
        shown = []
        for row, answer in enumerate(answers):
            if answer.trace is not None:
                structures = {
                    name: replace(tree, samples=heads[:, row, : len(tree.heads)])
                    if isinstance(tree, Arcs)
                    else tree
                    for name, tree in answer.trace.structures.items()
                }
                answer = replace(answer, trace=replace(answer.trace, structures=structures))
            shown.append(answer)
        return shown


def _biaffine(score: str, what: str, j: str, mark: str, output: str) -> list[str]:
    """Equations of the scores of heads p and words j (`Biaffine`),
    with separate sides u and v for each mark."""
    head, word = f"u_{mark}p", f"v_{mark}{j}"
    return [
        f"{head} = leaky(W_u{mark} a_p + b_u{mark})",
        f"{word} = leaky(W_v{mark} a_{j} + b_v{mark})",
        f"{score} = {head}·B_{output} {word} + g_{output}·{head} + d_{output}·{word} + b_{output}     — {what}",
    ]


def _named(column: Any, relations: Sequence[int]) -> list[str]:
    """Names of relations, "?" for one absent from the training data; empty if arcs have no relations."""
    return [column.classes[number] if number >= 0 else "?" for number in relations] if column.classes else []


def _truth(view: BatchView, column: Any, row: int) -> tuple[np.ndarray | None, list[str]]:
    """The true heads and relations, if the batch has them."""
    if not isinstance(view.target, Trees):
        return None, []
    length = int(view.target.lengths[row])
    relations = view.target.relations[row, :length].tolist()
    return view.target.heads[row, :length].numpy(), _named(column, relations)
