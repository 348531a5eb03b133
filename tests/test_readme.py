"""The session of the README as printed there: a shorter training that still learns to reverse.

The first command runs in a shell, as a reader types it; the others in this process, which has already imported torch.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import regard
from regard.cli import main
from regard.studio import start

README = Path(__file__).parents[1] / "README.md"
DOCUMENTS = README.parent / "docs"
WORDS = sorted(set(re.findall(r"[a-z]{3,9}", README.read_text(encoding="utf-8"))))[:100]
SHORTER = (
    "data.world.max_length=6 data.world.train=3000 data.world.dev=60 data.world.test=100 data.world.long=20 "
    "training.epochs=3 training.batch_tokens=200"
)
"""Strings of six symbols instead of twelve, and a third of the rows."""
SHORT = "training.steps=2 training.evaluate_every=2 search.max_length=12 search.method=greedy"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def commands() -> list[str]:
    """Lines that begin with `regard `, without their # comments."""
    lines = re.findall(r"^    (regard .*)$", README.read_text(encoding="utf-8"), re.M)
    return [line.partition("  #")[0].strip() for line in lines]


def test_the_session_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{word}\t{' '.join(word.upper())}\n" for word in WORDS)
    (tmp_path / "words.tsv").write_text(rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_SET", SHORT)
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
    assert Path("attention.svg").read_text(encoding="utf-8").lstrip().startswith("<")
    assert Path("runs/words/model.safetensors").exists()


def test_the_session_of_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def here(line: str) -> str:
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
            raise SystemExit(0)
        said = capsys.readouterr()
        assert not end.value.code, f"{line}\n{said.out[-2000:]}\n{said.err[-2000:]}"
        return said.out

    monkeypatch.chdir(tmp_path)
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    for name, value in {"PATH": binaries, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    first, *shown, last = commands()
    assert first.startswith("regard train ") and last.startswith("regard studio ")
    done = subprocess.run(
        ["bash", "-c", first],
        env={**os.environ, "REGARD_SET": SHORTER},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = [here(line) for line in shown]
    assert "exact" in said[0] and all("→" in one for one in said[1:])
    model = regard.load(tmp_path / "runs" / "reverse", device="cpu")
    assert model.metrics["scores"]["test"]["exact"]["value"] > 0.5
    assert model.predict("a b c d e", look="0-0").text.split()[0] == "a"  # the symbol that stands there
    with start(tmp_path / last.split()[-1], browser=False) as studio, httpx.Client(timeout=60) as visitor:
        assert "<script" in visitor.get(studio.url, follow_redirects=True).text


def test_numbers_stand_in_the_pages_that_the_readme_names() -> None:
    _, _, after = README.read_text(encoding="utf-8").partition("## Numbers")
    table, _, rest = after.partition("\n\nCommands")
    pages = "".join(
        (README.parent / page).read_text("utf-8") for page in re.findall(r"\((docs/\w+\.md)\)", rest)[:2]
    )
    numbers = [
        number for row in table.splitlines()[4:] for cell in row.split("|")[2:4] for number in measured(cell)
    ]
    assert len(numbers) >= 12 and not [number for number in numbers if number not in pages]


def measured(cell: str) -> list[str]:
    """The numbers of a cell, without the versions of programs."""
    return re.findall(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?", re.sub(r"[A-Za-z][\w-]* \d\.\d", "", cell))


def test_the_readme_is_short_and_links_to_what_exists() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.replace("|", " ").split()) <= 600
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert (README.parent / target).exists(), target
