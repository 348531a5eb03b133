"""Copies to the CPU are synchronized before they are read; copies to a device are asynchronous."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

import regard
from regard.data.batch import Tokens
from regard.data.media import Images


def test_only_one_place_decides_what_is_not_awaited() -> None:
    """`non_blocking` appears only where the direction is known: in `moved`, and where packings, plans of
    trees and indices of gradients go to a device."""
    found = set()
    for path in Path(regard.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "non_blocking":
                found.add(path.name)
    assert found == {"batch.py", "packing.py", "bottom_up.py", "descent.py"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_what_comes_back_is_whole() -> None:
    for _ in range(20):
        pixels = torch.randint(0, 255, (64, 3, 256, 256), dtype=torch.uint8)
        on_device = Images(pixels).to("cuda")
        busy = torch.randn(4096, 4096, device="cuda")
        for _ in range(5):
            busy = busy @ busy
        doubled = Images(on_device.pixels + 0 * busy[0, 0].to(torch.uint8))
        assert torch.equal(doubled.to("cpu").pixels, pixels + 0)
    ids = torch.arange(12).reshape(3, 4)
    back = Tokens(ids, torch.tensor([4, 4, 4])).to("cuda").to("cpu")
    assert torch.equal(back.ids, ids)
