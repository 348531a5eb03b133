"""The first page: its first model is trained and shown within five minutes, by its commands alone.

REGARD_BIN names the programs of another environment, such as one that has only the wheel (`ENVIRONMENT/bin`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.documents.pages import ROOT

MOST = 300.0
"""Seconds."""


def first_block() -> list[str]:
    """The lines of the first block of commands, but for the installation."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    (block, *_) = re.findall(r"^```bash\n(.*?)^```", text, re.S | re.M)
    return [line for line in block.splitlines() if line.startswith("regard ")]


def test_the_first_block_trains_measures_shows_and_changes() -> None:
    assert [line.split()[1] for line in first_block()] == ["train", "evaluate", "show", "show", "show"]
    assert any("--look" in line for line in first_block())


@pytest.mark.thorough
def test_the_first_model_within_five_minutes(tmp_path: Path) -> None:
    programs = os.environ.get("REGARD_BIN", str(Path(sys.executable).parent))
    surroundings = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    surroundings.pop("REGARD_SET", None)
    began = time.perf_counter()
    said = {}
    for line in first_block():
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{line}\n{done.stderr[-2000:]}"
        said[line.partition("  ")[0]] = done.stdout
    assert time.perf_counter() - began <= MOST
    assert "e d c b a" in said["regard show runs/reverse a b c d e"]
    assert "<svg" in (tmp_path / "looked.html").read_text(encoding="utf-8")
