"""Metrics found by name: a new one needs no other change; an unsuitable one is refused before training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard import Model, RegardError, Spec
from regard.data import Dataset, Row
from regard.evaluation import check_metrics, evaluate, wanted_metrics
from regard.fitting.experiment import Experiment
from regard.metrics import Inference, Metric, OutputMetric, Score
from regard.model.building import fit_columns, make_columns
from regard.parts import register, registry

ROWS = [
    Row({"words": "fly to Rome", "slots": "O O B-city", "intent": "flight", "tree": "0 1 2"}),
    Row({"words": "New York hotels", "slots": "B-city I-city O", "intent": "hotel", "tree": "2 3 0"}),
]


def model(**changes: Any) -> Model:
    """An untrained model with two outputs, tags and a label."""
    written = {
        "inputs": {"words": {"type": "text"}},
        "outputs": {"slots": {"type": "tags", "of": "words"}, "intent": {"type": "label"}},
        "encoder": {"type": "recurrent", "cell": "gru", "size": 4, "embedding": 4},
        "decoder": {"slots": {"type": "tags"}, "intent": {"type": "label"}},
    }
    spec = Spec.parse(written | changes)
    columns = make_columns(spec)
    fit_columns(columns, spec, lambda: ROWS)
    return Model.build(spec, columns).eval()


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget metrics that a test has registered."""
    known = {name: registry.part("metric", name) for name in registry.names("metric")}
    monkeypatch.setitem(registry.PARTS, "metric", known)
    yield


def chosen(made: Model, *names: str) -> dict[str, list[str]]:
    return {output: [one.name for one in found] for output, found in wanted_metrics(made, names).items()}


def test_each_metric_is_of_the_outputs_it_suits() -> None:
    assert chosen(model(metrics=["chunk_f1", "accuracy", "exact"])) == {
        "slots": ["chunk_f1", "exact"],
        "intent": ["accuracy", "exact"],
    }
    assert chosen(model(metrics=["slots.exact"])) == {"slots": ["exact"], "intent": ["accuracy"]}
    assert chosen(model()) == {"slots": ["tag_accuracy"], "intent": ["accuracy"]}
    assert chosen(model(), "intent.top1") == {"slots": [], "intent": ["top1"]}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["intent.chunk_f1"], r"chunk_f1 is for outputs of type tags; 'intent' is of type label.*intent: .*accuracy"),
        (["bleu"], r"'slots' is of type tags; bleu is for outputs of type text; 'intent' is of type label"),
        (["aer"], r"aer needs the true alignment of 'slots'"),
        (["exact", "acuracy", "chunk_f"], r"'acuracy': Did you mean accuracy\? 'chunk_f': Did you mean chunk_f1\?"),
        (["purpose.accuracy"], r"names the output 'purpose', .* The outputs are slots, intent"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused(names: list[str], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        check_metrics(model(metrics=names))
    with pytest.raises(RegardError, match=words):
        evaluate(model(), Dataset.build(ROWS, list(model().columns.values())), names)


def test_the_deciding_metric_is_checked_too() -> None:
    with pytest.raises(RegardError, match=r"there are no metrics 'blue', 'accurasy'"):
        check_metrics(model(metrics=["blue"], training={"metric": "intent.accurasy"}))
    with pytest.raises(RegardError, match=r"training\.metric: bleu is for outputs of type text"):
        check_metrics(model(training={"metric": "bleu"}))
    with pytest.raises(RegardError, match=r"training\.metric: .*several outputs.*Write intent\.accuracy"):
        check_metrics(model(training={"metric": "accuracy"}))
    check_metrics(model(training={"metric": "intent.accuracy"}))


def test_what_one_model_finds_by_itself_is_not_measured_of_an_ensemble() -> None:
    made = model(truth={"tree": {"type": "tree", "of": "words"}})
    rows = Dataset.build(ROWS, list(made.columns.values()))
    with pytest.raises(RegardError, match="latent_uas cannot be computed for an ensemble"):
        evaluate(made, rows, ["latent_uas"], ensemble=[(made, rows)])


def test_rows_without_the_truth_a_metric_needs_are_told() -> None:
    made = model(truth={"tree": {"type": "tree", "of": "words"}})
    rows = Dataset.build(ROWS, [column for name, column in made.columns.items() if name != "tree"])
    with pytest.raises(RegardError, match=r"needs the true tree of an input, .*, which these rows lack"):
        evaluate(made, rows, ["latent_uas"])


def test_values_of_tags_and_labels_are_compared() -> None:
    made = model(metrics=["exact", "tag_accuracy", "accuracy"])
    found = evaluate(made, Dataset.build(ROWS, list(made.columns.values())))
    values, truth = found.values["slots"]
    assert truth == [[["O", "O", "B-city"]], [["B-city", "I-city", "O"]]]
    assert [" ".join(value) for value in values] == found.predictions["slots"]
    same = sum(
        a == b for mine, (true,) in zip(values, truth, strict=True) for a, b in zip(mine, true, strict=True)
    )
    assert found.scores["slots.tag_accuracy"].value == pytest.approx(same / 6)
    assert found.chance["slots.tag_accuracy"].signature == "accuracy of always 'O'"
    assert found.chance["intent.accuracy"].value == 0.5


def pairs(folder: Path) -> Path:
    words = ["ab", "ba", "aab", "abb", "bba", "baa", "aaab", "abab", "bbbb", "aaaa", "abba", "baab"]
    path = folder / "pairs.tsv"
    path.write_text(
        "source\ttarget\n" + "".join(f"{word}\t{' '.join(word)}\n" for word in words), encoding="utf-8"
    )
    return path  # fmt: skip


SMALL = ["encoder.size=8", "encoder.embedding=8", "decoder.size=8", "decoder.embedding=8", "training.epochs=1",
         "data.hold_out=0.3", "search.max_length=5"]  # fmt: skip


def test_metrics_registered_here_are_used_by_evaluate(parts: None, tmp_path: Path) -> None:
    @register("metric", "length_error")
    class LengthError(OutputMetric):
        higher_is_better = False
        suits = ("text",)

        def statistics(self, predictions: Sequence[Any], references: Any) -> Any:
            lines = [
                [abs(len(one) - len(row[0])), 1] for one, row in zip(predictions, references, strict=True)
            ]
            return np.array(lines, dtype=np.float64)

        def describe(self, count: str) -> str:
            return "characters too many or too few"

        def baseline(self, inference: Inference) -> Score:
            return Score(self.name, 7.0, len(inference), "seven")

    @register("metric", "sharpness")
    class Sharpness(Metric):
        """The mean over looks of the largest weight."""

        def measure(self, inference: Inference) -> Score:
            largest = [
                weights.max(1).mean()
                for _, trace in inference.traces()
                for weights in trace.attention.values()
            ]
            return Score(self.name, float(np.mean(largest)), len(inference))

    made = regard.fit(
        pairs(tmp_path), run=tmp_path / "run", device="cpu", quiet=True,
        overrides=[*SMALL, "metrics=[length_error, sharpness]", "training.metric=length_error"],
    )  # fmt: skip
    found = Model.load(tmp_path / "run", device="cpu").evaluate("dev")
    assert set(found.scores) == {"length_error", "sharpness"}
    differences = [
        abs(len(one) - len(true[0]))
        for one, true in zip(found.predictions["target"], found.references["target"], strict=True)
    ]
    assert found.scores["length_error"].value == pytest.approx(np.mean(differences))
    assert found.chance["length_error"].value == 7.0
    assert 0.0 < found.scores["sharpness"].value <= 1.0
    assert found.by_length("length_error").metric == "length_error"
    assert set(made.metrics["scores"]["dev"]) == {"length_error", "sharpness"}


def test_a_run_does_not_start_with_metrics_that_cannot_be_measured(tmp_path: Path) -> None:
    wrong = {
        "[accuracy]": "accuracy is for outputs of type label",
        "[blue, perr]": "'perr': Did you mean per",
    }
    for metrics, words in wrong.items():
        overrides = [*SMALL, f"metrics={metrics}"]
        with pytest.raises(RegardError, match=words):
            Experiment.start(str(pairs(tmp_path)), run=tmp_path / "run", overrides=overrides, quiet=True)
    assert not (tmp_path / "run" / "log.csv").exists()
