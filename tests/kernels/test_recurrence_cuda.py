"""The recurrence with attention: in Triton's interpreter everywhere, and as CUDA graphs if there is a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from packaging.version import Version

INTERPRETED = Path(__file__).with_name("interpreted_recurrence.py")
OPTIONS = "quick or layer_over or layer_from or half_precision or chunks or forward_passes or planted"
"""In the interpreter: every option once, not every combination."""
KERNELS = (
    "double-quick and (memories or segments) or layer_from and gru or half_precision and 1-lstm"
    " or planted and previous or beams and 1-1-1.0 or adam and alone"
)
"""Every kernel once."""


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.skipif(
    not torch.cuda.is_available()
    and find_spec("triton") is not None
    and Version(version("triton")) < Version("3.7"),
    reason="Triton before 3.7 cannot interpret a loop to a number it loaded, with NumPy from 2.4 on",
)
def test_kernels_equal_the_plain_path(thorough: bool) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        str(INTERPRETED),
    ]
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
        command += ["-k", OPTIONS if thorough else KERNELS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert ".." in done.stdout  # some have run
