"""A whole model that copies: unseen words in its answers, their origin, and what its folder keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import RegardError
from regard.evaluation import measure
from regard.inspect import copies
from regard.model import Model
from regard.spec import Spec
from regard.trace import Trace

ROWS = [
    {"source": "x zork saw blib", "target": "saw zork", "links": "2-0 1-1"},
    {"source": "x blib saw zork", "target": "saw blib", "links": "2-0 1-1"},
    {"source": "x saw of zork", "target": "saw saw", "links": "1-0 1-1"},
] * 2
WILD = "<b>&"


def spec(**decoder: Any) -> Spec:
    return Spec.parse(
        {
            "inputs": {"source": {"type": "text", "min_count": 5}},
            "outputs": {"target": {"type": "text", "min_count": 3}},
            "truth": {"links": {"type": "alignment"}},
            "encoder": {"type": "recurrent", "size": 8, "embedding": 8},
            "attention": {"score": "additive"},
            "decoder": {"type": "recurrent", "size": 16, "embedding": 8, "copy": True, **decoder},
            "training": {"seed": 1},
        }
    )


def built(seed: int = 0, **decoder: Any) -> Model:
    torch.manual_seed(seed)
    return Model.build(spec(**decoder), rows=ROWS).eval()


def learned(seed: int) -> Model:
    """A model trained for some steps: it copies the word after the x."""
    model = built(seed)
    rows = [
        {"source": f"x w{one} saw v{one}", "target": f"saw w{one}", "links": "2-0 1-1"} for one in range(24)
    ]
    batch = next(iter(model.batches(rows, batch_rows=24, shuffle=False)))
    optimizer = torch.optim.Adam(model.network.parameters(), lr=0.03)
    model.network.train()
    for _ in range(120):
        loss = model.network(batch)["target"]
        optimizer.zero_grad()
        loss.mean.backward()
        optimizer.step()
    return model.eval()


@pytest.fixture(scope="module")
def model(learning_seed: int) -> Model:
    return learned(learning_seed)


def test_words_that_were_never_seen_are_written(model: Model) -> None:
    for method in ("greedy", "beam"):
        found = model.predict(f"x {WILD} saw quux", method=method)  # type: ignore[call-overload]
        assert found.text == f"saw {WILD}"
    assert WILD not in model.columns["target"].vocabulary  # type: ignore[attr-defined]


def test_the_trace_says_where_each_word_was_copied_from(model: Model) -> None:
    trace = model.predict(f"x {WILD} saw quux").trace
    assert trace is not None and trace.input["source"] == ["x", WILD, "saw", "quux"]
    assert trace.output == ["saw", WILD, "</s>"]
    copied = trace.copied["source"]
    assert copied.shape == (3, 4) and (copied.sum(1) <= 1 + 1e-6).all()
    assert copied[1].argmax() == 1 and copied[1].sum() == pytest.approx(1.0, abs=1e-5)
    assert copied[1, [0, 2, 3]].tolist() == [0, 0, 0]  # another word is at these positions
    assert copied[2].sum() == 0  # END is in no source
    again = Trace.from_dict(trace.to_dict())
    np.testing.assert_allclose(again.copied["source"], copied)


def test_figures_escape_what_is_copied(model: Model) -> None:
    trace = model.predict(f"x {WILD} saw quux").trace
    assert trace is not None
    page, drawn = trace.html(), copies(trace).svg()
    for text in (page, drawn):
        assert WILD not in text and "&lt;b&gt;&amp;" in text
    assert drawn.count("<path") >= 1
    assert "Copied:" in copies(trace).description and WILD in copies(trace).description
    with pytest.raises(RegardError, match="no copies of 'target'"):
        copies(trace, over="target")


def test_the_terminal_lists_what_was_copied(model: Model) -> None:
    from rich.console import Console

    console = Console(width=60, record=True, color_system=None, file=open("/dev/null", "w"))  # noqa: SIM115
    trace = model.predict(f"x {WILD} saw quux").trace
    assert trace is not None
    trace.print(console)
    assert f"{WILD} ← {WILD} 1.00" in console.export_text()


def test_a_saved_model_copies_as_before(model: Model, tmp_path: Any) -> None:
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m", device="cpu")
    one, other = model.predict("x Wump saw of"), again.predict("x Wump saw of")
    assert (one.text, one.score) == (other.text, other.score) and one.text == "saw Wump"


def test_metrics_of_copying(model: Model) -> None:
    rows = [{"source": f"x n{k} saw m{k}", "target": f"saw n{k}", "links": "2-0 1-1"} for k in range(6)]
    rows.append({"source": "x n saw m", "target": "saw gone", "links": "2-0"})
    found = measure(model, ["unseen_words", "copied_right", "distinct1"], rows=model_rows(rows))
    assert found.scores["unseen_words"].value == pytest.approx(6 / 7)
    assert found.scores["copied_right"].value == 1.0
    assert found.scores["distinct1"].value == pytest.approx(8 / 14)


def model_rows(rows: list[dict[str, str]]) -> Any:
    from regard.data import Row

    return [Row(row, file="rows", line=number) for number, row in enumerate(rows, 1)]


def test_without_copying_an_unseen_word_cannot_be_written() -> None:
    model = built(copy=False)
    assert model.predict("x Wump saw of").text.count("Wump") == 0


def test_words_that_always_stand_in_the_input_are_left_out_of_the_vocabulary() -> None:
    """The third target contains saw, but its source does not: this word must stay in the vocabulary."""
    rows = [
        {"source": "x zork saw blib", "target": "saw zork", "links": ""},
        {"source": "x blib saw zork", "target": "saw blib", "links": ""},
        {"source": "x of zork", "target": "saw of", "links": ""},
    ]
    asked = spec().changed("outputs.target={type: text, copied_from: source}")
    model = Model.build(asked, rows=rows)
    assert model.columns["target"].vocabulary.pieces == ["saw"]  # type: ignore[attr-defined]
    batch = next(iter(model.batches(rows, shuffle=False)))
    assert model.network(batch)["target"].total.isfinite()  # every omitted word can be copied


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (["outputs.target.copied_from=source", "decoder.copy=false"], "does not copy them"),
        (["outputs.target.copied_from=sauce"], "no input 'sauce' of type text"),
        (["inputs.source.copied_from=source"], "copied_from has no effect: it is an option of outputs"),
        (
            ["outputs.target={type: text, copied_from: source, unit: char}", "inputs.source.unit=char"],
            "unit is char",
        ),
        (
            [
                "outputs.target={type: text, copied_from: source}",
                "inputs.source={type: text, shared: target}",
            ],
            "same",
        ),
    ],
)
def test_words_can_be_left_out_only_where_they_are_copied(changes: list[str], reason: str) -> None:
    with pytest.raises(RegardError, match=reason) as refused:
        spec().changed(*changes)
    assert "copied_from" in str(refused.value.where)


def test_an_ensemble_of_models_that_copy_and_that_do_not_is_refused(model: Model) -> None:
    other = built(copy=False)
    other.columns["target"].relearn(model.columns["target"].learned())
    with pytest.raises(RegardError, match="only some of these models copy"):
        model.predict("x Wump saw of", ensemble=[other])


def test_a_student_learns_from_a_model_that_copies(model: Model) -> None:
    from regard.nn.network import Distillation

    student = built()
    student.network.distillation = Distillation([model.network], 0.5)
    rows = [{"source": "x a saw b", "target": "saw a", "links": ""}]
    batch = next(iter(student.batches(rows, shuffle=False)))
    student.network.train()
    loss = student.network(batch)["target"]
    loss.total.backward()
    assert loss.total.isfinite()


def test_one_that_does_not_copy_cannot_learn_from_one_that_does(model: Model, tmp_path: Any) -> None:
    from regard.training.distillation import load_distillation

    model.save(tmp_path / "m")
    distill = {"training": {"seed": 1, "distill": {"from": str(tmp_path / "m")}}}
    plain = Model.build(spec(copy=False).changed(f"training={distill['training']}"), rows=ROWS)
    plain.columns["target"].relearn(model.columns["target"].learned())
    with pytest.raises(RegardError, match="copies words of 'source'"):
        load_distillation(plain, plain.spec.training.distill)
