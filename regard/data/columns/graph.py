"""A graph: nodes with labels, and directed edges with the names of relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import UNKNOWN, Sentences
from regard.data.columns.document import BREAK, documents, split_sentences
from regard.data.columns.named import NamedColumn, NamedOptions
from regard.data.graph_nodes import GraphNodes, graph
from regard.data.ragged import Array, Ragged
from regard.parts import Count, Mistakes, Plan, register
from regard.trace import SeenGraph


@register("column", "graph")
class GraphColumn(NamedColumn):
    """Nodes and edges in any order: `Ann -likes-> Bob; Bob -knows-> Cy`, or JSON.

    The encoding begins with the number of edges, each edge as source, target and relation; then come the words of each
    node, with −1 after each.

    acyclic     refuse a graph with a cycle
    max_nodes   maximum number of nodes
    """

    class Options(NamedOptions):
        """Nodes and directed edges: `Ann -likes-> Bob; Bob -knows-> Cy`, or JSON
        `{"nodes": ["Ann", "Bob"], "edges": [[0, 1, "likes"]]}`."""

        acyclic: bool = False
        """Refuse rows whose edges lead from a node back to it."""
        max_nodes: Count = 500
        """Maximum number of nodes."""

    type = "graph"
    kind: ClassVar[str] = "relations"
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    stands_for: ClassVar[tuple[str, ...] | None] = ()
    encoder = "graph"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: nodes with labels of words, and directed edges with relations"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        """Nothing to check: the vocabulary is not shared."""

    def __init__(
        self, name: str, *, acyclic: bool = False, max_nodes: int | None = 500, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self.acyclic, self.max_nodes = acyclic, max_nodes

    def texts_and_names(self, text: str) -> tuple[list[str], list[str]]:
        nodes, edges = graph(text, acyclic=self.acyclic)
        return nodes, [relation for _, _, relation in edges]

    def pieces(self, text: str) -> list[list[str]]:
        """The words of each label."""
        return [self.words.pieces(label) for label in self.sentences(text)]

    def check_encoded(self, encoded: Array) -> str | None:
        count = int(np.count_nonzero(encoded == BREAK))
        if self.max_nodes is not None and count > self.max_nodes:
            return f"has {count} nodes, more than max_nodes {self.max_nodes}"
        return None

    def encode(self, value: str) -> Array:
        nodes, edges = graph(value, acyclic=self.acyclic)
        found = [len(edges)]
        for source, target, relation in edges:
            found += [source, target, self.names.id(relation)]
        for label in nodes:
            found += [*self.words.vocabulary.ids(self.words.pieces(label)), BREAK]
        return np.array(found, dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        edges, nodes = _parts(ids)
        labels = [self.words.decode(label) for label in split_sentences(nodes)]
        written = [f"{labels[s]} -{self.names.piece(r)}-> {labels[t]}" for s, t, r in edges.tolist()]
        joined = {place for edge in edges.tolist() for place in edge[:2]}
        return "; ".join([*written, *(label for place, label in enumerate(labels) if place not in joined)])

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """The label of each node."""
        if isinstance(value, str):
            return self.sentences(value)
        return [self.words.decode(label) for label in split_sentences(_parts(value)[1])]

    def readable(self, collated: Any) -> list[list[str]]:
        return [[self.words.decode(label) for label in nodes] for nodes in documents(collated)]

    def seen(self, collated: GraphNodes, row: int) -> SeenGraph:
        first = int(collated.lengths[:row].sum())
        here = (collated.sources >= first) & (collated.sources < first + int(collated.lengths[row]))
        ends = ((collated.sources[here] - first).tolist(), (collated.targets[here] - first).tolist())
        named = [self.names.piece(number) for number in collated.relations[here].tolist()]
        return SeenGraph(tuple(zip(*ends, named, strict=True)))

    def collate(
        self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> GraphNodes:
        """The labels as sentences, and the edges of all graphs."""
        rows = Ragged.of(encoded)
        starts = rows.offsets[:-1]
        counts = rows.values[starts].astype(np.int64) if len(rows) else np.zeros(0, dtype=np.int64)
        row = np.repeat(np.arange(len(rows)), 3 * counts)
        inside = np.arange(len(row)) - np.repeat(np.cumsum(3 * counts) - 3 * counts, 3 * counts)
        edges = rows.values[starts[row] + 1 + inside].astype(np.int64).reshape(-1, 3)
        kept = np.ones(len(rows.values), dtype=bool)
        kept[starts] = False
        kept[starts[row] + 1 + inside] = False
        offsets = rows.offsets - np.concatenate([[0], np.cumsum(1 + 3 * counts)])
        made = super().collate(Ragged(rows.values[kept], offsets))
        shared = {one.name: getattr(made, one.name) for one in fields(Sentences)}
        nodes = made.lengths.numpy()
        first = (np.cumsum(nodes) - nodes)[row[::3]]
        return GraphNodes(
            **shared,
            sources=torch.from_numpy(edges[:, 0] + first),
            targets=torch.from_numpy(edges[:, 1] + first),
            relations=torch.from_numpy(edges[:, 2].copy()),
        )

    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        """Without some nodes and their edges; with `fill`, their labels become the unknown word."""
        edges, nodes = _parts(encoded)
        labels = split_sentences(nodes)
        if words or len(kept) != len(labels):
            return None
        if not fill:
            places = np.cumsum(kept) - 1
            edges = edges[kept[edges[:, 0]] & kept[edges[:, 1]]]
            edges = np.stack([places[edges[:, 0]], places[edges[:, 1]], edges[:, 2]], 1)
        found = [len(edges), *edges.reshape(-1).tolist()]
        for label, mark in zip(labels, kept.tolist(), strict=True):
            if mark or fill:
                found += [*(label if mark else [UNKNOWN] * len(label)), BREAK]
        return np.array(found, dtype=encoded.dtype)

    def options(self) -> dict[str, Any]:
        return {**super().options(), "acyclic": self.acyclic, "max_nodes": self.max_nodes}


def _parts(encoded: Sequence[int] | Array) -> tuple[Array, Array]:
    """The edges (E, 3) of an encoding, and the words of its nodes."""
    values = np.asarray(encoded)
    end = 1 + 3 * int(values[0])
    return values[1:end].reshape(-1, 3), values[end:]
