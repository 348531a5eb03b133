"""Runs side by side: figures of one sentence, and differences with their significance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from regard.experiment import Experiment

Run = Callable[..., tuple[int, str, str]]
SMALL = ["train=80", "dev=10", "test=12", "long=2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two runs of a few steps on the same data, with two selections."""
    folder = tmp_path_factory.mktemp("runs")
    overrides = [f"data.options.{option}" for option in SMALL]
    overrides += ["training.steps=3", "encoder.size=8", "decoder.size=8", "search.max_length=6"]
    for select in ("softmax", "segments"):
        experiment = Experiment.start(
            "translation-segments-char",
            run=folder / select,
            overrides=[*overrides, f"attention.select={select}"],
            device="cpu",
            quiet=True,
        )
        experiment.train()
    return [str(folder / "softmax"), str(folder / "segments")]


def test_evaluate_compares_with_the_first_and_chooses_thresholds_on_dev(
    regard: Run, runs: list[str], tmp_path: Path
) -> None:
    result = tmp_path / "m.json"
    metrics = ["--metric", "chrf", "--metric", "segment_f1"]
    code, out, err = regard("evaluate", *runs, "--compare", *metrics, "--json", str(result))
    assert code == 0, err
    assert "paired bootstrap" in out
    found = json.loads(result.read_text(encoding="utf-8"))
    (compared,) = found["comparisons"]
    values = [found["models"][run]["scores"]["chrf"]["value"] for run in runs]
    assert compared["difference"] == pytest.approx(values[1] - values[0])
    assert compared["low"] <= compared["difference"] <= compared["high"]
    assert [compared["first"], compared["second"]] == runs
    signature = found["models"][runs[1]]["scores"]["segment_f1"]["signature"]
    assert "chosen on dev" in signature


def test_panels_show_the_truth_and_every_run(regard: Run, runs: list[str], tmp_path: Path) -> None:
    figure = tmp_path / "panels.svg"
    titles = ["--name", "simple", "--name", "structured"]
    code, out, err = regard("compare", *runs, "--row", "2", *titles, "-o", str(figure))
    assert code == 0, err
    assert out.strip() == str(figure)
    texts = [element.text for element in ElementTree.parse(figure).iter() if element.tag.endswith("text")]
    assert [text for text in texts if text in ("truth", "simple", "structured")] == [
        "truth",
        "simple",
        "structured",
    ]


def test_panels_of_a_text_have_no_truth(regard: Run, runs: list[str], tmp_path: Path) -> None:
    figure = tmp_path / "panels.svg"
    code, _, err = regard("compare", *runs, "--text", "the cat sleeps", "-o", str(figure))
    assert code == 0, err
    texts = [element.text for element in ElementTree.parse(figure).iter() if element.tag.endswith("text")]
    assert "truth" not in texts and {"softmax", "segments"} <= set(texts)


def test_a_row_is_shown_with_its_truth_and_samples(regard: Run, runs: list[str], tmp_path: Path) -> None:
    code, out, err = regard("show", runs[1], "--row", "2")
    assert code == 0, err
    assert "true segments" in out and "best segments" in out
    page = tmp_path / "row.html"
    assert regard("show", runs[1], "--row", "2", "--samples", "3", "-o", str(page))[0] == 0
    assert "<h2>Samples</h2>" in page.read_text(encoding="utf-8")
    code, out, err = regard("show", runs[1], '{"source": "the cat sleeps"}')
    assert code == 0, err
    assert "true segments" not in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["compare", 0], "say what to look at"),
        (["show", 0], "say what to look at"),
        (["show", 0, "word", "--row", "1"], "say what to look at"),
        (["show", 0, "--row", "99"], "there is no row 99"),
        (["compare", 0, "--row", "99"], "there is no row 99"),
        (["compare", 0, "--row", "1", "--name", "a", "--name", "b"], "2 names for 1 runs"),
        (["evaluate", 0, "--compare"], "at least two runs"),
    ],
)
def test_mistakes_are_told(arguments: list[object], expected: str, regard: Run, runs: list[str]) -> None:
    code, _, err = regard(*(runs[word] if isinstance(word, int) else str(word) for word in arguments))
    assert code == 2
    assert expected in " ".join(err.split())
