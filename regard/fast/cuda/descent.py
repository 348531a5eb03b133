# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""A step of Adam over many tensors in one kernel, with the clipping before and the moving average after it.

    g = gradient / scale;   adam: g += λ w;   adamw: w −= η λ w
    m += (1 − β₁)(g − m),   v = β₂ v + (1 − β₂) g²,   w −= η m / (1 − β₁ᵗ) / (√v / √(1 − β₂ᵗ) + ε)
    a += (1 − d)(w − a)

Every number is read and written at most once, because memory bandwidth limits the speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.structures.kernels.cuda.launching import on_device_of

CHUNK, WARPS = 2048, 8
"""Numbers per program, and warps of 32 threads per program."""


@dataclass(frozen=True)
class Adam:
    """Settings of a step; `average` is 1 − d, and `decoupled` selects AdamW's decay."""

    rate: float
    betas: tuple[float, float]
    epsilon: float
    decay: float
    decoupled: bool
    average: float


class Tensors:
    """Weights, first and second moments, and averages or None, all in single precision, with addresses."""

    def __init__(
        self,
        weights: Sequence[Tensor],
        firsts: Sequence[Tensor],
        seconds: Sequence[Tensor],
        averages: Sequence[Tensor] | None,
    ) -> None:
        self.kept = [list(some) for some in (weights, firsts, seconds, averages or weights)]
        self.averaged = averages is not None
        device = weights[0].device
        places = [tensor.data_ptr() for some in self.kept for tensor in some]
        sizes = [tensor.numel() for tensor in weights]
        counts = [-(-size // CHUNK) for size in sizes]
        which = [index for index, count in enumerate(counts) for _ in range(count)]
        part = [number for count in counts for number in range(count)]
        self.places = torch.tensor(places, dtype=torch.int64, device=device)
        self.sizes = torch.tensor(sizes, dtype=torch.int64, device=device)
        self.chunks = torch.tensor([which, part], dtype=torch.int32, device=device)

    @staticmethod
    def suit(tensors: Iterable[Tensor]) -> bool:
        """Whether all tensors are in single precision, contiguous, and aligned to 16 bytes."""
        return all(
            one.dtype == torch.float32 and one.is_contiguous() and one.data_ptr() % 16 == 0 for one in tensors
        )


def descend(tensors: Tensors, gradients: Sequence[Tensor], scale: Tensor, step: int, adam: Adam) -> None:
    """Step number `step` = 1, 2, … of all tensors; the gradients are divided by `scale` ()."""
    first, second = adam.betas
    found = [gradient.data_ptr() for gradient in gradients]
    places, aligned = torch.tensor(found, dtype=torch.int64), all(place % 16 == 0 for place in found)
    device = tensors.places.device
    if device.type == "cuda":
        places = places.pin_memory().to(device, non_blocking=True)
    with on_device_of(tensors.places):
        _descend[(tensors.chunks.shape[1],)](
            tensors.places, places, tensors.sizes, tensors.chunks, scale,
            adam.rate / (1 - first**step), (1 - second**step) ** -0.5, 1 - first, second, 1 - second,
            adam.epsilon, adam.decay, adam.rate * adam.decay, adam.average, len(tensors.sizes),
            tensors.chunks.shape[1], DECOUPLED=adam.decoupled, AVERAGED=tensors.averaged, ALIGNED=aligned,
            CHUNK=CHUNK, num_warps=WARPS,
        )  # fmt: skip


@triton.jit(
    do_not_specialize=[
        "rate", "correction", "new_first", "second", "new_second", "epsilon", "decay", "shrink", "average", "count",
        "programs",
    ]
)  # fmt: skip
def _descend(places, gradients, sizes, chunks, scale, rate, correction, new_first, second, new_second, epsilon, decay,
             shrink, average, count, programs, DECOUPLED: tl.constexpr, AVERAGED: tl.constexpr,
             ALIGNED: tl.constexpr, CHUNK: tl.constexpr):  # fmt: skip
    program = tl.program_id(0)
    which = tl.load(chunks + program)
    begin = tl.load(chunks + programs + program).to(tl.int64) * CHUNK
    i = tl.arange(0, CHUNK)
    here = i < tl.load(sizes + which) - begin
    number = tl.pointer_type(tl.float32)
    weights = tl.multiple_of(tl.load(places + which).to(number) + begin, 16)
    firsts = tl.multiple_of(tl.load(places + count + which).to(number) + begin, 16)
    seconds = tl.multiple_of(tl.load(places + 2 * count + which).to(number) + begin, 16)
    gradient = tl.load(gradients + which).to(number) + begin
    if ALIGNED:
        gradient = tl.multiple_of(gradient, 16)
    g = tl.load(gradient + i, mask=here, other=0.0) / tl.load(scale)
    w = tl.load(weights + i, mask=here, other=0.0)
    m = tl.load(firsts + i, mask=here, other=0.0)
    v = tl.load(seconds + i, mask=here, other=0.0)
    if DECOUPLED:
        w -= shrink * w
    else:
        g += decay * w
    m += new_first * (g - m)
    v = second * v + new_second * g * g
    w -= rate * m / (tl.sqrt(v) * correction + epsilon)
    tl.store(firsts + i, m, mask=here)
    tl.store(seconds + i, v, mask=here)
    tl.store(weights + i, w, mask=here)
    if AVERAGED:
        averages = tl.multiple_of(tl.load(places + 3 * count + which).to(number) + begin, 16)
        a = tl.load(averages + i, mask=here, other=0.0)
        tl.store(averages + i, a + average * (w - a), mask=here)
