"""Checks of an export to ONNX: its answers without torch, its axes, its files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from regard import Model

WITHOUT_TORCH = """
import sys
class Refused:
    def find_spec(self, name, *given):
        if name.partition(".")[0] in ("torch", "regard"):
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refused())
sys.argv = sys.argv[1:]
import runpy
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def answers_alike(model: Model, exported: Path, inputs: Sequence[str], **search: object) -> None:
    """The runner, in a process in which torch cannot be imported, answers as the model does, with its attention."""
    program = exported.parent / "without_torch.py"
    program.write_text(WITHOUT_TORCH)
    options = [text for name, value in search.items() for text in (f"--{name}", str(value))]
    given = [str(program), str(exported / "run.py"), *inputs, "--json", *options]
    done = subprocess.run([sys.executable, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    ours = model.predict(list(inputs), **search)  # type: ignore[arg-type]
    assert len({round(answer.score, 3) for answer in ours}) == len(inputs), "the answers should differ"
    assert [one["text"] for one in theirs] == [one.text for one in ours]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.trace is not None
        np.testing.assert_allclose(other["token_scores"], mine.trace.scores, atol=1e-4)
        np.testing.assert_allclose(other["attention"]["source"], mine.trace.attention["source"], atol=1e-5)


def axes_named(exported: Path) -> None:
    """Axes of any length have names that say what they are."""
    step = onnx.load(str(exported / "step.onnx")).graph
    shapes = {
        value.name: [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in (*step.input, *step.output)
    }
    assert shapes["tokens"] == ["rows", "hypotheses"]
    assert shapes["attention.source"] == ["rows", "hypotheses", shapes["memory.source.mask"][1]]


def folder_told(exported: Path) -> None:
    """The README names the model and the commands; no path of this machine is inside."""
    found = {path.name for path in exported.iterdir() if path.is_file()}
    assert found == {"encoder.onnx", "step.onnx", "model.json", "run.py", "README.md", "manifest.json"}
    readme = (exported / "README.md").read_text(encoding="utf-8")
    told = json.loads((exported / "model.json").read_text(encoding="utf-8"))
    assert told["digest"] in readme and "python run.py" in readme
    assert {"method", "n_best", "min_length", "max_length", "replace_unknown"} <= set(told["search"])
    here = str(Path(__file__).parents[2]).encode()
    assert not any(here in path.read_bytes() for path in exported.iterdir() if path.is_file())
