"""The page of public names: `python -m regard.testing.names > docs/names.md`.

What a package, or one of `MODULES`, lists in its `__all__` is public. Everything else is inner.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

HEAD = """# Public names

What a folder lists in its `__all__` is public, and so is what the few modules on this page list. Everything else is
inner: it may change without notice, whatever its name. Each name is listed once, in the outermost folder that exports
it: write `from regard.nn import GRUCell`, not `from regard.nn.cells.gru import GRUCell`. What a spec names by `type:`
is in [Every key of a spec](spec.md), a part of your own in [Extending](extending.md). This page is generated:
`python -m regard.testing.names > docs/names.md`."""
MODULES = (
    "regard.fitting.experiment",
    "regard.inspect.layout",
    "regard.inspect.plot",
    "regard.inspect.scene",
    "regard.nn.letters",
)
"""Modules that are public by themselves: their names make sense only together."""
PACKAGE = str(__package__).partition(".")[0]
INNER = (
    "regard.private",
    "regard.fast",
    "regard.structures.kernels",
    "regard.templates",
    "regard.cli.doctor",
)
"""Packages whose names are for our own rooms."""


def page() -> str:
    """The public names of all packages, each with one line; then the packages that have none."""
    lines, inner = [HEAD], list[str]()
    for package, listed in public().items():
        if not listed and _is_inner(import_module(package)):
            inner.append(f"`{package}`")
        if not listed:
            continue
        about = told(import_module(package), "")
        lines += ["", f"## {package}", "", f"{about}.", "", "| name | |", "|---|---|"]
        lines += [f"| `{name}` | {_cell(said)} |" for name, said in listed.items()]
    lines += ["", "## Inner folders", "", f"Without public names: {', '.join(inner)}."]
    return "\n".join(lines) + "\n"


def public() -> dict[str, dict[str, str]]:
    """By package the public names that no package around it exports, each with one line."""
    found: dict[str, dict[str, str]] = {}
    exported: set[tuple[str, int]] = set()
    for package in modules():
        names = () if _is_inner(package) else sorted(package.__all__, key=str.lower)
        values = {name: getattr(package, name) for name in names}
        found[package.__name__] = {
            name: told(value, f"{package.__name__}.{name}")
            for name, value in values.items()
            if (name, id(value)) not in exported
        }
        if package.__name__ != PACKAGE:  # what `import regard` gives is also told where it belongs
            exported |= {(name, id(value)) for name, value in values.items()}
    return found


def modules() -> Iterator[ModuleType]:
    """regard, all its packages and the public modules, each after those around it."""
    whole = import_module(PACKAGE)
    yield whole
    for found in sorted(pkgutil.walk_packages(whole.__path__, f"{PACKAGE}."), key=lambda one: one.name):
        if found.ispkg or found.name in MODULES:
            yield import_module(found.name)


def _is_inner(package: ModuleType) -> bool:
    within = any(package.__name__ == one or package.__name__.startswith(f"{one}.") for one in INNER)
    return within or not hasattr(package, "__all__")


def told(value: Any, place: str) -> str:
    """The first sentence of what is written about a value; for a constant, below its assignment."""
    if inspect.ismodule(value) or inspect.isroutine(inspect.unwrap(value) if callable(value) else value):
        written = value.__doc__
    elif inspect.isclass(value) and str(value.__module__).startswith(PACKAGE):
        written = vars(value).get("__doc__")
    else:
        written = _about(*place.rpartition(".")[::2])
    paragraph = " ".join(inspect.cleandoc(written or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s+(?=[^\W\d]|`)", paragraph)[0]
    return sentence.rstrip(".:;")


def _cell(said: str) -> str:
    return said.replace("|", "\\|")


def _about(module: str, name: str) -> str:
    """The text below the assignment of a name, in the module from which a package takes it."""
    tree = _tree(module)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for one in node.names:
                if (one.asname or one.name) == name:
                    return _about(node.module, one.name)
    for node, after in pairwise(tree.body):
        match node, after:
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target), ast.Expr(
                value=ast.Constant(value=str(written))
            ) if name in {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}:
                return written
    return ""


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))


if __name__ == "__main__":
    print(page(), end="")
