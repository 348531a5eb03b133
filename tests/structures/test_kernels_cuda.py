"""The Triton kernels: arithmetic in the interpreter everywhere, and on a GPU if there is one.

Races show only on a GPU: there, `python bench/structures.py --check` compares at full size.
"""

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

from regard.structures import kernels

INTERPRETED = Path(__file__).with_name("interpreted_kernels.py")
KERNELS = (
    "test_chain and (5-3 or 4-34 or 1-2) or test_segments and True-4-0.3 or test_projective and 3-False"
    " or test_spanning and lengths2 or its_chain and 3"
)
"""Every kernel once."""


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.skipif(
    find_spec("triton") is not None and Version(version("triton")) < Version("3.7"),
    reason="Triton before 3.7 cannot interpret a loop to a number it loaded, with NumPy from 2.4 on",
)
@pytest.mark.skipif(
    find_spec("triton") is not None and version("triton").startswith("3.9."),
    reason="Triton 3.9 interprets `block & scalar` of two masks as int32, and then refuses it as a mask",
)
def test_interpreted_kernels_equal_those_of_the_processor(thorough: bool) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
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
        *([] if thorough else ["-k", KERNELS]),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert ".." in done.stdout  # some have run


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize(("N", "C"), [(50, 2), (30, 5)])
def test_chain_on_a_gpu(N: int, C: int) -> None:
    init, edges = torch.randn(8, C), torch.randn(8, N - 1, C, C)
    lengths = torch.randint(0, N + 1, (8,))
    there = [part.cuda() for part in (init, edges, lengths)]
    expected = kernels.chain_marginals(init, edges, lengths)
    for mine, theirs in zip(kernels.chain_marginals(*there), expected, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs, rtol=0, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("single_root", [True, False])
def test_trees_on_a_gpu(single_root: bool) -> None:
    arcs, lengths = torch.randn(8, 31, 31), torch.randint(0, 31, (8,))
    for query in (kernels.projective_marginals, kernels.spanning_marginals):
        expected = query(arcs, lengths, single_root)
        got = query(arcs.cuda(), lengths.cuda(), single_root)
        torch.testing.assert_close(got.cpu(), expected, rtol=0, atol=1e-5)
