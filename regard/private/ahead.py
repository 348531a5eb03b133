"""Exported programs compiled ahead of time by torch's Inductor, and how they are opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def compile_ahead(program: Any, path: Path) -> None:
    """Compile a program of `torch.export` to a package. It needs a compiler of C++."""
    from torch._inductor import aoti_compile_and_package

    aoti_compile_and_package(program, package_path=str(path))


OPENED = "torch._inductor.aoti_load_package({!r})"
"""How a reader opens a compiled package."""


def open_compiled(path: Path) -> Any:
    """The function of a compiled package."""
    from torch._inductor import aoti_load_package

    return aoti_load_package(str(path))
