"""Ranges as they are typed, and the mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard import RegardError
from regard.sweep.plan import make_plan, typed
from regard.sweep.ranges import Choices, NumberRange, read_range, typed_ranges
from tests.sweep.small import small_task


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64..512", NumberRange(64, 512, whole=True)),
        ("64..512:64", NumberRange(64, 512, 64, whole=True)),
        ("0..0.5", NumberRange(0, 0.5)),
        ("0..0.5:0.1", NumberRange(0, 0.5, 0.1)),
        ("1e-4..1e-2:log", NumberRange(1e-4, 1e-2, log=True)),
        ("-3..3", NumberRange(-3, 3, whole=True)),
        ("gru,lstm", Choices(("gru", "lstm"))),
        ("64,128", Choices((64, 128))),
        ("constant,{type: cosine, warmup: 10}", Choices(("constant", {"type": "cosine", "warmup": 10}))),
        (["a", None], Choices(("a", None))),
    ],
)
def test_ranges_are_read(text: object, expected: object) -> None:
    assert read_range("key", text, "") == expected


@pytest.mark.parametrize("text", ["64..512", "64..512:64", "0..0.5:0.1", "0.0001..0.01:log", "gru,lstm"])
def test_a_range_is_written_as_it_is_read(text: str) -> None:
    found = read_range("key", text, "")
    assert read_range("key", found.text(), "") == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("512..64", "Write 64..512"),
        ("64...512", "no range of numbers"),
        ("64..x", "no range of numbers"),
        ("64..512:lin", "neither log nor a step"),
        ("0..1:log", "logarithmic scale has no 0"),
        ("1..2:5", "does not fit"),
        ("1..9:2:log", "has no step"),
        ("64", "nothing to vary"),
        ("gru,gru", "given twice"),
        ("", "nothing to vary"),
    ],
)
def test_a_mistake_in_a_range_is_explained(text: str, words: str) -> None:
    with pytest.raises(RegardError, match=words):
        read_range("encoder.size", text, "--vary")


def test_a_grid_has_all_steps() -> None:
    assert read_range("key", "0..0.5:0.1", "").points() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert read_range("key", "2..8:3", "").points() == [2, 5, 8]
    assert read_range("key", "0..0.5", "").points() is None


@pytest.mark.parametrize("value", [1e-05, 1e20, 0.1, -2.5e-07, 3, True, None, "a b", "1", {"type": "gru"}])
def test_a_typed_value_is_read_back(value: object) -> None:
    import yaml

    assert yaml.safe_load(typed(value)) == value


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        (["encoder.sise=4..8"], "Did you mean"),
        (["training.learning_rate=1e-4..1e-2:log"], "lr"),
        (["encoder.cell=gru,lstmm"], "lstm"),
        (["training.lr=-1..1"], "training.lr"),
        (["encoder.size"], "key.path=RANGE"),
        (["encoder.size=4..8", "encoder.size=8..9"], "varied twice"),
        (["training.seed=1..9"], "--seeds 3"),
        ([], "nothing to vary"),
    ],
)
def test_a_mistake_in_a_setting_stops_before_anything_runs(
    tmp_path: Path, vary: list[str], words: str
) -> None:
    with pytest.raises(RegardError, match=words):
        make_plan(str(small_task(tmp_path)), typed_ranges(vary))
    assert not (tmp_path / "sweeps").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampler": "tpee"}, "tpe"),
        ({"pruner": "medium"}, "median"),
        ({"metric": "los"}, "loss"),
        ({"sampler": "grid"}, "a grid needs a list"),
        ({"pruner": "median", "metric": "accuracy"}, "computed during training"),
        ({"trials": -1}, "at least 1"),
    ],
)
def test_a_mistake_in_an_option_is_explained(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        make_plan(str(small_task(tmp_path)), {"training.lr": "1e-3..1e-1:log"}, **options)  # type: ignore[arg-type]


def test_a_setting_that_another_choice_allows_is_accepted(tmp_path: Path) -> None:
    """`heads` is an option of the transformer alone, which the other setting chooses."""
    spec = str(small_task(tmp_path))
    with pytest.raises(RegardError, match="heads"):
        make_plan(spec, {"encoder.heads": [2, 4]})
    vary = {"encoder.type": ["recurrent", "transformer"], "encoder.heads": [2, 4]}
    text = Path(spec).read_text().replace("cell: gru, size: 8, embedding: 4", "size: 8")
    Path(spec).write_text(text)
    assert list(make_plan(spec, vary).ranges) == list(vary)


def test_the_spec_may_hold_the_sweep(tmp_path: Path) -> None:
    spec = small_task(tmp_path)
    spec.write_text(
        spec.read_text() + "sweep: {vary: {encoder.size: 4..8, training.lr: 1e-3..1e-1:log}, trials: 3}\n"
    )
    plan = make_plan(str(spec), {"encoder.size": "8..16"}, seeds=2)
    assert {path: one.text() for path, one in plan.ranges.items()} == {
        "encoder.size": "8..16",
        "training.lr": "0.001..0.1:log",
    }
    assert (plan.trials, plan.seeds, plan.metric) == (3, (1, 2), "loss")
    assert "sweep" not in plan.spec({"encoder.size": "9", "training.lr": "0.01"}, 2).written()


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    plan = make_plan(
        str(small_task(tmp_path)), {"encoder.size": "4..8"}, storage="postgresql://me:secret@host/base"
    )
    assert plan.place == "postgresql://me:…@host/base"


def test_an_absent_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.sweep.plan.find_spec", lambda name: None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[sweep\]'"):
        make_plan(str(small_task(tmp_path)), {"encoder.size": "4..8"})
