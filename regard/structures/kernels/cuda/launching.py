"""Helpers for launches: the current device, a fast launch path, and rounded sizes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.private import binaries_known

_HERE: AbstractContextManager[None] = nullcontext()


def on_device_of(tensor: Tensor) -> AbstractContextManager[None]:
    """Make the tensor's device current; a null context, which is faster, if it already is."""
    if not tensor.is_cuda or tensor.get_device() == torch.cuda.current_device():
        return _HERE
    return torch.cuda.device(tensor.device)


@cache
def power_of_two(size: int, least: int) -> int:
    """The smallest power of two that is at least `size` and `least`."""
    return max(least, 1 << max(0, size - 1).bit_length())


def packed(lengths: Tensor | None) -> Tensor | None:
    """Contiguous lengths: a kernel reads `lengths + b`, but an expanded view holds a single number."""
    return None if lengths is None else aligned(lengths)


def aligned(tensor: Tensor) -> Tensor:
    """The tensor, contiguous and aligned to 16 bytes, as `Launcher` requires."""
    tensor = tensor.contiguous()
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


class Launcher:
    """A kernel that caches its compiled binaries.

    At every launch Triton inspects all arguments to find the binary specialized for them, which takes longer
    than most of our kernels run. A `Launcher` inspects only the dtypes of the tensors and the options. So
    every tensor must be aligned to 16 bytes (`aligned`), and a number must either be exempt from
    specialization or be an option. For Triton versions whose binaries are not known, every launch goes
    through Triton.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.compiled: dict[Any, Any] = {}

    def __call__(self, grid: tuple[int, ...], *arguments: Any, **options: Any) -> None:
        device = -1
        kinds: list[Any] = []
        places: list[Any] = []
        for argument in arguments:
            if isinstance(argument, Tensor):
                device = argument.get_device()
                kinds.append(argument.dtype)
                places.append(argument.data_ptr())
            else:
                kinds.append(argument is None)
                places.append(argument)
        key = (device, *kinds, *options.values())
        known = self.compiled.get(key)
        if known is None:
            binary = self.kernel[grid](*arguments, **options)
            if binary is not None and binaries_known():  # None under Triton's interpreter
                constants = [options[name] for name in self.kernel.arg_names if name in options]
                self.compiled[key] = binary, constants
            return
        binary, constants = known
        # Addresses, because for a tensor the launch also asks the driver where its memory is.
        binary[(*grid, 1, 1)[:3]](*places, *constants)
