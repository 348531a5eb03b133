"""Potentials as given by the caller, made ready: one precision, one batch shape, masks as −inf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.structures.semirings import NEGATIVE_INFINITY

Lengths = Tensor | Sequence[int] | int | None


def as_floats(**potentials: Tensor | None) -> list[Any]:
    """All potentials in one precision: float64 if any has it, else float32, to which half precision is raised."""
    if all(value is None or _is_single(value) for value in potentials.values()):
        return list(potentials.values())
    given = {name: potential for name, potential in potentials.items() if potential is not None}
    for name, potential in given.items():
        if not isinstance(potential, Tensor) or not potential.is_floating_point():
            kind = getattr(potential, "dtype", type(potential).__name__)
            raise ValueError(
                f"{name} must be a tensor of floating-point scores, not {kind}; call .float() on it."
            )
    double = any(potential.dtype == torch.float64 for potential in given.values())
    dtype = torch.float64 if double else torch.float32
    return [None if potential is None else potential.to(dtype) for potential in potentials.values()]


def _is_single(potential: object) -> bool:
    return isinstance(potential, Tensor) and potential.dtype is torch.float32


def check_axes(
    name: str, potential: Tensor, axes: Sequence[str], sizes: Sequence[int | None], hint: str = ""
) -> None:
    """The trailing axes of a potential must have these sizes (None: any); a message calls them by their letters."""
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


def joint_batch(**shapes: Sequence[int]) -> torch.Size:
    """The batch shape everything broadcasts to."""
    some = {torch.Size(shape) for shape in shapes.values() if len(shape)}
    if len(some) <= 1:
        return next(iter(some), torch.Size())
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
    # On an accelerator the check would make the host wait for the device, and a compiler has no numbers to check.
    checked = tensor.device.type == "cpu" and tensor.numel() > 0 and not torch.compiler.is_compiling()
    if checked and not _within(tensor, longest):
        low, high = int(tensor.min()), int(tensor.max())
        raise ValueError(f"{name} must lie between 0 and {longest} but range from {low} to {high}.")
    return tensor.long()


def shape_of(lengths: Tensor | None) -> torch.Size:
    """The batch shape that lengths ask for."""
    return torch.Size() if lengths is None else lengths.shape


def flatten_batch(potential: Tensor, batch_shape: Sequence[int], event_dim: int) -> Tensor:
    """(B, own axes), the batch dimensions in one, as the kernels take potentials."""
    own = potential.dim() - event_dim
    if own == 1 and len(batch_shape) == 1 and potential.shape[0] == batch_shape[0]:
        return potential
    return expand_batch(potential, batch_shape, event_dim).reshape(-1, *potential.shape[own:])


def restore_batch(flat: Tensor, batch_shape: Sequence[int]) -> Tensor:
    """The inverse: the first axis parted into the batch dimensions."""
    return flat if len(batch_shape) == 1 else flat.view((*batch_shape, *flat.shape[1:]))


def _within(lengths: Tensor, longest: int) -> bool:
    return bool(((lengths >= 0) & (lengths <= longest)).all())


def apply_mask(potential: Tensor, mask: Tensor | None, event_dim: int) -> Tensor:
    """−inf where the mask, broadcast to the potential, is False."""
    if mask is None:
        return potential
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
    """A view with all of the batch dimensions."""
    if potential.shape[: potential.dim() - event_dim] == tuple(batch_shape):
        return potential
    return potential.expand(*batch_shape, *potential.shape[potential.dim() - event_dim :])
