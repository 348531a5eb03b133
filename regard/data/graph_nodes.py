"""Graphs as text: `Ann -likes-> Bob; Bob -knows-> Cy`, or JSON; their nodes and edges, and their batch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import Sentences, moved
from regard.data.contents import Unreadable
from regard.data.readers.row import OBJECT
from regard.private import tensor_node
from regard.trace.edge_layers import Edge, edge_layers

SHORT = 40
_ARROW = re.compile(r"(?:^|\s)-(?:([^<>;]*?)-)?>(?:\s|$)")
EXPECTED = "Ann -likes-> Bob; Bob -knows-> Cy"


@tensor_node()
@dataclass(frozen=True, kw_only=True)
class GraphNodes(Sentences):
    """A batch of graphs: the label of each node is a sentence.

    sources, targets   (E,) the nodes of each edge, counted through all graphs of the batch
    relations          (E,) the number of its relation
    """

    sources: Tensor
    targets: Tensor
    relations: Tensor

    def to(self, device: torch.device | str) -> GraphNodes:
        there = super().to(device)
        shared = {one.name: getattr(there, one.name) for one in fields(Sentences)}
        return GraphNodes(
            **shared,
            sources=moved(self.sources, device),
            targets=moved(self.targets, device),
            relations=moved(self.relations, device),
        )


def graph(text: str, *, acyclic: bool = False) -> tuple[list[str], list[Edge]]:
    """The labels of the nodes, and the edges; raises `Unreadable` with the reason.

    acyclic   refuse a graph in which edges lead from a node back to it
    """
    plain = text.removesuffix(OBJECT).strip()
    nodes, edges = _of_json(plain) if plain.startswith(("{", "[")) else _of_triples(plain)
    if not nodes:
        raise Unreadable("has no node")
    for place, label in enumerate(nodes):
        if not label:
            raise Unreadable(f"has a node without a label, node {place}")
    known = set[Edge]()
    for edge in edges:
        if edge in known:
            raise Unreadable(f"has the edge {_shown(nodes, edge)} twice")
        known.add(edge)
    if acyclic and (found := _in_cycle(len(nodes), edges)) is not None:
        raise Unreadable(f"has a cycle through the node {nodes[found][:SHORT]!r}, and acyclic is set")
    return nodes, edges


def _in_cycle(count: int, edges: Sequence[Edge]) -> int | None:
    """A node on a cycle; None if there is none."""
    if edge_layers(count, edges) is not None:
        return None
    left = set(range(count))
    while True:  # what is left without nodes that no edge reaches or leaves: cycles, and paths between them
        inside = {target for source, target, _ in edges if source in left} & left
        inside &= {source for source, target, _ in edges if target in left}
        if inside == left:
            return min(left)
        left = inside


def _shown(nodes: Sequence[str], edge: Edge) -> str:
    source, target, relation = edge
    return f"{nodes[source][:SHORT]} -{relation[:SHORT]}-> {nodes[target][:SHORT]}"


def _of_triples(text: str) -> tuple[list[str], list[Edge]]:
    """Nodes are known by their labels, in the order of their first mention."""
    places: dict[str, int] = {}
    edges: list[Edge] = []
    for triple in filter(None, (part.strip() for part in text.split(";"))):
        pieces = _ARROW.split(triple)
        labels = [" ".join(label.split()) for label in pieces[::2]]
        if len(labels) > 2 or not all(labels):
            raise Unreadable(f"has {triple[:SHORT]!r}, expected triples such as {EXPECTED}")
        nodes = [places.setdefault(label, len(places)) for label in labels]
        if len(nodes) == 2:
            edges.append((nodes[0], nodes[1], " ".join((pieces[1] or "").split())))
    return list(places), edges


def _of_json(text: str) -> tuple[list[str], list[Edge]]:
    try:
        value = json.loads(text)
    except RecursionError:
        raise Unreadable("has lists in too many others") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not JSON: {error}") from None
    nodes = value.get("nodes") if isinstance(value, Mapping) else None
    edges = value.get("edges", []) if isinstance(value, Mapping) else None
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise Unreadable(
            'is JSON without nodes, expected {"nodes": ["Ann", "Bob"], "edges": [[0, 1, "likes"]]}'
        )
    labels, places = list[str](), dict[str, int]()
    for place, node in enumerate(nodes):
        given = node if isinstance(node, Mapping) else {"label": node}
        label = given.get("label", given.get("id"))
        if not isinstance(label, str | int | float) or isinstance(label, bool):
            raise Unreadable(f"has {json.dumps(node)[:SHORT]} as node {place}, expected a label")
        labels.append(" ".join(str(label).split()))
        if "id" in given:
            name = str(given["id"])
            if name in places:
                raise Unreadable(f"has the node {name[:SHORT]!r} twice")
            places[name] = place
    return labels, [_edge(number, one, len(labels), places) for number, one in enumerate(edges)]


def _edge(number: int, given: Any, count: int, places: Mapping[str, int]) -> Edge:
    if isinstance(given, Mapping):
        given = [given.get("source"), given.get("target"), given.get("label", "")]
    if not isinstance(given, list) or len(given) not in (2, 3):
        raise Unreadable(
            f"has {json.dumps(given)[:SHORT]} as edge {number}, expected [source, target, label]"
        )
    ends = []
    for end in given[:2]:
        # readers of JSON lines keep numbers as they are written
        whole = str(end) if not isinstance(end, bool) and re.fullmatch(r"-?[0-9]{1,9}", str(end)) else None
        place = places.get(str(end)) if places else None if whole is None else int(whole)
        if place is None and not places:
            raise Unreadable(
                f"has the edge {json.dumps(given)[:SHORT]}, expected the numbers of its nodes, from 0"
            )
        if place is None or not 0 <= place < count:
            known = (
                f"the nodes are {', '.join(places)[:SHORT]}"
                if places
                else f"there are {count} nodes (0 to {count - 1})"
            )
            raise Unreadable(f"has an edge to node {json.dumps(end)[:SHORT]}, but {known}")
        ends.append(int(place))
    relation = given[2] if len(given) == 3 and given[2] is not None else ""
    if not isinstance(relation, str | int | float):
        raise Unreadable(f"has {json.dumps(relation)[:SHORT]} as the label of edge {number}, expected a text")
    return ends[0], ends[1], " ".join(str(relation).split())
