"""What a package exports stays what it is when all modules are imported."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import regard

PROGRAM = "import tests.parts.test_exports as one; print(*one.hidden(), sep='\\n')"


def hidden() -> list[str]:
    """Import every module of regard; return the exported names that a module of the same name has replaced."""
    before: dict[str, object] = {}
    for found in pkgutil.walk_packages(regard.__path__, "regard."):
        if found.ispkg:
            package = importlib.import_module(found.name)
            for name in getattr(package, "__all__", ()):
                before[f"{found.name}.{name}"] = getattr(package, name)
    for found in pkgutil.walk_packages(regard.__path__, "regard."):
        if ".cuda" not in found.name and not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    return [
        place
        for place, value in before.items()
        if not isinstance(value, ModuleType)
        and isinstance(getattr(sys.modules[place.rpartition(".")[0]], place.rpartition(".")[2]), ModuleType)
    ]


def test_no_module_hides_an_exported_name() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_every_room_of_the_house_can_be_reached() -> None:
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| `regard/(\w+)` \|", guide, flags=re.MULTILINE)
    assert {"describe", "course", "data", "cli", "runs"} <= set(rooms) <= set(dir(regard))
    for room in rooms:
        assert regard.__getattr__(room).__name__ == f"regard.{room}"
    assert regard.course.matrix.__name__ == "regard.course.matrix"
    with pytest.raises(AttributeError, match="has no attribute 'matrix'"):
        regard.__getattr__("matrix")
