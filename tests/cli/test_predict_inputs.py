"""Where `predict` reads from: texts, standard input, lines, tables; and a table with one more column."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import regard as package

Run = Callable[..., tuple[int, str, str]]
WORDS = ["ab", "fed", "cafe", "bead", "dab"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two models that answer differently, with names of their own for the fields."""
    folder = tmp_path_factory.mktemp("runs")
    letters = "abcdef"
    pairs = [(a + b + c, f"{a} {b}".upper()) for a in letters for b in letters for c in letters]
    overrides = [
        "training.steps=40",
        "encoder.size=8",
        "decoder.size=8",
        "search.max_length=6",
        "search.min_length=3",
    ]
    for seed in (1, 2):
        changes = [*overrides, f"training.seed={seed}"]
        package.fit(pairs, run=folder / str(seed), overrides=changes, device="cpu", quiet=True)
    return [str(folder / "1"), str(folder / "2")]


def predict(regard: Run, *arguments: str) -> list[str]:
    code, out, err = regard("predict", *arguments, "--device", "cpu")
    assert code == 0, err
    return out.splitlines()


def refused(regard: Run, *arguments: str) -> str:
    code, out, err = regard("predict", *arguments, "--device", "cpu")
    assert code == 2 and not out
    return err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.txt", "\n".join(WORDS)),
        ("one.tsv", "\n".join(WORDS)),
        ("pairs.tsv", "\n".join(f"{word}\tX Y" for word in WORDS)),
        ("headed.tsv", "id\tsource\n" + "\n".join(f"7\t{word}" for word in WORDS)),
        ("headed.csv", "source,note\n" + "\n".join(f'{word},"a, b"' for word in WORDS)),
        ("by_name.jsonl", "\n".join(f'{{"source": "{word}", "id": 1}}' for word in WORDS)),
    ],
)
def test_a_file_is_read_as_its_name_says(
    regard: Run, runs: list[str], tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content + "\n", encoding="utf-8")
    answers = predict(regard, runs[0], "-f", str(tmp_path / name))
    assert answers == predict(regard, runs[0], *WORDS)


@pytest.mark.parametrize("arguments", [[], ["-"], ["-f", "-"]])
def test_standard_input_is_read_where_nothing_else_is_named(
    regard: Run, runs: list[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    wanted = predict(regard, runs[0], *WORDS)
    text = "\n".join(WORDS) + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert predict(regard, runs[0], *arguments) == wanted


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_several_models_fill_a_column_together(
    regard: Run, runs: list[str], tmp_path: Path, ending: str
) -> None:
    comma = "\t" if ending == "tsv" else ","
    table = tmp_path / f"in.{ending}"
    table.write_text(f"id{comma}word\n" + "".join(f"1{comma}{word}\n" for word in WORDS), encoding="utf-8")
    together = predict(regard, runs[0], "--with", runs[1], *WORDS)
    assert together != predict(regard, runs[0], *WORDS), "the two agree: this test would see nothing"
    column = ["--column", "word", "--as", "said"]
    written = predict(regard, runs[0], "--with", runs[1], "-f", str(table), *column)
    assert written[0] == f"id{comma}word{comma}said"
    assert [line.split(comma)[2] for line in written[1:]] == together


def test_what_would_be_left_unread_is_refused(regard: Run, runs: list[str], tmp_path: Path) -> None:
    table = tmp_path / "in.tsv"
    table.write_text("source\ttarget\nab\tX\ncd\n", encoding="utf-8")
    column = ["-f", str(table), "--column", "source", "--as", "said"]
    assert "texts and a file" in refused(regard, runs[0], "ab", "-f", str(table))
    assert "Add --json" in refused(regard, runs[0], "ab", "--trace")
    assert "one answer a row" in refused(regard, runs[0], *column, "--n-best", "2")
    result = tmp_path / "out.tsv"
    assert "in.tsv:3: the row has 1 cells, expected 2" in refused(regard, runs[0], *column, "-o", str(result))
    assert not result.exists()
    by_rows = refused(regard, runs[0], "-f", str(table))
    assert f"{table}:3" in by_rows and "--bad-rows skip" in by_rows


def test_a_file_named_as_a_text_gets_a_hint(regard: Run, runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "words").write_text("ab\n", encoding="utf-8")
    code, out, err = regard("predict", runs[0], str(tmp_path / "words"), "--device", "cpu")
    assert code == 0 and len(out.splitlines()) == 1
    assert f"-f {tmp_path / 'words'} reads it" in err
