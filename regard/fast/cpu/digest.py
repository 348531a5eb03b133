"""A number that tells whether weights have changed, for the cost of reading them once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from regard.structures.kernels.cpu.compilation import kernel

Array = Any


@kernel
def _digest(numbers: Array) -> Any:
    """Σ_i (2i + 1) x_i modulo 2^64: no change of a single number goes unnoticed."""
    total, factor = np.uint64(0), np.uint64(1)
    for i in range(len(numbers)):
        total += np.uint64(numbers[i]) * factor
        factor += np.uint64(2)
    return total


def digest(weights: Sequence[Tensor]) -> tuple[Any, ...]:
    """Shapes, precisions and numbers of the weights, in short. The version counter of a tensor does not count changes
    through `data` or numpy, so the numbers are read."""
    return tuple(
        (
            tuple(one.shape),
            one.dtype,
            int(_digest(one.detach().contiguous().numpy().reshape(-1).view(np.uint32))),
        )
        for one in weights
    )
