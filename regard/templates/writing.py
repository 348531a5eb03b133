"""Writes a new part: the part itself, its test, and a pyproject.toml that registers it where it is installed."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from string import Template

from regard.errors import RegardError
from regard.parts import KINDS, nearest, part
from regard.storage.files import write_text
from regard.version import __version__

NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
PROJECT = """\
[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "$module"
version = "0.1.0"
description = "A $kind for regard."
requires-python = ">=3.11"
dependencies = ["regard>=$version"]

[project.entry-points."regard.parts"]
$module = "$module"

[tool.setuptools]
py-modules = ["$module"]
"""
TEST = '''\
"""The $kind $name keeps what its kind promises."""

import $module  # noqa: F401  registers it
from regard.testing import check_part


def test_it_is_a_$kind() -> None:
    check_part("$kind", "$name")
'''
TEST_OF_READER = '''\
"""The reader $name keeps what its kind promises."""

from pathlib import Path

import $module  # noqa: F401  registers it
from regard.testing import check_part


def test_it_is_a_reader(tmp_path: Path) -> None:
    file = tmp_path / "rows.$name"
    file.write_text("three -> 3\\nfour -> 4\\n", encoding="utf-8")
    check_part("reader", "$name", file=file)
'''
TEST_OF_DRAWING = '''\
"""The drawing $name keeps what its kind promises."""

import $module
from regard.testing import check_part


def test_it_is_a_drawing() -> None:
    check_part("drawing", "$name", trace=$module.example())
'''
TESTS = {"reader": TEST_OF_READER, "drawing": TEST_OF_DRAWING}
"""Tests of kinds that need something to work on; all others have the same test."""


def write_part(kind: str, name: str, folder: Path) -> list[Path]:
    """Write a part of this kind and name into a folder, and return the files. No file is replaced."""
    if kind not in KINDS:
        raise RegardError(f"there is no kind of part {kind!r}.", where="new", fix=nearest(kind, list(KINDS)))
    if not NAME.fullmatch(name):
        raise RegardError(
            f"{name!r} cannot name a part: expected small letters, digits and single hyphens.", where="new"
        )
    if (known := part(kind, name)) is not None:
        raise RegardError(
            f"there is already a {kind} {name!r}: {known.__module__}.{known.__qualname__}.",
            where="new",
            fix="Choose another name.",
        )
    words = re.split("[-_]", name)
    values = {
        "kind": kind,
        "name": name,
        "Class": "".join(word.capitalize() for word in words) + kind.capitalize(),
        "module": f"regard_{'_'.join(words)}",
        "version": __version__,
    }
    template = _template(kind)
    texts = {
        f"{values['module']}.py": template,
        f"test_{values['module']}.py": TESTS.get(kind, TEST),
        "pyproject.toml": PROJECT,
    }
    files = {folder / file: Template(text).substitute(values) for file, text in texts.items()}
    for path in files:
        if path.exists() or path.is_symlink():
            raise RegardError("this file exists.", where=str(path), fix="Choose another folder with -o.")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        write_text(path, text)
    return list(files)


def _template(kind: str) -> str:
    """The template of a kind, which is here, or in the floor that declares the kind."""
    here = resources.files("regard.templates").joinpath(f"{kind}.txt")
    floor = resources.files(".".join(KINDS[kind].split(".")[:2])).joinpath("templates", f"{kind}.txt")
    return (here if here.is_file() else floor).read_text(encoding="utf-8")
