"""The price of a part is one file: `regard new` writes it, and in the folder of its kind nothing else changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from regard.parts import KINDS
from regard.templates import write_part

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "regard"
FOUND = """
import importlib, json, pathlib, sys
from regard.parts import KINDS, names, part
found = {}
for kind, package in KINDS.items():
    folder = importlib.import_module(package)
    folder.__path__.append(str(pathlib.Path("kinds", kind)))  # as if the file lay among ours
    made = part(kind, "priced")
    found[kind] = [made is not None and made.__module__ == f"{package}.priced", "priced" in names(kind)]
print(json.dumps(found))
"""


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file, but for compiled ones."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def test_a_part_of_every_kind_is_one_file(tmp_path: Path) -> None:
    before = contents(PACKAGE)
    for kind in KINDS:
        written = write_part(kind, "priced", tmp_path / "new" / kind)
        (part,) = [path for path in written if path.suffix == ".py" and not path.name.startswith("test_")]
        (tmp_path / "kinds" / kind).mkdir(parents=True)
        part.rename(tmp_path / "kinds" / kind / "priced.py")
    found = subprocess.run(
        [sys.executable, "-c", FOUND],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == {kind: [True, True] for kind in KINDS}
    assert {kind: len(list((tmp_path / "kinds" / kind).glob("*.py"))) for kind in KINDS} == dict.fromkeys(
        KINDS, 1
    )
    after = contents(PACKAGE)
    assert {path for path in after if before.get(path) != after[path] and "kernels-" not in path} == set()
