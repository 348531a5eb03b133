"""Recursive networks: the vector of a phrase is composed from the vectors of its parts, along a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batch import ADDED, Forest, Tokens
from regard.data.columns.brackets import phrases
from regard.nn.bottom_up import Growth, grow
from regard.nn.composers import AnyComposer, Composer, make_composer
from regard.nn.embedding import Embedding, EmbeddingOptions, build_embedding, check_dropout
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.text import embedding_note
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.packing import as_array
from regard.nn.shapes import Shape, balanced, chain, shape
from regard.nn.spanning_chart import soft_spans
from regard.parts import Dropout, Mistakes, Plan, Size, register
from regard.structures import BinaryTree

Structure = Literal["given", "balanced", "chain", "latent"]
SHAPES: dict[str, Callable[[int], Shape]] = {"balanced": balanced, "chain": chain}


@register("encoder", "tree")
class TreeEncoder(Encoder):
    """A memory position per node of a tree, in post-order: h_j = node(h_left, h_right), leaf(e(w_j)) for
    words.

    structure   given: the tree of the data. balanced: the words are split in the middle recursively. chain:
                each word is joined to all words before it. latent: spans i … j are scored, s_ij =
                v·tanh(A h_i + B h_j + b), and the vector of a span is an expectation over its split points
                (`soft_spans`). The memory then holds the spans of the most probable tree (`BinaryTree`),
                whose selection has no gradient
    binarize    how a node with more than two children is split into binary nodes, which are not memory
                positions. A node with one child is the same as its child. Composers for any number of
                children need no binary nodes

    The summary is the root.
    """

    class Options(EmbeddingOptions):
        """h_j = node(h_left, h_right) along a tree, with one position for each node;
        the summary is the root."""

        compose: AnyComposer = "lstm"
        """Composer that computes a node from its children."""
        size: Size = 128
        """Features of each node."""
        structure: Structure = "given"
        """given: the tree of a brackets column; balanced, chain: a tree of this shape over the words; latent:
        an expectation over all trees, with learned scores of spans."""
        binarize: Literal["left", "right"] = "left"
        """With `structure: given` and a composer of two children: (a b c) becomes ((a b) c) or (a (b c))."""
        word_dropout: Dropout = 0.0
        """Share of the words that are replaced by the unknown word in training."""

    reads = ("brackets", "text")
    names_positions = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> TreeEncoder:
        words = getattr(column, "words", column)
        embedding = build_embedding(options, words, read_files=read_files)
        embedding.word_dropout = options.word_dropout
        composer = make_composer(options.compose, embedding.size, options.size)
        return cls(embedding, composer, structure=options.structure)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_dropout(options, mistakes)
        if options.structure == "given" and not plan.inputs[name].part.can_be("brackets"):
            mistakes.add(
                f"structure: given needs trees, and {name} is of type {plan.inputs[name].type}.",
                "structure",
                fix="Use type: brackets, or structure: balanced, chain or latent.",
            )
        if "binarize" in options.model_fields_set and (
            options.structure != "given" or options.compose.part.any_number
        ):
            why = (
                f"compose: {options.compose.type} takes any number of children"
                if options.structure == "given"
                else f"trees are binary with structure: {options.structure}"
            )
            mistakes.add(f"binarize has no effect: {why}.", "binarize", fix="Leave binarize out.")

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size)

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        needed = options.structure == "given" and not options.compose.part.any_number
        return {"binarize": options.binarize} if needed else {}

    @classmethod
    def board(cls, options: Any) -> list[str]:
        note = f"— {options.size} units, {embedding_note(options)}"
        composer, carries = options.compose.part, options.compose.part.carries
        if options.structure == "latent":
            return [*_latent_lines(carries), *composer.equations(options.compose, options.size), note]
        shapes = {
            "given": "the nodes of the given tree, children before parents",
            "chain": "the nodes of the chain ((w_1 w_2) w_3) …, children before parents",
            "balanced": "the nodes of a balanced tree, children before parents",
        }
        state = "h_j, m_j" if carries else "h_j"
        lines = [
            f"j = 1 … S     — {shapes[options.structure]}",
            f"{state} = leaf_x(E_x[w_j])     for λ_j = 0     — a word",
        ]
        if composer.any_number:
            lines = ["c = 1 … S", *lines, *composer.several_equations(options.compose)]
        else:
            parts = [f"{one}_{{{child}_j}}" for child in "λρ" for one in ("h", "m")[: 1 + carries]]
            children = "λ_j and ρ_j: its children"
            lines += [
                f"{state} = node_x({', '.join(parts)})     for λ_j > 0     — {children}",
                *composer.equations(options.compose, options.size),
            ]
        return [*lines, "h = h_S     — the summary: the root", note, *_binarized_note(options)]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        composer = under("composer", options.compose.part.letters(options.compose))
        span: Letters = {"span.weight": frozenset({"A_s", "B_s"}), "span.bias": "b_s", "span_score": "v_s"}
        return {"embedding.weight": "E_x", **composer, **span}

    def __init__(
        self,
        embedding: Embedding,
        composer: Composer,
        *,
        structure: Structure = "given",
    ) -> None:
        super().__init__()
        self.embedding, self.composer, self.structure = embedding, composer, structure
        self.value_size = self.summary_size = composer.size
        self.span: nn.Linear | None = None
        if structure == "latent":
            self.span = nn.Linear(2 * composer.size, composer.size)
            self.span_score = nn.Parameter(torch.randn(composer.size) * composer.size**-0.5)

    def forward(self, collated: Forest | Tokens) -> Memory:
        if self.structure == "given":
            assert isinstance(collated, Forest)
            return self._given(collated)
        words = leaves_of(collated) if isinstance(collated, Forest) else collated
        if self.structure == "latent":
            return self._latent(words)
        lengths = words.lengths if words.counts is None else words.counts
        shapes = [SHAPES[self.structure](max(int(length), 1)) for length in lengths]
        return self._shaped(words, shapes)

    def _given(self, forest: Forest) -> Memory:
        host = forest if forest.host is None else forest.host
        growth = Growth.of(
            as_array(host.parents),
            as_array(host.heights),
            as_array(host.lengths),
            forest.ids.device,
        )
        states = self._grown(forest.ids.flatten().index_select(0, growth.leaves), growth)
        root = _picked(growth.where, forest.lengths[:, None] - 1)
        summary = states.index_select(0, root.flatten())
        kept = host.mask & (host.labels != ADDED)  # (B, N)
        if bool(kept.equal(host.mask)):
            return Memory(
                _rows(states, growth.where), forest.mask, summary, layout="tree", above=forest.parents
            )
        places, above = (torch.from_numpy(one).to(root.device) for one in _kept(host, as_array(kept)))
        mask = torch.arange(places.shape[1], device=root.device) < kept.sum(1).to(root.device)[:, None]
        values = _rows(states, _picked(growth.where, places))
        return Memory(values, mask, summary, layout="tree", above=above)

    def _shaped(self, words: Tokens, shapes: Sequence[Shape]) -> Memory:
        """Trees over the words whose shape depends on the length of the sentence alone."""
        device, count = words.ids.device, max(len(one[0]) for one in shapes)
        lengths = np.array([len(one[0]) for one in shapes])
        parents, heights, leaves = (
            np.stack([np.pad(one[part], (0, count - len(one[part])), constant_values=-1) for one in shapes])
            for part in range(3)
        )
        growth = Growth.of(parents, heights, lengths, device)
        word = torch.from_numpy(leaves).to(device).flatten().index_select(0, growth.leaves)
        row = growth.leaves // count
        states = self._grown(words.ids[row, word], growth)
        ends = torch.from_numpy(lengths).to(device)
        mask = torch.arange(count, device=device) < ends[:, None]
        root = states.index_select(0, _picked(growth.where, ends[:, None] - 1).flatten())
        above = torch.from_numpy(parents).to(device)
        return Memory(_rows(states, growth.where), mask, root, layout="tree", above=above)

    def _grown(self, ids: Tensor, growth: Growth) -> Tensor:
        return self.composer.output(grow(self.composer, self.embedding(ids), growth))

    def span_scores(self, states: Tensor) -> Tensor:
        """(B, N, N) scores of the spans i … j, from the states (B, N, D) of their first and last words."""
        assert self.span is not None
        first, last = self.span.weight.chunk(2, -1)
        sides = (states @ first.T).unsqueeze(2) + (states @ last.T).unsqueeze(1) + self.span.bias
        scores: Tensor = torch.tanh(sides) @ self.span_score
        return scores.triu(1)

    def distribution(self, words: Tokens) -> BinaryTree:
        """The distribution over the trees of each sentence."""
        states = self.composer.output(self.composer.leaf(self.embedding(words.ids)))
        return BinaryTree(self.span_scores(states), lengths=words.lengths)

    def _latent(self, words: Tokens) -> Memory:
        leaves = self.composer.leaf(self.embedding(words.ids))  # (B, N, state)
        scores = self.span_scores(self.composer.output(leaves))
        spans = self.composer.output(soft_spans(self.composer, leaves, scores))  # (B, N, N, D)
        trees = BinaryTree(scores.detach(), lengths=words.lengths)
        rows = torch.arange(len(spans), device=spans.device)
        shapes, places = _best_spans(trees.mode, words.lengths)
        first, last = (torch.from_numpy(one).to(spans.device) for one in places)
        values = spans[rows[:, None], first, last]  # (B, S, D)
        parents = np.full(places[0].shape, -1)
        for row, (found, _, _) in enumerate(shapes):
            parents[row, : len(found)] = found
        counts = (2 * words.lengths - 1).clamp(min=1)
        mask = torch.arange(values.shape[1], device=spans.device) < counts[:, None]
        summary = spans[rows, 0, (words.lengths - 1).clamp(min=0)]
        above = torch.from_numpy(parents).to(spans.device)
        return Memory(values, mask, summary, layout="tree", above=above)

    def position_names(
        self, collated: Any, pieces: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]] | None:
        if self.structure == "given":
            return None
        words = leaves_of(collated) if isinstance(collated, Forest) else collated
        lengths = words.lengths.tolist()
        if pieces is None:
            pieces = [list(map(str, ids[:n])) for ids, n in zip(words.ids.tolist(), lengths, strict=True)]
        elif isinstance(collated, Forest):
            pieces = _leaves(collated, pieces)
        if self.structure == "latent":
            with torch.no_grad():
                shapes, _ = _best_spans(self.distribution(words).mode, words.lengths)
        else:
            shapes = [SHAPES[self.structure](max(length, 1)) for length in lengths]
        return [
            phrases(text, parents.tolist(), (leaves >= 0).tolist())
            for text, (parents, _, leaves) in zip(pieces, shapes, strict=True)
        ]


def _leaves(forest: Forest, names: Sequence[Sequence[str]]) -> list[list[str]]:
    """The words of each tree, from the names of its nodes. Nodes that binarization added have no name."""
    found = []
    for row, length in enumerate(forest.lengths.tolist()):
        named = forest.labels[row, :length] != ADDED
        words = (forest.ids[row, :length][named] > 0).tolist()
        found.append([name for name, is_word in zip(names[row], words, strict=True) if is_word])
    return found


def _rows(states: Tensor, where: Tensor) -> Tensor:
    """(M, D), (B, S) → (B, S, D)."""
    return states.index_select(0, where.flatten()).reshape(*where.shape, -1)


def _picked(where: Tensor, places: Tensor) -> Tensor:
    """The entries of (B, N) at the places (B, S)."""
    return where.gather(1, places.clamp(min=0))


def leaves_of(forest: Forest) -> Tokens:
    """Only the words of trees, from left to right."""
    words = forest.ids > 0
    lengths = words.sum(1)
    host = forest if forest.host is None else forest.host
    counts = (host.ids > 0).sum(1).cpu()
    place = words.cumsum(1) - 1
    ids = forest.ids.new_zeros(len(forest.ids), max(int(counts.max()) if len(counts) else 0, 1))
    rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(place)
    ids[rows[words], place[words]] = forest.ids[words]
    return Tokens(ids, lengths, counts)


def _kept(host: Forest, kept: Any) -> tuple[Any, Any]:
    """The nodes that are memory positions, and the parent of each among them: both (B, S)."""
    width = int(kept.sum(1).max())
    places = np.zeros((len(kept), width), dtype=np.int64)
    above = np.full((len(kept), width), -1, dtype=np.int64)
    parents, labels = as_array(host.parents), as_array(host.labels)
    for row, one in enumerate(kept):
        found = np.flatnonzero(one)
        number = np.full(len(one), -1)
        number[found] = np.arange(len(found))
        up = parents[row, found]
        while (added := (up >= 0) & (labels[row, up] == ADDED)).any():
            up = np.where(added, parents[row, up], up)
        places[row, : len(found)] = found
        above[row, : len(found)] = np.where(up >= 0, number[up], -1)
    return places, above


def _best_spans(mode: Tensor, lengths: Tensor) -> tuple[list[Shape], tuple[Any, Any]]:
    """The shapes of the best trees, and the first and last word of their nodes, (B, S) each."""
    best = as_array(mode) > 0.5
    counts = [max(int(length), 1) for length in as_array(lengths)]
    width = 2 * max(counts) - 1
    first, last = np.zeros((len(best), width), dtype=np.int64), np.zeros((len(best), width), dtype=np.int64)
    shapes = []
    for row, count in enumerate(counts):
        spans = [(int(i), int(j)) for i, j in np.argwhere(best[row, :count, :count]) if i < j]
        nodes = sorted([*spans, *((word, word) for word in range(count))], key=lambda one: (one[1], -one[0]))
        first[row, : len(nodes)], last[row, : len(nodes)] = zip(*nodes, strict=True)
        shapes.append(shape(spans, count))
    return shapes, (first, last)


def _latent_lines(carries: bool) -> list[str]:
    """Equations of the chart of all spans ι … τ of the N words."""
    leaf = "g_ιι, m_ιι" if carries else "g_ιι"
    cells = ["g_ιω", "m_ιω", "g_{ω+1,τ}", "m_{ω+1,τ}"] if carries else ["g_ιω", "g_{ω+1,τ}"]
    made = "u_ιτω, v_ιτω" if carries else "u_ιτω"
    cut = "{ω: ι ≤ ω, ω < τ}"
    return [
        "j = 1 … S, ι = 1 … N, τ = 1 … N, ω = 1 … N     — S = 2 N − 1 nodes over N words",
        f"{leaf} = leaf_x(E_x[w_ι])     — spans of one word",
        "s_ιτ = v_s·tanh(A_s g_ιι + B_s g_ττ + b_s)     — the score of ι … τ as a phrase",
        "β_ιτ = 0     for ι = τ",
        f"β_ιτ = s_ιτ + log(Σ_{cut} exp(β_ιω + β_{{ω+1,τ}}))     for ι < τ     — the inside algorithm",
        "q_ιτω = exp(β_ιω + β_{ω+1,τ} + s_ιτ − β_ιτ)     — p(ι … τ is cut after ω | it is in the tree)",
        f"{made} = node_x({', '.join(cells)})",
        f"g_ιτ = Σ_{cut} q_ιτω u_ιτω     for ι < τ",
        *([f"m_ιτ = Σ_{cut} q_ιτω v_ιτω     for ι < τ"] if carries else []),
        "h_j = g_{λ_j,ρ_j}     — λ_j … ρ_j: the spans of the most probable tree, children before parents",
        "h = g_{1,N}     — the summary: the span of all words",
    ]


def _binarized_note(options: Any) -> list[str]:
    if options.structure != "given" or options.compose.part.any_number:
        return []
    how = "((a b) c)" if options.binarize == "left" else "(a (b c))"
    return [f"— a node (a b c) of three children is composed as {how}, a node of one child is that child"]
