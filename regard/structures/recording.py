"""Queries that are gradients: in inference mode, in which torch records none, and in exported programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.private import recorded as exported

Method = TypeVar("Method", bound=Callable[..., Any])


def recorded(method: Method) -> Method:
    """Run a query outside inference mode, in which torch before 2.13 returns zero gradients. Refuse it to
    `torch.export` and tracers, which cannot record a gradient: their program would hold none of its operations."""

    @wraps(method)
    def answer(structure: Any, *arguments: Any, **options: Any) -> Any:
        if exported():
            raise RegardError(
                f"This query of {type(structure).__name__} is computed as a gradient, which an exported or traced "
                "program cannot hold.",
                fix="Use torch.compile, or ask for log_partition or entropy.",
            )
        if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
            return method(structure, *arguments, **options)
        with torch.inference_mode(False):
            twin = object.__new__(type(structure))
            twin.__dict__.update({name: _ordinary(value) for name, value in structure.__dict__.items()})
            return method(twin, *arguments, **options)

    return answer  # type: ignore[return-value]


def _ordinary(value: Any) -> Any:
    """Copy tensors made in inference mode: autograd cannot record them, but can record copies."""
    if isinstance(value, Tensor):
        return value.clone() if value.is_inference() else value
    if type(value) is tuple:
        return tuple(map(_ordinary, value))
    return value
