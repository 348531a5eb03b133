"""The failures of a check, each one sentence with the part, the method, what was expected and what was received."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from regard.errors import MissingExtra


class Stop(Exception):
    """Nothing more can be checked after a failure."""


class PartReport:
    """Collects the failures of one part."""

    def __init__(self, kind: str, name: str, made: type | None = None) -> None:
        self.kind, self.name, self.made = kind, name, made
        self.told: list[str] = []
        self._raised: set[str] = set()

    def add(self, method: str, expected: str, received: str) -> None:
        told = f"{self.kind} {self.name}: {method}: expected {expected}; received {received}."
        if told not in self.told:
            self.told.append(told)

    @contextmanager
    def calling(self, method: str, expected: str = "a result", *, follows: bool = False) -> Iterator[None]:
        """Report an exception as a failure of this method, and end the check. The same exception is told once.

        follows   whether an exception follows from an earlier failure, if there is one, and is not told again
        """
        try:
            yield
        except (MissingExtra, Stop):
            raise
        except Exception as error:
            said = str(error).strip().splitlines()
            received = f"{type(error).__name__}: {said[0] if said else ''}".rstrip(".: ")
            if received not in self._raised and not (follows and self.told):
                self.add(method, expected, received)
            self._raised.add(received)
            raise Stop from error

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A group of checks: a failure that ends them does not end those that follow."""
        try:
            yield
        except Stop:
            return
        except MissingExtra:
            raise
        except Exception as error:
            try:
                with self.calling(self._method(error), "a result"):
                    raise
            except Stop:
                return

    def _method(self, error: Exception) -> str:
        """The method of the part in which an exception was raised; check_part if it was in none."""
        written = {
            getattr(getattr(value, "__func__", value), "__code__", None): name
            for owner in reversed(getattr(self.made, "__mro__", ()))
            for name, value in list(vars(owner).items())
        }
        codes = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))
        return next((written[one] for one in codes if one in written), "check_part")

    def is_true(self, method: str, holds: bool, expected: str, received: Any) -> bool:
        if not holds:
            self.add(method, expected, str(received))
        return holds

    def shape(self, method: str, found: Any, wanted: Sequence[int], words: str) -> None:
        """End the check unless `found` is a tensor of finite floats of this shape."""
        if not isinstance(found, Tensor):
            self.add(method, f"a tensor {words} = {tuple(wanted)}", f"{type(found).__name__}")
            raise Stop
        if tuple(found.shape) != tuple(wanted):
            self.add(method, f"the shape {words} = {tuple(wanted)}", f"{tuple(found.shape)}")
            raise Stop
        if not found.is_floating_point():
            self.add(method, "floating-point numbers", str(found.dtype))
            raise Stop
        usual = torch.get_default_dtype()
        self.is_true(method, found.dtype == usual, f"numbers of {usual}, as its inputs are", found.dtype)
        self.finite(method, found, words)

    def finite(self, method: str, found: Tensor, words: str) -> None:
        """End the check unless all numbers are finite."""
        if not bool(found.detach().isfinite().all()):
            what = "NaN" if bool(found.isnan().any()) else "infinite numbers"
            self.add(method, "finite numbers for finite inputs", f"{what} in {words}")
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
