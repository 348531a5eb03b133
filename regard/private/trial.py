# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""A tiny kernel whose answer is known: whether Triton works here, and whether its binaries can be launched."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

EXPECTED = [3.0, 5.0, 7.0]


@triton.jit(do_not_specialize=["size"])
def _double_and_add(x, y, size, ADDED: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    inside = place < size
    tl.store(y + place, 2 * tl.load(x + place, mask=inside, other=0.0) + ADDED, mask=inside)


def _launched() -> tuple[Any, torch.Tensor, torch.Tensor]:
    x = torch.tensor([1.0, 2.0, 3.0], device="cuda")
    y = torch.zeros_like(x)
    return _double_and_add[(1,)](x, y, 3, ADDED=1, BLOCK=4), x, y


def answer() -> list[float]:
    """EXPECTED, from a launch through Triton."""
    found: list[float] = _launched()[2].tolist()
    return found


def answer_of_binary() -> list[float]:
    """EXPECTED, from a direct launch of the binary, with all arguments in order and tensors as addresses."""
    binary, x, y = _launched()
    y.zero_()
    binary[(1, 1, 1)](x.data_ptr(), y.data_ptr(), 3, 1, 4)
    found: list[float] = y.tolist()
    return found
