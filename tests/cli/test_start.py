"""A command imports only the modules that its answer needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.model.small import build, spec

HEAVY = ["numba", "llvmlite", "triton", "accelerate", "sacrebleu", "sentencepiece", "pandas", "pyarrow"]
HEAVY += [
    "matplotlib",
    "scipy",
    "datasets",
    "tensorboard",
    "soundfile",
    "av",
    "torchvision",
    "rich",
    "rapidfuzz",
]

SCRIPT = """
import json, resource, sys
def seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
start = seconds()
import torch
before = seconds()
from regard.cli.main import main
folders, *arguments = sys.argv[1:]
for folder in json.loads(folders):
    sys.argv = ["regard", "predict", folder, *arguments]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code
modules = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps({"modules": modules, "ratio": (seconds() - before) / (before - start)}))
"""


def predict(folders: list[Path], *arguments: str) -> dict[str, Any]:
    """The modules that a process imports to predict with each of some models, and its CPU time beyond
    that of importing torch, by that of importing torch."""
    command = [sys.executable, "-c", SCRIPT, json.dumps([*map(str, folders)]), "--device", "cpu", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_one_word_is_predicted_without_what_it_does_not_need(tmp_path: Path) -> None:
    folders = [tmp_path / cell for cell in ("gru", "lstm")]
    for folder in folders:
        cell = folder.name
        build(spec(encoder={"size": 8, "cell": cell}, decoder={"size": 10, "cell": cell})).save(folder)
    ratios = []
    for _ in range(3):
        found = predict(folders, "abc")
        assert not set(HEAVY) & set(found["modules"])
        ratios.append(found["ratio"])
        if ratios[-1] < 1.5:
            break
    # CPU time of two predictions by that of `import torch` in the same process: about 0.6 on an idle machine.
    assert min(ratios) < 1.5


def test_many_words_are_worth_a_compiler(tmp_path: Path) -> None:
    build(spec()).save(tmp_path / "run")
    (tmp_path / "words.txt").write_text("abc\n" * 8)
    assert "numba" in predict([tmp_path / "run"], "-f", str(tmp_path / "words.txt"))["modules"]


ONE_BY_ONE = """
import sys, regard
model = regard.load(sys.argv[1], device="cpu")
first = model.predict("abc")
for number in range(3000):
    assert model.predict("abc").text == first.text
    if "numba" in sys.modules:
        break
print(number)
"""


def test_a_process_that_answers_for_long_loads_the_kernels(tmp_path: Path) -> None:
    """A server or a chat asks for one sentence at a time."""
    build(spec()).save(tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, str(tmp_path / "run")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert 5 < int(done.stdout) < 2999
