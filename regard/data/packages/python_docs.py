"""The documentation of Python: help topics and docstrings of the standard library, in every installation."""

from __future__ import annotations

import ast
import os
import re
import sysconfig
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from regard.data.packages.package import Package
from regard.data.packages.parted import parted
from regard.data.provider import RowCount, Splits, numbered
from regard.parts import register

TOPIC = "topic:"
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "dist-packages", "pydoc_data", "lib2to3"}
"""Folders of the standard library to skip: tests, installed packages, data."""


@register("package", "python-docs")
class PythonDocsPackage(Package):
    """English technical prose and code, about 2 million characters: the documentation of the running Python.

    A document is a topic of `help()` or the docstrings of a module. Every paragraph is kept only once: a paragraph of
    several documents stays in the first of them, in the order test, dev, train, so that no test text is in the training
    data. The text differs a little between versions of Python.
    """

    dev: RowCount = 40
    """Number of documents; no document or paragraph is in two splits."""
    test: RowCount = 40
    """Number of documents."""

    fields: ClassVar[tuple[str, ...]] = ("text",)

    def splits(self) -> Splits:
        parts = parted(
            documents(), seed=self.seed, train=self.train, dev=self.dev, test=self.test, name=self.type
        )
        seen: set[str] = set()
        made: Splits = {}
        for part in ("test", "dev", "train"):
            texts = (text for name in parts[part] if (text := _once(paragraphs(name), seen)))
            made[part] = numbered(self.type, part, ({"text": text} for text in texts))
        return {part: made[part] for part in ("train", "dev", "test")}


def documents() -> list[str]:
    """The names of all documents: topic:NAME, or the path of a module in the library."""
    from pydoc_data.topics import topics

    library = Path(sysconfig.get_path("stdlib"))
    modules = []
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        within = Path(folder).relative_to(library)
        modules += [(within / name).as_posix() for name in files if name.endswith(".py")]
    return [*(TOPIC + name for name in topics), *modules]


@lru_cache(maxsize=4096)
def paragraphs(name: str) -> tuple[str, ...]:
    """The paragraphs of a document; empty if a module has no docstrings or cannot be parsed."""
    from pydoc_data.topics import topics

    if name.startswith(TOPIC):
        texts: Sequence[str] = [topics[name.removeprefix(TOPIC)]]
    else:
        try:
            texts = list(_docstrings(Path(sysconfig.get_path("stdlib")) / name))
        except (OSError, SyntaxError, ValueError):
            texts = []
    return tuple(one.strip("\n") for text in texts for one in re.split(r"\n\s*\n", text) if one.strip())


def _docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def _once(found: Sequence[str], seen: set[str]) -> str:
    """The paragraphs not seen before, as one text that ends with an empty line."""
    kept = []
    for paragraph in found:
        known = " ".join(paragraph.split())
        if known not in seen:
            seen.add(known)
            kept.append(paragraph)
    return "".join(f"{paragraph}\n\n" for paragraph in kept)
