"""A model with two inputs: it attends to both, and reads them from words, lines and JSON alike."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import regard as package

Run = Callable[..., tuple[int, str, str]]
ENDINGS = {"V PST": "ed", "V PRS": "s", "V GER": "ing"}
SPEC = {
    "inputs": {
        "lemma": {"type": "text", "unit": "char", "field": 1},
        "features": {"type": "text", "unit": "word", "field": 2},
    },
    "outputs": {"form": {"type": "text", "unit": "char", "field": 3}},
    "encoder": {"size": 8, "embedding": 8},
    "attention": {"score": "additive"},
    "decoder": {"size": 8, "embedding": 8},
    "training": {"steps": 3, "batch_rows": 8},
    "search": {"max_length": 6, "min_length": 3},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("two")
    verbs = [a + b + c for a in "wtl" for b in "aeo" for c in "lkp"]
    lines = [f"{verb}\t{what}\t{verb}{end}" for verb in verbs for what, end in ENDINGS.items()]
    (folder / "forms.tsv").write_text("\n".join(lines), encoding="utf-8")
    spec = {**SPEC, "data": {"train": str(folder / "forms.tsv")}}
    package.fit(spec, run=folder / "run", device="cpu", quiet=True)
    return str(folder / "run")


def test_both_inputs_are_attended_to(run: str) -> None:
    trace = package.load(run, device="cpu").predict({"lemma": "walk", "features": "V GER"}).trace
    assert trace is not None
    assert {name: table.shape[1] for name, table in trace.attention.items()} == {"lemma": 4, "features": 2}


def test_words_lines_and_json_give_one_answer(
    run: str, regard: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"lemma": "wal", "features": "V GER"}
    truth = package.load(run, device="cpu").predict(row).text
    lines = tmp_path / "lines.txt"
    lines.write_text("wal\tV GER\n", encoding="utf-8")
    for given in (["wal", "V GER"], [json.dumps(row)], ["-f", str(lines)]):
        assert regard("predict", run, *given, "--device", "cpu")[:2] == (0, truth + "\n")
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"wal\tV GER\n"), isatty=lambda: False)
    )
    assert regard("predict", run, "--device", "cpu")[:2] == (0, truth + "\n")
    code, out, _ = regard("show", run, "wal", "V GER", "--device", "cpu")
    assert code == 0 and "features" in out


def test_a_single_text_is_refused_with_json_to_copy(run: str, regard: Run) -> None:
    for command in ("predict", "show"):
        code, _, err = regard(command, run, "wal", "--device", "cpu")
        assert code == 2 and "this model reads lemma, features; received 1 text." in err
        example = err[err.index("{") : err.index("}") + 1]
        assert list(json.loads(example)) == ["lemma", "features"]
