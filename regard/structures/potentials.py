"""Preparation of the caller's potentials: one precision, one batch shape, masks as −inf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels import eager
from regard.structures.semirings import NEGATIVE_INFINITY

Lengths = Tensor | NDArray[Any] | Sequence[int] | int | None
Scores = Any
"""A tensor, a numpy array, or nested lists. An array keeps its precision; lists become float32."""
Mask = Any
"""The same with Booleans."""


def as_tensor(name: str, value: Any, *, device: torch.device | None = None) -> Tensor:
    """Convert an array or nested lists to a tensor; return a tensor unchanged."""
    if isinstance(value, Tensor):
        return value
    try:
        array = value if isinstance(value, np.ndarray) else None
        # torch shares the memory of an array, and warns if the array is read-only
        tensor = torch.tensor(value) if array is None or not array.flags.writeable else torch.as_tensor(array)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{name} must be a tensor, an array or nested lists of numbers of one length; "
            f"received {type(value).__name__}."
        ) from None
    return tensor if device is None else tensor.to(device)


def as_scores(name: str, value: Any) -> Tensor:
    """A potential as a tensor; integers of arrays and lists become float32."""
    tensor = as_tensor(name, value)
    whole = not isinstance(value, Tensor) and not tensor.is_floating_point() and not tensor.is_complex()
    return tensor.float() if whole else tensor


def as_floats(**potentials: Scores | None) -> list[Any]:
    """All potentials in one precision: float64 if any potential is float64, else float32.

    Arrays and lists go to the device of the first potential that is a tensor.
    """
    if all(value is None or _is_single(value) for value in potentials.values()):
        return list(potentials.values())
    given = {name: as_scores(name, value) for name, value in potentials.items() if value is not None}
    devices = [value.device for value in potentials.values() if isinstance(value, Tensor)]
    device = devices[0] if devices else None
    for name, potential in given.items():
        if not potential.is_floating_point():
            raise ValueError(
                f"{name} must be a tensor of floating-point scores, not {potential.dtype}; call .float() on it."
            )
        if device is not None and not isinstance(potentials[name], Tensor):
            given[name] = potential.to(device)
    double = any(potential.dtype == torch.float64 for potential in given.values())
    dtype = torch.float64 if double else torch.float32
    return [given[name].to(dtype) if name in given else None for name in potentials]


def _is_single(potential: object) -> bool:
    return isinstance(potential, Tensor) and potential.dtype is torch.float32


def check_axes(
    name: str, potential: Tensor, axes: Sequence[str], sizes: Sequence[int | None], hint: str = ""
) -> None:
    """Check that the trailing axes have these sizes (None: any); an error names them by their letters."""
    received = tuple(potential.shape)
    trailing = received[max(0, len(received) - len(sizes)) :]
    if trailing == tuple(sizes):
        return
    fits = len(received) >= len(sizes)
    if not fits or any(size not in (None, got) for size, got in zip(sizes, trailing, strict=False)):
        wanted = ", ".join(
            letter if size is None else f"{letter}={size}" for letter, size in zip(axes, sizes, strict=True)
        )
        raise ValueError(f"{name} must have shape (..., {wanted}) but has {received}.{hint}")


def as_size(shape: Sequence[int]) -> torch.Size:
    """A shape as a `torch.Size`; one that is already is returned as it is, as compilers of torch 2.6 require."""
    return shape if isinstance(shape, torch.Size) else torch.Size(shape)


def joint_batch(**shapes: Sequence[int]) -> torch.Size:
    """The batch shape to which all shapes broadcast."""
    some = [as_size(shape) for shape in shapes.values() if len(shape)]
    if all(shape == some[0] for shape in some):
        return some[0] if some else torch.Size()
    try:
        return torch.Size(torch.broadcast_shapes(*shapes.values()))
    except RuntimeError as error:
        listed = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
        raise ValueError(f"The batch dimensions do not broadcast together: {listed}.") from error


def as_lengths(lengths: Lengths, longest: int, device: torch.device, name: str = "lengths") -> Tensor | None:
    """Lengths as a tensor of integers between 0 and the size of the axis they measure."""
    if lengths is None:
        return None
    tensor = torch.as_tensor(lengths, device=device)
    if tensor.is_floating_point() or tensor.dtype == torch.bool:
        raise ValueError(f"{name} must be whole numbers, not {tensor.dtype}; for a Boolean mask use mask=.")
    # On an accelerator the check would synchronize host and device; a compiler or vmap has no values to check.
    checked = tensor.device.type == "cpu" and tensor.numel() > 0 and eager()
    if checked and not _within(tensor, longest):
        low, high = int(tensor.min()), int(tensor.max())
        raise ValueError(f"{name} must lie between 0 and {longest} but range from {low} to {high}.")
    return tensor.long()


def shape_of(lengths: Tensor | None) -> torch.Size:
    """The batch shape of lengths."""
    return torch.Size() if lengths is None else lengths.shape


def flatten_batch(potential: Tensor, batch_shape: Sequence[int], event_dim: int) -> Tensor:
    """(B, own axes): the batch dimensions flattened, for the kernels."""
    own = potential.dim() - event_dim
    if own == 1 and len(batch_shape) == 1 and potential.shape[0] == batch_shape[0]:
        return potential
    return expand_batch(potential, batch_shape, event_dim).reshape(-1, *potential.shape[own:])


def restore_batch(flat: Tensor, batch_shape: Sequence[int]) -> Tensor:
    """The inverse of `flatten_batch`: split the first axis into the batch dimensions."""
    return flat if len(batch_shape) == 1 else flat.view((*batch_shape, *flat.shape[1:]))


def _within(lengths: Tensor, longest: int) -> bool:
    return bool(((lengths >= 0) & (lengths <= longest)).all())


def apply_mask(potential: Tensor, mask: Mask | None, event_dim: int) -> Tensor:
    """−inf where the mask, broadcast to the potential, is False."""
    if mask is None:
        return potential
    mask = as_tensor("mask", mask, device=potential.device)
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be Boolean, True where a part is allowed, but is {mask.dtype}; call .bool() on it."
        )
    try:
        shape = torch.broadcast_shapes(mask.shape, potential.shape)
    except RuntimeError:
        shape = None
    if shape is None or shape[len(shape) - event_dim :] != potential.shape[potential.dim() - event_dim :]:
        raise ValueError(
            f"mask must broadcast to the first potential, of shape {tuple(potential.shape)}, "
            f"but has {tuple(mask.shape)}."
        )
    return torch.where(mask, potential, NEGATIVE_INFINITY)


def expand_batch(potential: Tensor, batch_shape: Sequence[int], event_dim: int) -> Tensor:
    """A view with all batch dimensions."""
    if potential.shape[: potential.dim() - event_dim] == tuple(batch_shape):
        return potential
    return potential.expand(*batch_shape, *potential.shape[potential.dim() - event_dim :])
