"""A limit on the memory of a network while it is built, derived from its weights on disk.

A downloaded folder can describe a network of any size in a few bytes. The header of the weights contains
their number. A network that needs many more does not belong to them and is refused before its memory is
allocated. (Building it on the device `meta` first would show the same, but loads torch's compiler, which
takes seconds.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from regard.errors import RegardError

FACTORIES = frozenset((torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.eye))
TIMES, BESIDE = 4, 10_000_000
"""Numbers that may be allocated: TIMES for each in the file, since tied and initial weights need more, plus
BESIDE for tables that are not weights."""


class UnfitWeights(RegardError):
    """The weights in a file are not those of the network that the spec describes."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(
            f"weights and spec do not match: {reason}.",
            where=str(path),
            fix="spec.yaml, columns.json and model.safetensors must come from one run.",
        )


class Budget(TorchFunctionMode):
    """Inside this context tensors are created only as long as their total size is within the limit."""

    def __init__(self, path: Path, shapes: Iterable[Sequence[int]]) -> None:
        super().__init__()
        said = sum(math.prod(shape) for shape in shapes)
        self.path, self.left = path, TIMES * min(said, path.stat().st_size) + BESIDE

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in FACTORIES:
            self.left -= _numbers(kwargs.get("size", args))
            if self.left < 0:
                raise UnfitWeights("the spec describes a much larger model", self.path)
        return func(*args, **kwargs)


def _numbers(size: Any) -> int:
    """The product of a shape, given as one tuple or as several numbers."""
    if isinstance(size, int):
        return size
    return math.prod(_numbers(one) for one in size) if isinstance(size, Sequence) else 1
