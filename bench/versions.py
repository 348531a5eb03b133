"""regard with each supported Python and with the oldest and the newest torch: installed, used and tested.

    python bench/versions.py                              every Python found here, oldest and newest torch
    python bench/versions.py --python 3.12 --torch 2.6.0 2.15.0 --installer uv
    python bench/versions.py --tests tests/structures     other tests; --suite: all of them

Each combination gets an empty environment with the wheel of this copy. It runs `regard doctor`, a training, a
prediction, a figure and some tests. An environment takes up to 8 GB, because torch brings the libraries of CUDA; it is
removed before the next one. Exit status 1 if something failed. A Python that is not here is listed, and is no failure.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from environments import ROOT, Ended, Environment, built_wheel
from written import parse, write_json

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+", name)]
TESTS = (
    "tests/model/test_model.py",
    "tests/model/test_damage.py",
    "tests/structures",
    "tests/nn/test_cells.py",
    "tests/training/test_trainer.py",
    "tests/release",
)
"""The fast tests."""
NEEDED = ("pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100", "httpx>=0.27", "scipy>=1.12")
COMMANDS = {
    "doctor": "regard doctor",
    "train": "regard train reverse -o run --set training.steps=150 --set data.world.train=2000",
    "predict": "regard predict run a b c d e",
    "show": "regard show run a b c d e -o looked.html",
}


def interpreter(version: str) -> str | None:
    """The program of a version of Python: on the PATH, or of pyenv or uv."""
    candidates = [shutil.which(f"python{version}")]
    for place in (Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python"):
        candidates += [str(one) for one in sorted(place.glob(f"*{version}*/bin/python{version}"))]
    for one in candidates:
        line = [str(one), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if one and subprocess.run(line, capture_output=True, text=True).stdout.strip() == version:
            return one
    return None


def oldest() -> str:
    """The oldest torch that pyproject.toml allows."""
    (found,) = re.findall(r"^torch>=([\d.]+)", "\n".join(PROJECT["dependencies"]), re.M)
    return found if found.count(".") == 2 else f"{found}.0"


def newest() -> str:
    """The newest torch on the index."""
    line = [sys.executable, "-m", "pip", "index", "versions", "torch"]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return re.findall(r"\((\d[\d.]*)\)", told)[0]


def tried(
    folder: Path, wheel: Path, python: str, torch: str, tests: list[str], options: argparse.Namespace
) -> dict[str, Any]:
    """One combination: what it did, with seconds."""
    environment = Environment(folder / "environment", python, installer=options.installer)
    place = folder / "work"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    row: dict[str, Any] = {}

    def note(step: str, done: Ended) -> bool:
        row[step] = {"fine": done.fine, "seconds": round(done.seconds, 1)}
        if not done.fine:
            print(f"{step} failed: {done.command}\n{done.tail()}", flush=True)
        return done.fine

    try:
        extra = "[dev]" if options.suite else "[zoo]"
        if not note("install", environment.install(f"torch=={torch}", f"{wheel}{extra}", *NEEDED)):
            return row
        row["gigabytes"] = round(environment.size() / 1e9, 1)
        for step, command in COMMANDS.items():
            note(step, environment.run(command, place, timeout=options.minutes * 60))
        line = [str(environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        done = environment.run(line, ROOT, timeout=options.minutes * 60)
        note("tests", done)
        row["tests"]["told"] = (done.output.strip().splitlines() or [""])[-1].strip("= ")
        print(row["tests"]["told"], flush=True)
    finally:
        if not options.keep:
            environment.remove()
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--python", nargs="+", default=PYTHONS, metavar="VERSION")
    parser.add_argument("--torch", nargs="+", metavar="VERSION", help="default: the oldest and the newest")
    parser.add_argument("--tests", nargs="+", default=list(TESTS), metavar="PATH")
    parser.add_argument("--suite", action="store_true", help="all tests, with the extra dev")
    parser.add_argument("--installer", choices=("pip", "uv"), default="pip")
    parser.add_argument("--minutes", type=float, default=30.0, help="at most, for each command")
    parser.add_argument("--folder", type=Path, help="where the environments are made")
    parser.add_argument("--keep", action="store_true", help="keep the last environment")
    options = parse(parser)
    torches = options.torch or [oldest(), newest()]
    tests = ["tests"] if options.suite else options.tests
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        wheel = built_wheel(Path(name))
        for version in options.python:
            found = interpreter(version)
            for torch in torches:
                row: dict[str, Any] = {"python": version, "torch": torch}
                if found is None:
                    row["absent"] = True
                else:
                    print(f"Python {version} ({found}), torch {torch}", flush=True)
                    row |= tried(options.folder or Path(name), wheel, found, torch, tests, options)
                rows.append(row)
    steps = ("install", *COMMANDS, "tests")
    print(f"{'python':8}{'torch':12}{'GB':>5}", *(f"{step:>11}" for step in steps))
    for row in rows:
        cells = [_cell(row, step) for step in steps]
        print(
            f"{row['python']:8}{row['torch']:12}{row.get('gigabytes', ''):>5}",
            *(f"{cell:>11}" for cell in cells),
        )
    write_json(options.json, rows)
    here = [row for row in rows if "absent" not in row]
    return 0 if here and all(row.get(step, {}).get("fine") for row in here for step in steps) else 1


def _cell(row: dict[str, Any], step: str) -> str:
    if "absent" in row:
        return "no Python"
    if step not in row:
        return "not run"
    return f"{row[step]['seconds']:.0f} s" if row[step]["fine"] else "failed"


if __name__ == "__main__":
    sys.exit(main())
