"""regard brings its types: a type checker finds no error in what a user writes, and finds one where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import regard

SAMPLE = Path(__file__).parent / "sample_user_code.py"
WRONG = """
import regard
from regard.structures import LinearChain

model = regard.Model.load("runs/words")
score: str = model.predict("a").score
chain = LinearChain(7, lengths="many")
"""


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(regard.__file__).parent / "py.typed").is_file()


def findings(file: Path) -> list[dict[str, Any]]:
    """The errors that pyright finds in a file."""
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed: pip install pyright")
    root = Path(regard.__file__).parents[1]
    settings = {"include": [file.name], "extraPaths": [str(root)], "typeCheckingMode": "standard"}
    config = file.with_name("pyrightconfig.json")
    config.write_text(json.dumps(settings), encoding="utf-8")
    line = [pyright, "--outputjson", "--pythonpath", sys.executable, "-p", str(config)]
    told = subprocess.run(line, capture_output=True, text=True)
    try:
        found = json.loads(told.stdout)
    except ValueError:
        pytest.skip(f"pyright does not run here: {(told.stderr or told.stdout).strip()[-200:]}")
    return [one for one in found["generalDiagnostics"] if one["severity"] == "error"]


@pytest.mark.thorough  # half a minute: pyright reads torch
def test_user_code_has_no_type_errors(tmp_path: Path) -> None:
    copy = tmp_path / SAMPLE.name
    copy.write_text(SAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    assert not findings(copy)


@pytest.mark.thorough
def test_wrong_types_are_found(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG, encoding="utf-8")
    assert {one["range"]["start"]["line"] for one in findings(file)} == {5, 6}
