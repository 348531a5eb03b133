"""`regard runs`: scores, sizes and the settings in which runs differ, from their files alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import regard as package
from regard import Model, RegardError
from regard.report import runs

WORDS = ("abc", "bca", "cab", "ab", "ba", "ca", "bb", "cc", "acc", "bcc", "abb", "aab")
WORDS = ("abc", "bca", "cab", "ab", "ba", "ca", "bb", "cc", "acc", "bcc", "abb", "aab", "bbc", "cca")
ROWS = [{"source": word, "target": word[::-1]} for word in WORDS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("many") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(place / "cache"))
        for name, size in (("small", 8), ("large", 12)):
            package.fit(
                ROWS,
                run=place / name,
                overrides=[f"encoder.size={size}", "training.steps=3", "training.evaluate_every=1"],
                quiet=True,
                device="cpu",
            )
    (place / "broken").mkdir()
    (place / "broken" / "spec.yaml").write_text("{")
    (place / "broken" / "columns.json").write_text("{")
    return place


def test_runs_are_compared(folder: Path) -> None:
    found = runs(folder)
    assert [run.folder.name for run in found.runs] == ["broken", "large", "small"]
    assert found.differing == ["encoder.size"]
    for run in found.runs[1:]:
        model = Model.load(run.folder, device="cpu")
        assert run.weights == sum(one.numel() for one in model.network.parameters())
        assert run.steps == 3
        split = model.metrics["scores"]["dev"]
        assert run.scores == {name: score["value"] for name, score in split.items()}
    head, lines = found.rows()
    assert [line[head.index("encoder.size")] for line in lines] == ["", 12, 8]


def test_the_command_prints_writes_a_page_and_json(
    folder: Path, tmp_path: Path, regard: Callable[..., tuple[int, str, str]]
) -> None:
    page, table = tmp_path / "r.html", tmp_path / "r.json"
    code, out, err = regard("runs", str(folder), "-o", str(page), "--json", str(table))
    assert code == 0, err
    assert "encoder.size=12" in out and "encoder.size=8" in out and "not measured" in out
    assert [run["settings"]["encoder.size"] for run in json.loads(table.read_text())["runs"]] == [None, 12, 8]
    text = page.read_text()
    assert "train loss" in text and "sortable" in text and str(folder / "small") in text
    assert "Runs" in runs(folder)._repr_html_()


def test_no_runs(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="there is no run here"):
        runs(tmp_path)
    with pytest.raises(RegardError, match="no such folder"):
        runs(tmp_path / "none")
