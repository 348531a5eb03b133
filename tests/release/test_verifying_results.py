"""`bench/verify.py` tells a figure that repeats from one that does not, and refuses a file that was changed."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
RESULT = json.loads((BENCH.parent / "regard/course/results/tagger.json").read_text(encoding="utf-8"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(BENCH)
    return runpy.run_path(str(BENCH / "verify.py"))


def run(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, *words: str, scores: dict[str, float]
) -> int:
    """Run the script with a training that returns these scores."""
    monkeypatch.setattr(sys, "argv", ["verify.py", *words])
    monkeypatch.setitem(script["main"].__globals__, "train", lambda *given: scores)
    return int(script["main"]())


def test_a_figure_that_repeats(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = {name: one["value"] for name, one in RESULT["scores"]["test"].items()}
    assert run(script, monkeypatch, "tagger", scores=stored) == 0
    said = capsys.readouterr().out
    assert "regard train tagger" in said and f"{stored['tag_accuracy']:.4g}" in said and "same" in said
    other = {**stored, "exact": stored["exact"] - 0.05}
    assert run(script, monkeypatch, "tagger", scores=other) == 1
    assert run(script, monkeypatch, "tagger", "--tolerance", "0.1", scores=other) == 0
    assert "DIFFERS" in capsys.readouterr().out


def test_a_short_training_may_be_worse_but_not_better(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(script, monkeypatch, "tagger", "--quick", scores={"tag_accuracy": 0.5, "exact": 0.1}) == 0
    assert run(script, monkeypatch, "tagger", "--quick", scores={"tag_accuracy": 0.5, "exact": 1.0}) == 1


def test_a_changed_file_is_refused(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = json.loads(json.dumps(RESULT))
    changed["scores"]["test"]["exact"]["value"] = 0.99
    (tmp_path / "tagger.json").write_text(json.dumps(changed), encoding="utf-8")
    monkeypatch.setitem(script["main"].__globals__, "RESULTS", tmp_path)
    with pytest.raises(SystemExit, match="was changed after it was written"):
        run(script, monkeypatch, "tagger", scores={})


def test_an_unknown_name_gets_the_nearest(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"no stored result 'translation'.*translation-seed-1"):
        run(script, monkeypatch, "translation", scores={})
