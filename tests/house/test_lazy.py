"""Rooms load their names at first use, and a path notices a method that was replaced before the path was imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import regard

PACKAGE = Path(regard.__file__).parent
LAZY = [path for path in sorted(PACKAGE.rglob("__init__.py")) if "at_first_use" in path.read_text("utf-8")]
PROGRAM = """
import sys
from regard.nn import {name}
assert not [one for one in sys.modules if one.startswith("regard.fast")]
before = {name}.{method}
{name}.{method} = lambda self, *given: before(self, *given)
from regard.fast.{module} import {table}
made = {made}
replaced = {table}.kind(made)
{name}.{method} = before
print(replaced, {table}.kind(made) is {name})
"""


@pytest.mark.parametrize("path", LAZY, ids=lambda path: str(path.parent.relative_to(PACKAGE)))
def test_a_lazy_room_gives_what_it_lists(path: Path) -> None:
    room = import_module(".".join(("regard", *path.parent.relative_to(PACKAGE).parts)))
    guarded = next(one for one in ast.parse(path.read_text("utf-8")).body if isinstance(one, ast.If))
    homes = {
        name.asname or name.name: (line.module, name.name)
        for line in guarded.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }
    assert set(homes) & set(room.__all__)
    for name in room.__all__:
        module, there = homes.get(name, (room.__name__, name))
        assert getattr(room, name) is getattr(import_module(str(module)), there)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = room.nothing


def test_a_module_of_a_lazy_room_is_an_attribute() -> None:
    script = "import regard.nn; print(regard.nn.decoders.__name__, regard.nn.letters.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["regard.nn.decoders", "regard.nn.letters"], done.stderr


@pytest.mark.parametrize(
    ("name", "method", "module", "table", "made"),
    [
        ("GRUCell", "advance", "recurrence", "CELLS", "GRUCell(3, 4)"),
        ("Stepper", "step", "chunks", "STEPPERS", "Stepper.__new__(Stepper)"),
    ],
)
def test_a_method_replaced_before_a_path_is_imported_is_noticed(
    name: str, method: str, module: str, table: str, made: str
) -> None:
    script = PROGRAM.format(name=name, method=method, module=module, table=table, made=made)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["None", "True"], done.stderr


def test_every_class_that_a_path_replaces_is_remembered() -> None:
    from regard.nn.path import Replaces
    from regard.parts import names
    from regard.parts.definition import KEPT

    names("path")
    ours = [module for name, module in sys.modules.items() if name.startswith("regard.")]
    tables = [one for module in ours for one in vars(module).values() if isinstance(one, Replaces)]
    classes = {one for table in tables for kind in table.known for one in kind.__mro__}
    assert len(classes) > 20
    assert [one for one in classes if one.__module__.startswith("regard.") and KEPT not in vars(one)] == []
