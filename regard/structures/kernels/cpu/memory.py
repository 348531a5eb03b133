# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Tensors handed to a kernel as addresses.

Around a small kernel most of the time goes into making arrays of its tensors, some ten microseconds each; an address
is read in one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.compilation import kernel

Array = NDArray[Any]
ZERO = {torch.float32: np.float32(0), torch.float64: np.float64(0)}


def contiguous(tensor: Tensor) -> Tensor:
    """The tensor, or a copy whose elements lie in order: to be held as long as its address is used."""
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def whole(lengths: Tensor | None) -> Tensor | None:
    """The same for lengths, which are read as 64-bit integers."""
    return lengths if lengths is None else contiguous(lengths.long())


def addresses(*tensors: Tensor | None) -> tuple[int, ...]:
    """Where contiguous tensors lie; 0 for none."""
    return tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing_context: Any, address: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(like)(types.intp, like), generate


@kernel
def view(address: int, shape: tuple[int, ...], like: Any) -> Array:
    """The array of this shape at an address, of elements of the type of `like`."""
    return carray(_pointer(address, like), shape)


@kernel
def lengths_at(address: int, batch: int, longest: int) -> Array:
    """Lengths (B,); at address 0, the longest for all."""
    return view(address, (batch,), np.int64(0)) if address != 0 else np.full(batch, longest)


@kernel
def rows_at(address: int, shape: tuple[int, int], like: Any) -> Array:
    """An array of two dimensions; at address 0, zeros."""
    return view(address, shape, like) if address != 0 else np.full(shape, like)
