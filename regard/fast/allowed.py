"""The best tokens that the limits of a search allow, at a step that only the device knows."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.search.stepper import Bounds, top
from regard.structures.kernels.availability import triton_takes


def allowed_top(
    logits: Tensor, bounds: Bounds, at: Tensor, count: int, *, late: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizers (B, K), and the `count` highest logits that the limits allow at step `at` (), as in `top`.

    late   whether an output may have to end at this step
    """
    if triton_takes(logits):
        from regard.fast.cuda import best

        if best.serves(logits, count, bounds.forbidden):
            end, minimum, forbidden = bounds.end, bounds.minimum, bounds.forbidden
            return best.best(logits, bounds.last, at, count, end=end, minimum=minimum, forbidden=forbidden)
    normalizers = logits.logsumexp(-1)
    return normalizers, *top(allow(bounds, logits, at, late=late), count)


def allow(bounds: Bounds, logits: Tensor, step: Tensor, *, late: bool) -> Tensor:
    """`Bounds.apply` at a step () that only the device knows, without a prefix.

    late   whether an output may have to end at this step
    """
    for token in bounds.forbidden:
        if 0 <= token < logits.shape[-1]:
            logits[..., token] = -torch.inf
    if bounds.minimum:
        logits[..., bounds.end].masked_fill_(step < bounds.minimum, -torch.inf)
    if late:
        end = logits[..., bounds.end].clone()
        logits.masked_fill_(bounds.ended(step)[:, None, None], -torch.inf)
        logits[..., bounds.end] = end
    return logits
