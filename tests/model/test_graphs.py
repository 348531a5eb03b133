"""Graphs as input: messages along their edges, nodes in any order, figures and mistakes."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.data import read_rows
from regard.data.columns import GraphColumn, column_from_state
from regard.errors import RegardError
from regard.inspect import figure
from regard.model import Model
from regard.nn.embedding import Embedding
from regard.nn.encoders import GraphEncoder, MeanEncoder
from regard.spec import Spec
from regard.trace import Trace
from regard.worlds import world

GRAPH: dict[str, Any] = {
    "nodes": ["Ann", "Bob Ray", "Cy", "Di"],
    "edges": [[0, 1, "likes"], [1, 2, "knows"], [2, 0, "likes"], [3, 2, "likes"], [0, 2, "likes"]],
}
SPEC: dict[str, Any] = {
    "inputs": {"map": {"type": "graph"}, "route": {"type": "text"}},
    "outputs": {"town": {"type": "label"}},
    "encoder": {"map": {"words": {"embedding": 5}, "size": 6}, "route": {"size": 4, "embedding": 4}},
    "decoder": {"query": "route", "attention": {"over": "map"}},
}
ROWS: list[dict[str, Any]] = [
    {"map": json.dumps(GRAPH), "route": "Ann likes", "town": "Cy"},
    {"map": "Ann -likes-> Bob Ray; Di", "route": "Di", "town": "Bob"},
]


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(3)
    return Model.build(Spec.parse(SPEC), rows=ROWS)


def fitted(**options: Any) -> GraphColumn:
    column = GraphColumn("map", **options)
    column.learn([row["map"] for row in ROWS])
    return column


def test_triples_and_json_are_the_same_graph() -> None:
    column = fitted()
    triples = "Ann -likes-> Bob Ray; Bob Ray -knows-> Cy; Cy -likes-> Ann; Di -likes-> Cy; Ann -likes-> Cy"
    assert column.encode(triples).tolist() == column.encode(column.written(GRAPH)).tolist()
    assert column.decode(column.encode(triples)) == triples
    named = {
        "nodes": [{"id": "x", "label": "Ann"}, {"id": "y", "label": "Cy"}],
        "edges": [["x", "y", "likes"]],
    }
    assert column.encode(json.dumps(named)).tolist() == column.encode("Ann -likes-> Cy").tolist()
    assert (
        column.encode("Ann -> Cy").tolist()
        == column.encode('{"nodes": ["Ann", "Cy"], "edges": [[0, 1]]}').tolist()
    )
    again = column_from_state(json.loads(json.dumps(column.state())))
    assert again.encode(ROWS[0]["map"]).tolist() == column.encode(ROWS[0]["map"]).tolist()


def test_json_lines_hold_graphs(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"map": GRAPH, "route": "x"}) + "\n", encoding="utf-8")
    (row,) = read_rows(path, fields=["map", "route"])
    column = fitted()
    assert column.check_value(row["map"]) is None
    assert column.encode(row["map"]).tolist() == column.encode(column.written(GRAPH)).tolist()


def test_messages_run_along_edges_by_relation() -> None:
    """Against sums over the edges, one by one, of a batch of two graphs of different sizes."""
    torch.manual_seed(0)
    column = fitted()
    encoder = (
        GraphEncoder(MeanEncoder(Embedding(column.size, 5)), len(column.names), size=4, steps=2)
        .double()
        .eval()
    )
    memory = encoder(column.collate([column.encode(row["map"]) for row in reversed(ROWS)]))
    table = encoder.embedding.weight
    for row, given in enumerate(({"nodes": ["Ann", "Bob Ray", "Di"], "edges": [[0, 1, "likes"]]}, GRAPH)):
        labels = [table[column.vocabulary.ids(label.split())].mean(0) for label in given["nodes"]]
        states = [torch.tanh(encoder.node(label)) for label in labels]
        for _ in range(2):
            heard = [torch.zeros(4).double() for _ in states]
            for weights, here, there in ((encoder.forth, 0, 1), (encoder.back, 1, 0)):
                for edge in given["edges"]:
                    alike = [e for e in given["edges"] if e[there] == edge[there] and e[2] == edge[2]]
                    matrix = weights.weight[column.names.id(edge[2])]  # type: ignore[union-attr]
                    heard[edge[there]] = heard[edge[there]] + matrix @ states[edge[here]] / len(alike)
            states = [
                encoder.cell(one[None], state[None])[0] for one, state in zip(heard, states, strict=True)
            ]  # type: ignore[misc]
        torch.testing.assert_close(memory.values[row, : len(states)], torch.stack(states))
        torch.testing.assert_close(memory.summary[row], torch.stack(states).mean(0))
    assert not memory.mask[0, 3] and not memory.values[0, 3].any()


def test_the_order_of_nodes_and_edges_does_not_matter(model: Model) -> None:
    asked = {"map": GRAPH, "route": "Ann likes"}
    before = model.predict(asked)
    assert before.trace is not None
    weights = dict(zip(GRAPH["nodes"], before.trace.attention["map"][0], strict=True))
    for order in permutations(range(4)):
        place = {node: new for new, node in enumerate(order)}
        edges = [[place[source], place[target], name] for source, target, name in reversed(GRAPH["edges"])]
        other = {"nodes": [GRAPH["nodes"][node] for node in order], "edges": edges}
        answer = model.predict({**asked, "map": other})
        assert answer.trace is not None and answer.text == before.text
        assert answer.score == pytest.approx(before.score, abs=1e-5)
        for node, weight in zip(other["nodes"], answer.trace.attention["map"][0], strict=True):
            assert weight == pytest.approx(weights[node], abs=1e-5)


def test_a_node_sees_as_far_as_there_are_steps() -> None:
    """In a chain of five nodes, the label of the first reaches node k after k steps, and not before."""
    torch.manual_seed(1)
    column = GraphColumn("map")
    chain = "a -r-> b; b -r-> c; c -r-> d; d -r-> e"
    column.learn([chain, "z"])
    for steps in (1, 3):
        words = MeanEncoder(Embedding(column.size, 5))
        encoder = GraphEncoder(words, len(column.names), size=6, steps=steps, back=False).eval()
        one, other = (
            encoder(column.collate([column.encode(text)])).values[0]
            for text in (chain, chain.replace("a", "z"))
        )
        changed = [not torch.allclose(x, y, atol=1e-7) for x, y in zip(one, other, strict=True)]
        assert changed == [node <= steps for node in range(5)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('{"nodes": ["a"], "edges": [[0, 3, "r"]]}', "has an edge to node 3, but there are 1 nodes (0 to 0)"),
        ('{"nodes": [{"id": "x"}], "edges": [["x", "y"]]}', 'has an edge to node "y", but the nodes are x'),
        ('{"nodes": [{"id": "x"}, {"id": "x"}]}', "has the node 'x' twice"),
        ('{"nodes": ["a"], "edges": [[0]]}', "has [0] as edge 0, expected [source, target, label]"),
        ('{"nodes": [["a"]]}', 'has ["a"] as node 0, expected a label'),
        ('{"nodes": ["a", " "]}', "has a node without a label, node 1"),
        ('{"edges": []}', 'is JSON without nodes, expected {"nodes": ["Ann", "Bob"]'),
        ('{"nodes": []}', "has no node"),
        ("a -r-> b; a -r-> b", "has the edge a -r-> b twice"),
        ("a -r-> b -r-> c", "expected triples such as Ann -likes-> Bob; Bob -knows-> Cy"),
        ("a -r->", "expected triples such as"),
    ],
)
def test_a_mistake_is_told_with_its_cause(model: Model, given: str, said: str) -> None:
    with pytest.raises(RegardError) as caught:
        model.predict({"map": given, "route": "Ann"})
    assert said in str(caught.value) and "map" in str(caught.value)


def test_a_cycle_is_refused_where_none_is_allowed() -> None:
    looping = "r -x-> a; a -x-> b; b -x-> a; b -x-> c"
    assert GraphColumn("map").check_value(looping) is None
    said = GraphColumn("map", acyclic=True).check_value(looping)
    assert said == "has a cycle through the node 'a', and acyclic is set"
    assert GraphColumn("map", acyclic=True).check_value("a -x-> b; a -x-> c; b -x-> c") is None


def test_a_node_can_be_left_out() -> None:
    column = fitted()
    encoded = column.encode(ROWS[0]["map"])
    left = column.reduced(encoded, np.array([True, False, True, True]))
    assert left is not None
    assert column.decode(left) == "Cy -likes-> Ann; Di -likes-> Cy; Ann -likes-> Cy"


@pytest.mark.parametrize(
    "graph", [GRAPH, {"nodes": ["Ann <b>", "Cy", "Di"], "edges": [[0, 1, "likes"], [0, 2, ""]]}]
)
def test_the_figure_shows_nodes_edges_and_weights(model: Model, graph: dict[str, Any]) -> None:
    trace = model.predict({"map": graph, "route": "Ann likes"}).trace
    assert trace is not None
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    drawn = figure(again).svg()
    assert drawn == figure(trace).svg()
    assert all(f">{node.replace('<', '&lt;').replace('>', '&gt;')}<" in drawn for node in graph["nodes"])
    assert ">likes<" in drawn and drawn.count('data-node="') == len(graph["nodes"])


def test_routes_of_the_world_end_where_it_says() -> None:
    rows = world("towns", train=200, dev=5, test=20).splits()
    for row in [*rows["train"], *rows["test"]]:
        given, (here, *colors) = json.loads(row["map"]), row["route"].split()
        nodes = given["nodes"]
        for color in colors:
            (here,) = [
                nodes[target]
                for source, target, name in given["edges"]
                if (nodes[source], name) == (here, color)
            ]
        assert here == row["town"] and row["alignment"] == f"{nodes.index(here)}-0"
        assert len(colors) == int(row["length"])
