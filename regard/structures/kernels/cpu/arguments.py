# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Tensors as arguments of a kernel, as arrays or addresses, and buffers for its results.

A small kernel takes less time than the conversion of its tensors to arrays, about ten microseconds each.
Reading an address takes one microsecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.compilation import part

Array = NDArray[Any]
ZERO = {torch.float32: np.float32(0), torch.float64: np.float64(0)}


def arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """The tensors as contiguous arrays, sharing the memory of tensors that are contiguous."""
    return tuple(
        contiguous(tensor.detach() if tensor.requires_grad else tensor).numpy() for tensor in tensors
    )


def full_lengths(lengths: Tensor | None, batch: int, longest: int) -> Any:
    """Lengths as an array (B,); None: all have the length `longest`."""
    return np.full(batch, longest) if lengths is None else arrays(lengths)[0]


def contiguous(tensor: Tensor) -> Tensor:
    """The tensor, or a contiguous copy. The caller must keep it as long as its address is used."""
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def whole(lengths: Tensor | None) -> Tensor | None:
    """Lengths as contiguous 64-bit integers."""
    return lengths if lengths is None else contiguous(lengths.long())


def addresses(*tensors: Tensor | None) -> tuple[int, ...]:
    """The addresses of contiguous tensors; 0 for None."""
    return tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing_context: Any, address: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(like)(types.intp, like), generate


@part
def view(address: int, shape: tuple[int, ...], like: Any) -> Array:
    """The array of this shape at an address, with the dtype of `like`."""
    return carray(_pointer(address, like), shape)


@part
def lengths_at(address: int, batch: int, longest: int) -> Array:
    """Lengths (B,); address 0: all have the length `longest`."""
    return view(address, (batch,), np.int64(0)) if address != 0 else np.full(batch, longest)


@part
def rows_at(address: int, shape: tuple[int, int], like: Any) -> Array:
    """A two-dimensional array; address 0: filled with `like`."""
    return view(address, shape, like) if address != 0 else np.full(shape, like)
