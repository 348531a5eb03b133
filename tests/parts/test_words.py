"""Class names are unique."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import regard


def test_a_class_name_has_one_owner() -> None:
    """Except private classes of a module, such as `_Like`, and classes nested in a class."""
    owners: dict[str, list[str]] = defaultdict(list)
    package = Path(regard.__file__).parent
    for file in sorted(package.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name].append(str(file.relative_to(package)))
    assert not {name: files for name, files in owners.items() if len(files) > 1}
