"""Without the folder regard/fast every module imports, and systems train, predict, show and describe as with it.

Losses and scores are compared with those of the whole package, whose kernels and recordings differ by rounding alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import regard

PACKAGE = Path(regard.__file__).parent
PROGRAM = """
import sys
# an editable install would find the folder that is not here
sys.meta_path[:] = [one for one in sys.meta_path if not getattr(one, "__module__", "").startswith("__editable__")]
import csv, importlib, json, pkgutil
from pathlib import Path
import regard, regard.describe
from regard import zoo
from regard.fitting.experiment import Experiment

missing, given = sys.argv[1], json.loads(sys.stdin.read())
for found in pkgutil.walk_packages(regard.__path__, "regard."):
    if ".cuda" not in found.name and not found.name.endswith("__main__"):
        importlib.import_module(found.name)
assert not any(name.startswith(f"regard.{missing}") for name in sys.modules)
results = {}
for name, overrides in given.items():
    experiment = Experiment.start(name, run=Path(name), overrides=overrides, device="cpu", quiet=True)
    model = experiment.train()
    with open(f"{name}/log.csv", newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file) if row["loss"]]
    assert regard.describe.answers(model.spec)["encoder" if model.spec.inputs else "decoder"]
    if model.spec.inputs:
        row = experiment.dataset("test").raw(0)
        prediction = model.predict({column: row[column] for column in model.spec.inputs})
        prediction.trace.save(f"{name}.svg")
        said = [prediction.score]
    else:
        said = [float(cost) for _, cost in model.surprise("abba")]
        assert model.generate("ab", length=4).text.startswith("ab")
    results[name] = [losses, said]
    experiment.close()
print(json.dumps(results))
"""
FEW = ["training.steps=3", "training.batch_rows=8"]
TEXT = [
    "encoder.size=8",
    "decoder.size=8",
    "encoder.embedding=8",
    "decoder.embedding=8",
    "search.max_length=6",
]
SYSTEMS = {
    "reverse": [
        *TEXT,
        "data.world.train=40",
        "data.world.dev=8",
        "data.world.test=8",
        "training.batch_tokens=null",
    ],
    "translation-luong": [*TEXT, "data.world.train=40", "data.world.dev=8", "data.world.test=8"],
    "ntm-copy": ["decoder.size=8", "data.world.train=16", "data.world.dev=8", "data.world.test=8"],
    "tagger-crf": [
        "encoder.size=8",
        "encoder.embedding=8",
        "data.world.train=40",
        "data.world.dev=8",
        "data.world.test=8",
    ],
    "lm-char": ["decoder.size=8", "decoder.embedding=8", "data.package=null", "data.train=text.txt"],
}


def computed(folder: Path, path: Path, missing: str) -> Any:
    folder.mkdir()
    (folder / "text.txt").write_text("abba baba abab\n" * 60, encoding="utf-8")
    systems = {name: [*overrides, *FEW] for name, overrides in SYSTEMS.items()}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, missing],
        input=json.dumps(systems),
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(path),
            "OMP_NUM_THREADS": "1",
            "REGARD_CACHE": str(folder / "cache"),
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_without_the_folder_all_else_works(tmp_path: Path) -> None:
    shutil.copytree(
        PACKAGE, tmp_path / "package" / "regard", ignore=shutil.ignore_patterns("__pycache__", "fast")
    )
    found = computed(tmp_path / "runs", tmp_path / "package", "fast")
    whole = computed(tmp_path / "whole", PACKAGE.parent, "nothing")
    assert found.keys() == whole.keys()
    for name, (losses, said) in found.items():
        assert losses == pytest.approx(whole[name][0], rel=1e-5, abs=1e-5), name
        assert said == pytest.approx(whole[name][1], rel=1e-3, abs=1e-4), name
