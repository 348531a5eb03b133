"""Progress is shown while a long text is prepared."""

from __future__ import annotations

import gzip
import io
import lzma
import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from rich.console import Console

from regard.data import read_rows
from regard.reporting import console
from regard.reporting.console import DataProgress
from regard.reporting.terminal import watching

LINE = "the cat sat on the mat and saw a bad cab\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file of 3 MB."""
    path = tmp_path / "corpus.txt"
    path.write_text(LINE * (3_000_000 // len(LINE)), encoding="utf-8")
    return path


def train(regard: Callable[..., tuple[int, str, str]], text: Path, *more: str) -> tuple[str, str]:
    settings = [f"data.train={text}", "data.package=null", "data.hold_out=0.001", "decoder.size=4"]
    settings += ["training.steps=1", "metrics=[bits_per_character]"]
    changes = [part for setting in settings for part in ("--set", setting)]
    code, out, err = regard("train", "lm-char", *changes, "-o", str(text.parent / "run"), *more)
    assert code == 0, err
    return out, err


def test_each_pass_over_a_text_is_shown_on_standard_error(
    regard: Callable[..., tuple[int, str, str]], text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "AFTER", 0.0)
    monkeypatch.setattr(console, "EVERY", 0.0)
    out, err = train(regard, text)
    assert "corpus.txt" not in out
    found = re.findall(r"^(.+) corpus\.txt: (\d+) %$", err, flags=re.M)
    passes = {
        name: [int(share) for _, share in told] for name, told in groupby(found, key=lambda one: one[0])
    }
    assert {"reading", "fitting vocabularies to", "encoding train from", "encoding dev from"} <= set(passes)
    for name in ("fitting vocabularies to", "encoding train from"):
        shares = passes[name]
        assert len(set(shares)) >= 3 and shares == sorted(shares) and shares[-1] == 100, (name, shares)


def test_rows_that_are_measured_are_counted_on_standard_error(
    regard: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{n:030b}\t{n:x} {n:o}\n" for n in range(600)))
    settings = ["training.steps=1", "encoder.size=4", "decoder.size=4", "search.max_length=3"]
    changes = [part for setting in settings for part in ("--set", setting)]
    assert regard("train", str(pairs), *changes, "-o", str(tmp_path / "run"), "--quiet")[0] == 0
    monkeypatch.setattr(console, "AFTER", 0.0)
    monkeypatch.setattr(console, "EVERY", 0.0)
    code, out, err = regard("evaluate", str(tmp_path / "run"), "--data", str(pairs), "--metric", "exact")
    assert code == 0 and "measuring" not in out
    assert "reading pairs.tsv: 100 %" in err
    counted = [int(done) for done in re.findall(r"^measuring (\d+) of 600 rows: \d+ %$", err, flags=re.M)]
    assert len(counted) >= 2 and counted == sorted(counted) and counted[-1] == 600


def test_without_a_terminal_the_lines_are_few(
    regard: Callable[..., tuple[int, str, str]], text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "AFTER", 0.0)
    monkeypatch.setattr(console, "EVERY", 1000.0)
    assert train(regard, text)[1].count("corpus.txt: ") == 1


def test_what_is_quickly_read_and_what_is_to_be_quiet_show_nothing(
    regard: Callable[..., tuple[int, str, str]], text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text.write_text(LINE * 2000, encoding="utf-8")
    assert " %" not in train(regard, text)[1]
    monkeypatch.setattr(console, "AFTER", 0.0)
    assert train(regard, text, "--quiet", "--overwrite") == ("", "")


def test_in_a_terminal_one_line_changes_and_goes(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "AFTER", 0.0)
    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    with DataProgress(screen).shown("reading"):
        rows = iter(read_rows(text, fields=["text"], format="stream"))
        next(rows)
        for _ in rows:
            pass
    drawn = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "reading corpus.txt: 100 %" in drawn
    assert drawn.endswith("\x1b[1A\x1b[2K")  # cursor up, line erased


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
def test_the_share_that_was_read_is_that_of_the_file_on_the_disk(text: Path, ending: str) -> None:
    content = text.read_bytes()
    file = Path(f"{text}{ending}")
    if ending == ".zst":
        zstandard = pytest.importorskip("zstandard")
        file.write_bytes(zstandard.ZstdCompressor().compress(content))
    elif ending:
        file.write_bytes((gzip if ending == ".gz" else lzma).compress(content))
    seen: list[tuple[str, str, float]] = []
    with watching(lambda *told: seen.append(told)):
        read = "".join(row["text"] for row in read_rows(file, fields=["text"], format="stream"))
    assert read.encode() == content
    shares = [share for _, _, share in seen]
    assert {told[:2] for told in seen} == {("", file.name)}
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert ending or (len(set(shares)) >= 3 and 0.3 < shares[0] < 0.4)  # pieces of 1 MB
    told = len(seen)
    for _ in read_rows(file, fields=["text"], format="stream"):
        pass
    assert len(seen) == told  # no longer watched
