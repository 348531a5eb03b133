"""Torch's scan over the first axis of some tensors, which exported programs keep as a loop of any length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.private.feature import Feature, expect

Step = Callable[[Tensor, Sequence[Tensor]], tuple[Tensor, Tensor]]
"""A state and the rows of a position → the next state, and what is kept of it."""


def _try_scan() -> Any:
    from torch._higher_order_ops.scan import scan

    def add(state: Tensor, given: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        return state + given[0], 2 * state

    with torch.no_grad():
        last, kept = scan(add, torch.zeros(1), (torch.tensor([[1.0], [2.0], [4.0]]),), dim=0, reverse=True)
    expect(last.tolist() == [7.0] and kept.flatten().tolist() == [12.0, 8.0, 0.0], "a scan")
    return scan


_scan = Feature("torch's scan", "recurrent parts cannot be exported", _try_scan)


def can_scan() -> bool:
    """Whether this version of torch has a scan."""
    return _scan.get() is not None


def scanned(
    step: Step, first: Tensor, given: Sequence[Tensor], *, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """The last state, and what was kept of every position, (N, …).

    given     (N, …) each
    reverse   go from the last position to the first; what is kept stays in the order of the positions
    """
    last, kept = _scan.get()(step, first, tuple(given), dim=0, reverse=reverse)
    return last, kept
