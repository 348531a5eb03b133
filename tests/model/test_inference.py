"""Two texts, one encoder, and given or latent trees: from the spec to the trace and back from the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.data import Dataset, Row
from regard.describe import answers
from regard.errors import RegardError
from regard.evaluation import evaluate
from regard.model import Model
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec

ROWS = [
    Row({"first": "her old dog slept", "second": "the dog slept", "label": "yes",
         "first_tree": "3 3 4 0", "second_tree": "2 3 0"}),
    Row({"first": "a dog slept", "second": "her old dog slept", "label": "no",
         "first_tree": "2 3 0", "second_tree": "3 3 4 0"}),
]  # fmt: skip


def spec(select: str | None, *, trees: str = "truth", **changes: Any) -> Spec:
    finding = {} if select == "given" else {"size": 4, "cell": "gru"}
    parents = None if select is None else {"select": select, **finding}
    written: dict[str, Any] = {
        "inputs": {"first": {"type": "text"}, "second": {"type": "text", "shared": "first"}},
        "outputs": {"label": {"type": "label"}},
        "encoder": {
            "first": {"type": "mean", "embedding": 6, "parents": parents},
            "second": {"type": "shared", "of": "first"},
        },
        "decoder": {"type": "decomposable", "size": 16},
        "metrics": ["accuracy", "latent_uas"],
    }
    both = {f"{name}_tree": {"type": "tree", "of": name} for name in ("first", "second")}
    if trees == "inputs":
        written["inputs"] |= both
    elif trees == "truth":
        written["truth"] = both
    return Spec.parse(written | changes)


def made(asked: Spec) -> Model:
    columns = make_columns(asked)
    fit_columns(columns, asked, lambda: ROWS)
    torch.manual_seed(2)
    return Model.build(asked, columns).eval()


def whole(model: Model) -> Dataset:
    return Dataset.build(ROWS, list(model.columns.values()))


def test_one_encoder_reads_both_and_is_stored_once(tmp_path: Path) -> None:
    model = made(spec("projective"))
    assert list(model.network.encoders) == ["first"]
    memories = model.network.encode(whole(model).batch([0, 1]))
    torch.testing.assert_close(memories["first"].values[0, :4], memories["second"].values[1, :4])
    model.save(tmp_path / "run")
    again = Model.load(tmp_path / "run", device="cpu")
    given = {"first": "her old dog slept", "second": "the dog slept"}
    assert again.predict(given).probabilities == pytest.approx(model.predict(given).probabilities, abs=1e-6)


@pytest.mark.parametrize("select", ["softmax", "projective", "spanning"])
def test_a_trace_shows_the_tree_that_was_found(select: str) -> None:
    model = made(spec(select))
    trace = model.predict({"first": "her old dog slept", "second": "the dog slept"}).trace
    assert trace is not None
    arcs = trace.structures["first"]
    assert arcs.kind == "arcs" and len(arcs.heads) == 4 and len(trace.structures["second"].heads) == 3
    np.testing.assert_allclose(arcs.marginals[:, 1:].sum(0), 1.0, atol=1e-5)
    if select != "softmax":
        assert (arcs.heads == 0).sum() == 1
    assert trace.attention["first"].shape == (1, 4) and trace.attention["second"].shape == (1, 3)


def test_given_trees_are_inputs_and_are_used() -> None:
    model = made(spec("given", trees="inputs"))
    given = {
        "first": "her old dog slept",
        "second": "the dog slept",
        "first_tree": "3 3 4 0",
        "second_tree": "2 3 0",
    }
    found = model.predict(given)
    assert found.trace is not None and found.trace.structures["first"].heads.tolist() == [3, 3, 4, 0]
    other = model.predict({**given, "first_tree": "4 1 4 0"})
    assert other.probabilities != pytest.approx(found.probabilities, abs=1e-6)


def test_latent_trees_are_measured_beside_their_chance_level() -> None:
    model = made(spec("given", trees="inputs"))
    assert evaluate(model, whole(model)).scores["latent_uas"].value == 1.0
    model = made(spec("projective"))
    found = evaluate(model, whole(model))
    heads = [
        [
            model.predict({name: row[name] for name in ("first", "second")}).trace.structures[name].heads
            for row in ROWS
        ]
        for name in ("first", "second")
    ]
    truth = [
        [[int(head) for head in row[f"{name}_tree"].split()] for row in ROWS] for name in ("first", "second")
    ]
    right = sum(
        int(a == b)
        for mine, true in zip(heads, truth, strict=True)
        for one, other in zip(mine, true, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    assert found.scores["latent_uas"].value == pytest.approx(right / 14)
    # left-branching: 3 of 4 in "3 3 4 0" (the second, third and last), all 3 of "2 3 0"
    assert found.chance["latent_uas"].value == pytest.approx(12 / 14)
    assert "right-branching" in found.chance["latent_uas"].signature
    assert "latent_uas" not in evaluate(made(spec(None)), whole(made(spec(None)))).scores


def test_the_true_label_among_the_first_two_of_two() -> None:
    model = made(spec(None))
    found = evaluate(model, whole(model), ["accuracy", "top1", "top2"])
    assert found.scores["top1"].value == found.scores["accuracy"].value and found.scores["top2"].value == 1.0
    assert (found.chance["top1"].value, found.chance["top2"].value) == (0.5, 1.0)


def test_the_board_writes_the_equations() -> None:
    found = answers(spec("projective"))
    assert "g_j = [h_j; f_j]     — each position beside its soft parent" in found["encoder"]
    assert any("the same equations and weights as first" in line for line in found["encoder"])
    assert any(line.startswith("e_jj′ = F_y a_j·F_y c_j′ / √") for line in found["decoder"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": {"first": {"type": "mean"}, "second": {"type": "shared", "of": "frist"}}}, "Did you mean"),
        ({"inputs": {"first": {"type": "text"}, "second": {"type": "text"}}}, "their vocabularies differ"),
        ({"decoder": {"type": "decomposable", "over": ["first"]}}, "compares two inputs"),
        (
            {"encoder": {"first": {"type": "mean", "parents": {"select": "given"}},
                         "second": {"type": "shared", "of": "first"}}},
            "select: given needs a tree of first",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        spec("projective", trees="none", **changes)
