"""regard.fit with objects of a notebook; a cell run twice; errors that name Python arguments."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard import RegardError
from regard.data.frames import records, splits_of
from regard.fitting.experiment import Experiment

GENERATOR = random.Random(0)
WORDS = ["".join(GENERATOR.choices("abcd", k=GENERATOR.randint(2, 4))) for _ in range(60)]
SAID = [" ".join(word.upper()) for word in WORDS]
SMALL: dict[str, Any] = {
    "encoder": {"size": 4, "embedding": 4},
    "decoder": {"size": 4, "embedding": 4},
    "search": {"method": "greedy", "max_length": 6},
    "training": {"steps": 2},
    "device": "cpu",
    "quiet": True,
}


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(run: Path | None, name: str = "pairs") -> list[str]:
    assert run is not None
    return (run / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


def test_a_cell_run_twice_makes_a_new_run() -> None:
    columns = {"word": WORDS, "said": SAID}
    first, second = (regard.fit(columns, name="words", seed=3, **SMALL) for _ in range(2))
    assert (first.folder, second.folder) == (Path("runs/words"), Path("runs/words-2"))
    assert first.predict("abc").score == second.predict("abc").score  # the same seed
    with pytest.warns(
        UserWarning, match=r"runs/words already contains a run; the new run is written to runs/words-3"
    ):
        third = regard.fit(WORDS, SAID, run="runs/words", seed=4, **SMALL)
    assert third.spec.training.seed == 4
    loaded = regard.load("runs/words").predict("abc")
    assert loaded.score == pytest.approx(first.predict("abc").score, rel=1e-5)
    with pytest.raises(RegardError, match="nonsense"):
        regard.fit(columns, name="words", metrics=["nonsense"], **SMALL)
    assert not Path("runs/words-4").exists()  # a run that failed leaves no folder


def test_rows_given_in_python_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = regard.fit(
        np.array(WORDS), SAID, dev=(WORDS[:9], SAID[:9]), test=(WORDS[9:15], SAID[9:15]), **SMALL
    )
    assert {len(rows_of(model.folder, name)) for name in ("pairs", "dev", "test")} == {60, 9, 6}
    monkeypatch.chdir(tmp_path.parent)  # the run finds its rows from any working directory
    folder = tmp_path / str(model.folder)
    assert len(regard.load(folder).evaluate("test").inputs) == len(set(WORDS[9:15]))
    folder = folder.rename(tmp_path / "moved")  # rows move with their run
    assert len(regard.load(folder).evaluate("test").inputs) == len(set(WORDS[9:15]))
    longer = Experiment.resume(folder, overrides=["training.steps=3"], device="cpu", quiet=True).train()
    assert longer.metrics["training"]["steps"] == 3


def test_settings_and_the_model_of_a_spec() -> None:
    document = {
        "name": "own",
        "inputs": {"word": {"type": "text", "unit": "char"}},
        "outputs": {"sounds": {"type": "text", "unit": "word"}},
        "encoder": {"size": 4},
        "decoder": {"size": 4},
    }
    rows = [
        {"word": word, "sounds": said, "id": n}
        for n, (word, said) in enumerate(zip(WORDS, SAID, strict=True))
    ]
    model = regard.fit(
        rows, spec=document, epochs=1, encoder={"type": "mean", "embedding": 6}, training={"lr": 1e-5}, device="cpu",
        quiet=True,
    )  # fmt: skip
    assert model.folder == Path("runs/own")
    assert model.spec.encoder["word"].type == "mean" and model.spec.encoder["word"].embedding == 6
    assert model.spec.training.lr == 1e-5 and model.spec.training.epochs == 1
    measured = model.evaluate(data=[("ab", "A B"), ("ba", "B A")])
    assert len(measured.inputs) == 2
    assert len(model.evaluate(data=WORDS[:5], y=SAID[:5]).inputs) == len(set(WORDS[:5]))
    with pytest.raises(RegardError, match="there is no column 'word'; there are a, sounds"):
        model.evaluate(data=[{"a": "ab", "sounds": "A B"}])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"encoder": {"sise": 4}}, r"^encoder=\{'sise': 4\}: unknown key 'sise'"),
        ({"epochs": "x"}, "^epochs='x': expected"),
        ({"source": "words"}, r"^data, row 1: there is no column 'words'. There are word, said"),
        ({"y": SAID[:3]}, r"^y: there are 60 inputs and 3 targets"),
        ({"dev": [("a", None)]}, r"^dev, row 1: the target is missing"),
    ],
)
def test_errors_speak_python(settings: dict[str, Any], told: str) -> None:
    data: Any = WORDS if "y" in settings else {"word": WORDS, "said": SAID}
    with pytest.raises(RegardError, match=told) as caught:
        regard.fit(data, quiet=True, **settings)
    assert "--" not in str(caught.value)
    assert not Path("runs").exists()


def test_a_remedy_names_an_argument() -> None:
    with pytest.raises(RegardError, match=r"Name a dev file: dev=FILE"):
        regard.fit([("a", said) for said in SAID], **SMALL)


PAIR = [{"source": "a", "target": 1}]


def frames() -> dict[str, Any]:
    return {
        "mapping": {"text": ["a"], "label": [1]},
        "pairs": [("a", 1)],
        "generator": (pair for pair in [["a", 1]]),
        "mappings": [{"source": "a", "target": 1}],
        "array": np.array([["a", 1]], dtype=object),
        "structured": np.array([("a", 1)], dtype=[("text", "U9"), ("label", "i8")]),
    }


@pytest.mark.parametrize("kind", frames())
def test_rows_of_every_kind(kind: str) -> None:
    assert records(frames()[kind]) == PAIR


def test_a_field_of_a_field_and_other_columns() -> None:
    rows = [{"id": 1, "translation": {"en": "a", "de": "b"}}]
    assert records(rows, source="translation.en", target="translation.de") == [{"source": "a", "target": "b"}]


def test_frames_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a"], "label": [1]})
    assert records(frame) == records(frame[["text"]], frame.label) == records(frame.text, frame.label) == PAIR
    with pytest.raises(RegardError, match="row 2: the target is missing"):
        regard.fit(pandas.DataFrame({"source": ["a", "b"], "target": ["x", None]}), quiet=True)


def test_frames_of_polars_and_pyarrow() -> None:
    polars = pytest.importorskip("polars")
    assert records(polars.DataFrame({"text": ["a"], "label": [1]})) == PAIR
    pyarrow = pytest.importorskip("pyarrow")
    assert records(pyarrow.table({"text": ["a"], "label": [1]})) == PAIR


def test_data_sets_of_hugging_face() -> None:
    datasets = pytest.importorskip("datasets")
    pyarrow = pytest.importorskip("pyarrow")
    held = datasets.table.InMemoryTable(pyarrow.table({"text": ["a"], "label": [1]}))
    table = datasets.Dataset(held, fingerprint="one")
    assert records(table) == PAIR
    assert list(splits_of(datasets.DatasetDict({"train": table, "validation": table}))) == ["train", "dev"]


def test_callbacks_hear_what_happens() -> None:
    heard: list[tuple[str, dict[str, Any]]] = []

    class Watch(regard.training.Callback):
        def on_step(self, figures: dict[str, Any]) -> None:
            heard.append(("step", figures))

        def on_evaluation(self, figures: dict[str, Any]) -> None:
            heard.append(("evaluation", figures))

        def on_end(self, figures: dict[str, Any]) -> None:
            heard.append(("end", figures))

    regard.fit({"word": WORDS, "said": SAID}, callbacks=[Watch()], **SMALL)
    assert [event for event, _ in heard] == ["step", "evaluation", "end"]
    step, evaluation, end = (figures for _, figures in heard)
    assert step["step"] == evaluation["step"] == end["steps"] == 2
    assert step["loss"] > 0 and evaluation["improved"] is True and end["stopped_because"] == "steps"
