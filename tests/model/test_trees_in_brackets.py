"""Models of trees in brackets from data to figure: labels of nodes, attention over nodes, latent trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rich.console import Console

from regard import RegardError
from regard.data import Row
from regard.inspect import compare, figure
from regard.metrics import metric
from regard.model import Model
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec
from regard.trace import Nodes, Trace

SST = ("(3 (2 It) (4 (4 works) (2 well)))", "(1 (2 It) (0 (0 fails) (2 again)))", "(2 (2 a) (2 (2 b) (2 c)))")


def spec(**changes: Any) -> Spec:
    return Spec.parse(
        {
            "inputs": {"tree": {"type": "brackets"}},
            "outputs": {"labels": {"type": "brackets", "field": "tree"}},
            "encoder": {"type": "tree", "compose": "rnn", "size": 6, "embedding": 5},
            "decoder": {"type": "nodes"},
            **changes,
        }
    )


def model(made: Spec) -> Model:
    rows = [Row({"tree": tree, "topic": tree[1]}) for tree in SST]
    columns = make_columns(made)
    fit_columns(columns, made, lambda: rows)
    return Model.build(made, columns)


def printed(trace: Trace, width: int = 80) -> str:
    console = Console(width=width, record=True, no_color=True, file=open("/dev/null", "w"))  # noqa: SIM115
    trace.print(console)
    return console.export_text()


def test_nodes_are_labelled_measured_and_drawn() -> None:
    answer = model(spec()).predict(SST[0])
    assert answer.trace is not None
    shape = "".join(sign for sign in answer.text if not sign.isdigit())
    assert shape == "".join(sign for sign in SST[0] if not sign.isdigit())  # the same tree, other labels
    nodes = answer.trace.structures["tree"]
    assert isinstance(nodes, Nodes) and nodes.parents.tolist() == [4, 3, 3, 4, -1]
    right = sum(a == b for a, b in zip(nodes.labels, "24243", strict=True))
    assert float(metric("node_accuracy")([answer.text], [SST[0]])) == pytest.approx(right / 5)
    assert Trace.from_dict(answer.trace.to_dict()).structures["tree"].to_dict() == nodes.to_dict()


def test_a_tree_in_the_terminal_and_as_a_figure() -> None:
    nodes = Nodes([4, 3, 3, 4, -1], list("24243"), list("24223"))
    trace = Trace({"tree": ["It", "works", "well", "works well", "It works well"]}, list("24243"), kind="tags",
                  structures={"tree": nodes})  # fmt: skip
    lines = printed(trace).splitlines()
    assert lines[:3] == ["3 ┬ 2 It", "  └ 4≠2 ┬ 4 works", "        └ 2 well"]
    assert "2≠3: found 2, true 3" in lines
    drawn = figure(trace)
    assert "4 of 5 labels are right" in drawn.description and "root is labeled 3" in drawn.description
    assert all(len(line) <= 12 for line in printed(trace, 12).splitlines())
    words = [f"word{number}" for number in range(60)]
    parents = [60 if number < 60 else -1 for number in range(61)]
    wide = figure(Trace({"tree": [*words, "all"]}, ["1"], kind="label", structures={"tree": Nodes(parents)}))
    assert wide.width < 400 and wide.height > 60 * 20  # drawn on its side


def test_two_trees_side_by_side() -> None:
    words = {"tree": ["It", "works", "It works"]}
    panels = [
        (
            name,
            Trace(
                words,
                list(labels),
                kind="tags",
                structures={"tree": Nodes([2, 2, -1], list(labels), list("243"))},
            ),
        )
        for name, labels in (("one", "243"), ("two", "221"))
    ]
    told = compare(panels).description
    assert "one: " in told and "3 of 3 labels are right" in told and "1 of 3 labels are right" in told


@pytest.mark.parametrize("structure", ["given", "chain", "balanced", "latent"])
def test_attention_over_nodes_is_drawn_as_a_tree(structure: str) -> None:
    made = spec(
        outputs={"topic": {"type": "label"}},
        encoder={"type": "tree", "structure": structure, "size": 6, "embedding": 5},
        decoder={"type": "label", "attention": {"score": "additive"}},
    )
    answer = model(made).predict(SST[0])
    assert answer.trace is not None
    nodes = answer.trace.structures["tree"]
    assert isinstance(nodes, Nodes) and nodes.weights is not None
    np.testing.assert_allclose(nodes.weights, answer.trace.attention["tree"][0])
    assert answer.trace.input["tree"][-1] == "It works well" and len(nodes.parents) == 5
    assert "It" in printed(answer.trace)
    unseen = model(made).predict("(3 (2 She) (4 (4 works) (2 nights)))").trace
    assert unseen is not None and unseen.input["tree"][-1] == "She works nights"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoder": {"type": "tree", "structure": "chain"}}, "labels the nodes of given trees"),
        ({"encoder": {"type": "tree", "compose": "child-sum", "binarize": "right"}}, "any number of children"),
        ({"inputs": {"tree": {"type": "text"}}, "outputs": {"topic": {"type": "label"}}, "decoder": {"type": "label"}},
         "structure: given needs trees"),
        ({"inputs": {"tree": {"type": "brackets", "labels": False}}}, "reads them as words"),
        ({"outputs": {"labels": {"type": "brackets", "of": "tre"}}}, "Did you mean tree"),
        ({"encoder": {"type": "tree", "compose": "ltsm"}}, "Did you mean lstm"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RegardError) as refused:
        spec(**changes)
    assert words in str(refused.value)


def test_a_tree_that_is_none_is_refused_with_its_place() -> None:
    with pytest.raises(RegardError, match=r"a bracket that is not closed \(character 11\)"):
        model(spec()).predict("(3 (2 It) (4 (4 works)")
