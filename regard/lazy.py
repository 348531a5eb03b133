"""Rooms whose names are loaded at first use.

A room says where its public names live once, as a type checker reads it:

    if TYPE_CHECKING:
        from regard.nn.attention import Attention
    else:
        __getattr__ = at_first_use(__name__)

`from regard.nn import Attention` then imports that one module. So a command imports only what its answer needs. A name
that a module of the room has too (`regard.nn.search.score`) is imported above these lines, because a module replaces
the name when it is imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def at_first_use(package: str) -> Callable[[str], Any]:
    """The function `__getattr__` of a room, which loads a name, or a module of the room, when it is first asked for."""
    homes: dict[str, tuple[str, str]] = {}

    def load(name: str) -> Any:
        if not homes:
            homes.update(_homes(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")))
        if name in homes:
            module, there = homes[name]
            found = getattr(import_module(module), there)
            setattr(sys.modules[package], name, found)  # the next access is quick
            return found
        if not name.startswith("__") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load


def _homes(text: str) -> dict[str, tuple[str, str]]:
    """The module of each name that a type checker imports, and the name there."""
    return {
        one.asname or one.name: (str(line.module), one.name)
        for block in ast.parse(text).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for one in line.names
    }
