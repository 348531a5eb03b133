"""Around a launch: the device it goes to, a short way to it, and sizes rounded to what a kernel is compiled for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.private import binaries_known

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
    return None if lengths is None else aligned(lengths)


def aligned(tensor: Tensor) -> Tensor:
    """The tensor in order, beginning at a multiple of 16 bytes, as `Launcher` takes for granted."""
    tensor = tensor.contiguous()
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


class Launcher:
    """A kernel that remembers what it was compiled to.

    Triton looks at every argument of every launch to find the binary that was specialised for it, which takes longer
    than most of our kernels run. Here only the types of the tensors and the options are looked at. So every tensor
    must begin at a multiple of 16 bytes (`aligned`), and a number must either not be specialised on or be among the
    options. With a Triton whose binaries are not known, every launch goes the long way.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.compiled: dict[Any, Any] = {}

    def __call__(self, grid: tuple[int, ...], *arguments: Any, **options: Any) -> None:
        key = (
            torch.cuda.current_device() if torch.cuda.is_available() else -1,
            *[argument.dtype if isinstance(argument, Tensor) else argument is None for argument in arguments],
            *options.values(),
        )
        known = self.compiled.get(key)
        if known is None:
            binary = self.kernel[grid](*arguments, **options)
            if binary is not None and binaries_known():  # the interpreter compiles nothing
                constants = [options[name] for name in self.kernel.arg_names if name in options]
                self.compiled[key] = binary, constants
            return
        binary, constants = known
        binary[(*grid, 1, 1)[:3]](*arguments, *constants)
