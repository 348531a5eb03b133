"""The failures of a check, each one sentence with the part, the method, what was expected and what was received."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from regard.errors import MissingExtra


class Stop(Exception):
    """Nothing more can be checked after a failure."""


class PartReport:
    """Collects the failures of one part."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self.told: list[str] = []

    def add(self, method: str, expected: str, received: str) -> None:
        told = f"{self.kind} {self.name}: {method}: expected {expected}; received {received}."
        if told not in self.told:
            self.told.append(told)

    @contextmanager
    def calling(self, method: str, expected: str = "a result") -> Iterator[None]:
        """PartReport an exception as a failure of this method, and end the check."""
        try:
            yield
        except (MissingExtra, Stop):
            raise
        except Exception as error:
            said = str(error).strip().splitlines()
            self.add(method, expected, f"{type(error).__name__}: {said[0] if said else ''}".rstrip(".: "))
            raise Stop from error

    def is_true(self, method: str, holds: bool, expected: str, received: Any) -> bool:
        if not holds:
            self.add(method, expected, str(received))
        return holds

    def shape(self, method: str, found: Any, wanted: Sequence[int], words: str) -> None:
        """End the check unless `found` is a tensor of floats of this shape."""
        if not isinstance(found, Tensor):
            self.add(method, f"a tensor {words} = {tuple(wanted)}", f"{type(found).__name__}")
            raise Stop
        if tuple(found.shape) != tuple(wanted):
            self.add(method, f"the shape {words} = {tuple(wanted)}", f"{tuple(found.shape)}")
            raise Stop
        if not found.is_floating_point():
            self.add(method, "floating-point numbers", str(found.dtype))
            raise Stop

    def same(self, method: str, found: Tensor, wanted: Tensor, expected: str) -> bool:
        """Whether two tensors agree; NaN agrees with NaN."""
        if found.shape != wanted.shape:
            self.add(method, f"{expected}, {tuple(wanted.shape)}", str(tuple(found.shape)))
            return False
        close = torch.allclose(found.double(), wanted.double(), rtol=1e-4, atol=1e-5, equal_nan=True)
        if not close:
            apart = (found.double() - wanted.double()).abs().nan_to_num(nan=float("inf")).max()
            self.add(method, expected, f"values that differ by up to {float(apart):.3g}")
        return close


def outcome(check: Callable[[], None]) -> None:
    """Run a check that may end early."""
    try:
        check()
    except Stop:
        return
