"""Runs compared: figures for one sentence, and score differences with their significance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from regard.fitting.experiment import Experiment
from regard.metrics import output_metric

Run = Callable[..., tuple[int, str, str]]
SMALL = ["train=80", "dev=10", "test=12", "long=2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two runs of a few steps on the same data, with different selections."""
    folder = tmp_path_factory.mktemp("runs")
    overrides = [f"data.world.{option}" for option in SMALL]
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


def measured(regard: Run, file: Path, *arguments: str) -> tuple[str, dict[str, float], str]:
    """The model's name according to `evaluate`, its scores, and the printed output."""
    names = ("chrf", "exact", "loss", "perplexity", "aer", "segment_f1")
    metrics = [part for name in names for part in ("--metric", name)]
    code, out, err = regard("evaluate", *arguments, *metrics, "--json", str(file))
    assert code == 0, err
    ((name, found),) = json.loads(file.read_text(encoding="utf-8"))["models"].items()
    return name, {metric: score["value"] for metric, score in found["scores"].items()}, out


def test_a_model_together_with_itself_measures_as_it_does_alone(
    regard: Run, runs: list[str], tmp_path: Path
) -> None:
    _, alone, _ = measured(regard, tmp_path / "a.json", runs[0])
    name, twice, _ = measured(regard, tmp_path / "b.json", runs[0], "--with", runs[0])
    assert name == f"{runs[0]} + {runs[0]}"
    assert twice == pytest.approx(alone, rel=1e-5, abs=1e-5)


def test_an_ensemble_is_measured_by_what_it_writes(regard: Run, runs: list[str], tmp_path: Path) -> None:
    first, second = (measured(regard, tmp_path / "one.json", run)[1] for run in runs)
    name, scores, out = measured(
        regard, tmp_path / "both.json", runs[0], "--with", runs[1], "--predictions", str(tmp_path / "p.tsv")
    )
    assert name == " + ".join(runs)
    assert name in " ".join(out.split())
    rows = [line.split("\t") for line in (tmp_path / "p.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    inputs = tmp_path / "inputs.txt"
    inputs.write_text("".join(f"{row[1]}\n" for row in rows), encoding="utf-8")
    answers = regard("predict", runs[0], "--with", runs[1], "--file", str(inputs))[1].splitlines()
    assert [" ".join(answer.split()) for answer in answers] == [row[2] for row in rows]
    for wanted in ("chrf", "exact"):
        expected = output_metric(wanted)(answers, [row[3].split(" | ") for row in rows])
        assert scores[wanted] == pytest.approx(expected.value)
    # The loss of the mean of two distributions never exceeds the mean of the two losses.
    assert scores["loss"] < (first["loss"] + second["loss"]) / 2
    assert scores["aer"] not in (first["aer"], second["aer"])


def test_a_metric_the_model_has_no_truth_for_is_refused(regard: Run, runs: list[str]) -> None:
    code, _, err = regard("evaluate", runs[0], "--metric", "latent_uas")
    assert code == 2
    assert "latent_uas needs the true tree of an input" in " ".join(err.split())


def test_every_way_to_predict_asks_the_other_models(regard: Run, runs: list[str], tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("source\nabc\n", encoding="utf-8")
    for ways in (["abc"], ["--file", str(table), "--column", "source", "--as", "target"]):
        code, _, err = regard("predict", runs[0], *ways, "--with", str(tmp_path / "nowhere"))
        assert (code, "no such folder" in err) == (2, True)


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
    assert "truth" not in texts
    # Each panel shows the output of its model where the outputs differ.
    assert {"softmax", "segments"} <= {text.partition(" → ")[0] for text in texts}


def test_what_changes_is_shown_beside_what_a_model_does_by_itself(
    regard: Run, runs: list[str], tmp_path: Path
) -> None:
    figure = tmp_path / "override.svg"
    code, out, err = regard("show", runs[0], "the cat", "--look", '{"source": "0-0 1-0"}', "-o", str(figure))
    assert code == 0, err
    texts = [
        str(element.text) for element in ElementTree.parse(figure).iter() if element.tag.endswith("text")
    ]
    assert sum(text.startswith("own attention:") for text in texts) == 1
    assert sum(text.startswith("overridden:") for text in texts) == 1
    assert texts.count("imposed position") == 1 and "true position" not in texts
    code, out, err = regard("show", runs[0], "the cat", "--look", "0-0 1-0")
    assert code == 0, err
    by_itself, told = out.split("overridden:")
    assert (
        by_itself.startswith("own attention:")
        and "[ ] imposed position" in told
        and "imposed position" not in by_itself
    )
    # With --row too, the comparison shows the model's own output, not the reference.
    code, out, err = regard("show", runs[0], "--row", "2", "--look", "0-0")
    assert code == 0, err
    regard("evaluate", runs[0], "--predictions", str(tmp_path / "p.tsv"))
    own = (tmp_path / "p.tsv").read_text(encoding="utf-8").splitlines()[3].split("\t")[2]
    headline = out.splitlines()[0]
    assert headline.startswith("own attention:") and headline.endswith(f"→ {own}".rstrip())
    assert "true position" not in out.split("overridden:")[0]


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
        (["compare", 0], "no input to show"),
        (["show", 0], "no input to show"),
        (["show", 0, "word", "--row", "1"], "received both a text, 'word', and --row 1"),
        (["show", 0, "--row", "99"], "there is no row 99"),
        (["compare", 0, "--row", "99"], "there is no row 99"),
        (["compare", 0, "--row", "1", "--name", "a", "--name", "b"], "2 names for 1 runs"),
        (["compare", 0, "--row", "1", "--of", "sauce"], "no output 'sauce' in common. They have target"),
        (["show", 0, "the cat", "--look", "99-0"], "there is no position 99"),
        (["show", 0, "the cat", "--look", "{"], "this is not JSON"),
        (["show", 0, "the cat", "--of", "sauce"], "no output 'sauce'"),
        (["show", 0, "the cat", "--gallery", "2"], "a gallery chooses its rows itself"),
        (["evaluate", 0, "--compare"], "at least two runs"),
    ],
)
def test_mistakes_are_told(arguments: list[object], expected: str, regard: Run, runs: list[str]) -> None:
    code, _, err = regard(*(runs[word] if isinstance(word, int) else str(word) for word in arguments))
    assert code == 2
    assert expected in " ".join(err.split())


def test_without_a_file_compare_prints(
    regard: Run, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = regard("compare", *runs, "--text", "the cat sleeps")
    assert code == 0, err
    assert "softmax" in out and "segments" in out and not list(tmp_path.iterdir())
    code, _, err = regard("compare", *runs, "--text", "the cat sleeps", "--across", "2")
    assert code == 2 and "--across arranges the panels of a figure" in err
