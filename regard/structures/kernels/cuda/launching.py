"""Around a launch: the device it goes to, and sizes rounded to what a kernel is compiled for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch
from torch import Tensor

_HERE: AbstractContextManager[None] = nullcontext()


def on_device_of(tensor: Tensor) -> AbstractContextManager[None]:
    """The tensor's device made current; nothing, which is quicker, where it already is."""
    if not tensor.is_cuda or tensor.get_device() == torch.cuda.current_device():
        return _HERE
    return torch.cuda.device(tensor.device)


@cache
def power_of_two(size: int, least: int) -> int:
    """The smallest power of two that holds `size`, and at least `least`."""
    return max(least, 1 << max(0, size - 1).bit_length())


def packed(lengths: Tensor | None) -> Tensor | None:
    """Lengths that lie side by side: a kernel reads `lengths + b`, and an expanded view has one number for all."""
    return None if lengths is None else lengths.contiguous()
