"""The course: laboratories, lectures, exercises and the matrix of connections. The rest of regard does without it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["exercises", "lab", "lectures", "matrix"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"regard.course.{name}")
    raise AttributeError(f"module 'regard.course' has no attribute {name!r}")
