# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Tensors handed to a kernel: as arrays, or as addresses; and room for what it writes.

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

from regard.kernels.cpu.compilation import part

Array = NDArray[Any]
ZERO = {torch.float32: np.float32(0), torch.float64: np.float64(0)}


def arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """The tensors as contiguous arrays, sharing memory where they already are."""
    return tuple(
        contiguous(tensor.detach() if tensor.requires_grad else tensor).numpy() for tensor in tensors
    )


def full_lengths(lengths: Tensor | None, batch: int, longest: int) -> Any:
    """Lengths as an array (B,): those given, or the longest for all."""
    return np.full(batch, longest) if lengths is None else arrays(lengths)[0]


def room(like: Tensor, *shape: int) -> Tensor:
    """An empty tensor of the precision of another, on the CPU.

    Its memory comes from numpy, which asks for large pages: torch's allocator gives memory back to the system within
    milliseconds and gets it again page by page, at a tenth of the time of an update.
    """
    kind = np.float32 if like.dtype == torch.float32 else np.float64
    return torch.from_numpy(np.empty(shape, kind))


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


@part
def view(address: int, shape: tuple[int, ...], like: Any) -> Array:
    """The array of this shape at an address, of elements of the type of `like`."""
    return carray(_pointer(address, like), shape)


@part
def lengths_at(address: int, batch: int, longest: int) -> Array:
    """Lengths (B,); at address 0, the longest for all."""
    return view(address, (batch,), np.int64(0)) if address != 0 else np.full(batch, longest)


@part
def rows_at(address: int, shape: tuple[int, int], like: Any) -> Array:
    """An array of two dimensions; at address 0, zeros."""
    return view(address, shape, like) if address != 0 else np.full(shape, like)
