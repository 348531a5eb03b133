"""Killed at a write or a random moment, or with a full disk, a resumed training ends with the same bytes.

To test every write and 100 random moments:  REGARD_ALL_WRITES=1 pytest tests/experiment/test_every_write.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALL = bool(os.environ.get("REGARD_ALL_WRITES"))


WAYS = {"kill": 1 if ALL else 61, "full": 1 if ALL else 83, "random": 100 if ALL else 1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the interrupted processes are forks")
def test_the_next_training_ends_with_the_same_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    ways = [f"{how}:{stride}" for how, stride in WAYS.items()]
    command = [sys.executable, "-m", "tests.experiment.interrupting", str(folder), *ways]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "REGARD_CACHE": str(folder / "cache")}
    # With a GPU in sight autograd starts threads of its own, and torch refuses gradients in a fork.
    environment["CUDA_VISIBLE_DEVICES"] = ""
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    for how, found in json.loads(done.stdout).items():
        assert not found["wrong"], (how, found)
        # The random moment may fall after the last update.
        assert found["writes"] > 20 and (found["interrupted"] > 0 or how == "random"), (how, found)
