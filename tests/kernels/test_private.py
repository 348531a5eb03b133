"""Private entry points of torch and Triton: used in known versions, avoided in others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import regard
from regard import kernels, private
from regard.kernels.cuda import launching


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("2.6.0", True),
        ("2.13.0+cpu", True),
        ("2.13.1a0", True),
        ("2.5.1", False),
        ("3.0", False),
        ("main", False),
    ],
)
def test_versions(version, known):
    assert private.between(version, (2, 6), (2, 13)) == known


def test_without_them_the_numbers_are_the_same(monkeypatch):
    torch.manual_seed(0)
    edges = torch.randn(2, 4, 3, 3, requires_grad=True)

    def found():
        value = kernels.chain_log_partition(None, edges, None)
        return [value.detach(), *torch.autograd.grad(value.sum(), edges)]

    before = found()
    monkeypatch.setattr(private, "_transforms_active", None)
    for mine, theirs in zip(found(), before, strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("known", [True, False])
def test_a_binary_is_launched_only_where_it_is_known(known, monkeypatch):
    monkeypatch.setattr(launching, "binaries_known", lambda: known)
    calls = []

    class Binary:
        def __getitem__(self, grid):
            return lambda *arguments: calls.append(("binary", grid, arguments))

    class Kernel:
        arg_names = ("x", "BLOCK")

        def __getitem__(self, grid):
            def launch(*arguments, **options):
                calls.append(("kernel", grid, arguments))
                return Binary()

            return launch

    launch = launching.Launcher(Kernel())
    for _ in range(2):
        launch((3,), 5, BLOCK=16)
    again = ("binary", (3, 1, 1), (5, 16)) if known else ("kernel", (3,), (5,))
    assert calls == [("kernel", (3,), (5,)), again]


def test_they_are_nowhere_else():
    pattern = re.compile(
        r"torch\._[a-zA-Z]|ops\.aten\._|super\(torch|triton\.(runtime|compiler)|State\._reset|numba\.core"
    )
    home = Path(regard.__file__).parent
    found = [path.name for path in home.rglob("*.py") if pattern.search(path.read_text())]
    assert found == ["private.py"]
