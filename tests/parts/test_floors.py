"""A floor can be taken away: without its folder everything else is whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "regard"
SMALL = ["encoder.size=8", "encoder.embedding=8", "decoder.size=8", "decoder.embedding=8"]
SYSTEMS = {
    "reverse": ["data.world={type: reverse, train: 32, dev: 4, test: 4}", *SMALL],
    "translation": ["data.world={type: translation, train: 32, dev: 4, test: 4, long: 4}", *SMALL],
    "parser-crf": ["data.world={type: grammar, train: 32, dev: 4, test: 4}", *SMALL[:2]],
    "sum": ["data.world={type: sum, train: 16, dev: 4, test: 4, long: 4}"],
    "caption": ["data.world={type: scenes, train: 16, dev: 4, test: 4, crowded: 4}", *SMALL[2:]],
}
QUICK = ("translation", "parser-crf")
"""Those that are tried without --thorough."""
USED = """
import contextlib, importlib, io, json, pkgutil, sys
# an editable install would find the folder that is not here
sys.meta_path[:] = [one for one in sys.meta_path if not getattr(one, "__module__", "").startswith("__editable__")]
import regard
from regard.describe import board, draw
from regard.fitting.experiment import Experiment
from regard.nn.path import without_fast_paths
from regard.structures.kernels import plainly

modules = [one.name for one in pkgutil.walk_packages(regard.__path__, "regard.") if ".__main__" not in one.name]
for name in modules:
    importlib.import_module(name)
slowly = contextlib.ExitStack()  # compiling kernels would take longer than all the rest
slowly.enter_context(without_fast_paths())
slowly.enter_context(plainly())
from rich.console import Console
console, told = Console(file=io.StringIO(), width=80), {}
for name, changes in json.loads(sys.argv[1]).items():
    changes += ["training.steps=2", "training.batch_rows=8", "training.batch_tokens=null", "search.max_length=6"]
    experiment = Experiment.start(name, run=f"runs/{name}", overrides=changes, device="cpu", quiet=True)
    spec, row = experiment.train().spec, experiment.dataset("test").raw(0)
    prediction = regard.load(f"runs/{name}", device="cpu").predict({one: row[one] for one in spec.inputs})
    console.print(prediction.trace)
    prediction.trace.save(f"{name}.svg")
    prediction.trace.save(f"{name}.html")
    console.print(board(spec, name))
    draw(spec, name).save(f"{name}-network.svg")
    told[name] = [prediction.text, len(open(f"{name}.svg").read())]
commands = {}
for words in (["--help"], ["list", "parts"], ["describe", "reverse"], ["describe", "reverse", "--paths"], ["lab"]):
    sys.argv, out, err = ["regard", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            regard.cli.main()
        except SystemExit as stop:
            commands[" ".join(words)] = [int(stop.code or 0), out.getvalue() + err.getvalue()]
modules = [name for name in sys.modules if name.startswith("regard.")]
print(json.dumps({"modules": modules, "told": told, "commands": commands}))
"""


@pytest.mark.parametrize("floor", ["fast", "course"])
def test_without_a_floor_everything_else_is_whole(floor: str, tmp_path: Path, thorough: bool) -> None:
    systems = SYSTEMS if thorough else {name: SYSTEMS[name] for name in QUICK}
    kernels = shutil.ignore_patterns("kernels-*")  # compiled for files of another path
    shutil.copytree(PACKAGE, tmp_path / "regard", ignore=kernels)
    shutil.rmtree(tmp_path / "regard" / floor)
    done = subprocess.run(
        [sys.executable, "-c", USED, json.dumps(systems)],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1", "COLUMNS": "80"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["modules"]) > 300 and not [name for name in found["modules"] if f".{floor}" in name]
    assert set(found["told"]) == set(systems)
    assert all(size > 500 for _, size in found["told"].values())
    commands = found["commands"]
    for words in ("--help", "list parts", "describe reverse", "describe reverse --paths"):
        assert commands[words][0] == 0, commands[words]
    if floor == "course":
        assert "Learn" not in commands["--help"][1] and "matrix" not in commands["--help"][1]
        assert commands["lab"][0] == 2 and "No such command 'lab'" in commands["lab"][1]
