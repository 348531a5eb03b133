"""One of several outputs, asked for in the command line: --of, and messages in its own words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import regard
import regard.cli

SPEC: dict[str, Any] = {
    "inputs": {"source": {"type": "text", "unit": "char"}},
    "outputs": {"letter": {"type": "label"}, "price": {"type": "label"}},
    "encoder": {"size": 4, "embedding": 4},
}


@pytest.fixture(autouse=True)
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"source": "ab", "letter": "a", "price": "1"}, {"source": "ba", "letter": "b", "price": "2"}]
    regard.Model.build(regard.Spec(**SPEC), rows=rows).save("run")
    Path("table.tsv").write_text("text\nab\n")


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["regard", *words])
    regard.cli.main()


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        called(monkeypatch, *words)
    return capsys.readouterr().err


def test_predict_answers_all_outputs_or_the_one_of_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        called(monkeypatch, "predict", "run", "ab")
    assert ended.value.code == 0
    both = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in both] == ["letter", "price"]
    with pytest.raises(SystemExit):
        called(monkeypatch, "predict", "run", "ab", "--of", "price")
    assert capsys.readouterr().out.splitlines() == [both[1][1]]


def test_the_name_of_an_output_is_no_file_to_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(monkeypatch, capsys, "predict", "run", "ab", "--output", "price")
    assert "Use --of price" in told
    assert not Path("price").exists()


def test_messages_name_the_options_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(monkeypatch, capsys, "predict", "run", "ab", "--of", "prize")
    assert "no output 'prize'. The outputs are letter, price." in told
    assert "Use --of letter" in told
    told = refused(monkeypatch, capsys, "show", "run", "ab", "--of", "prize")
    assert "Use --of letter" in told
    words = ("predict", "run", "-f", "table.tsv", "--column", "text", "--as", "new")
    assert "Write --as new=letter" in refused(monkeypatch, capsys, *words)
