"""Imports go one way: between rooms downwards, between files without a circle."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.house.sources import House, house

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOMS = ["version", "lazy", *re.findall(r"^\| `regard/(\w+)` \|", GUIDE, flags=re.MULTILINE), "__main__"]
"""The rooms in the order of the table in CONTRIBUTING.md: each imports only those before it."""
ALONE = {
    "regard.errors": (),
    "regard.private": (),
    "regard.notation": ("regard.lazy",),
    "regard.structures": ("regard.lazy", "regard.errors", "regard.private"),
    "regard.structures.kernels": ("regard.lazy", "regard.private"),
}
"""What must be usable without the rest imports only this."""
WITHOUT_TORCH = ("errors", "parts", "storage", "reporting", "notation", "spec", "zoo", "trace", "metrics")


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def inside(module: str, packages: Sequence[str]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in packages)


def imports(found: House) -> Iterator[tuple[str, str, str]]:
    """Every import of a module of ours by another: the file, the place, the imported module."""
    for source in found.sources.values():
        for one in source.imports:
            if not one.typing and inside(one.module, ["regard"]) and one.module != source.module:
                yield source.module, f"{source.module}:{one.line}", one.module


def upwards(found: House) -> list[str]:
    """Imports of a room that stands above; the package itself, which exports from all rooms, is above all."""
    return [
        f"{place} imports {target}"
        for module, place, target in imports(found)
        if room(module) and room(module) != room(target)
        if not room(target) or ROOMS.index(room(target)) > ROOMS.index(room(module))
    ]


def circles(found: House) -> list[list[str]]:
    """Sets of files each of which imports, over others, all files of its set."""
    targets: dict[str, list[str]] = {name: [] for name in found.sources}
    for module, _, target in imports(found):
        if target in targets:
            targets[module].append(target)
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    result: list[list[str]] = []

    def visit(module: str) -> None:  # Tarjan's algorithm
        number[module] = lowest[module] = len(number)
        path.append(module)
        for target in targets[module]:
            if target not in number:
                visit(target)
            if target in path:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == number[module]:
            place = path.index(module)
            if len(path) - place > 1:
                result.append(sorted(path[place:]))
            del path[place:]

    for module in targets:
        if module not in number:
            visit(module)
    return result


def others(found: House, package: str, allowed: Sequence[str]) -> list[str]:
    """Imports of a package from outside itself and what it may import."""
    return [
        f"{place} imports {target}"
        for module, place, target in imports(found)
        if inside(module, [package]) and not inside(target, [package, *allowed])
    ]


def users(found: House, package: str) -> list[str]:
    """Imports of a package by files outside it."""
    return [
        f"{place} imports {target}"
        for module, place, target in imports(found)
        if inside(target, [package]) and not inside(module, [package])
    ]


def uses_of_torch(found: House) -> list[str]:
    return [
        f"{source.module}:{one.line}"
        for source in found.sources.values()
        for one in source.imports
        if room(source.module) in WITHOUT_TORCH and not one.typing and inside(one.module, ["torch"])
    ]


def test_the_table_lists_every_room() -> None:
    assert sorted({room(name) for name in house().sources} - {""}) == sorted(ROOMS)


def test_nothing_imports_upwards() -> None:
    assert upwards(house()) == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles(house()) == []


def test_nobody_imports_a_fast_path() -> None:
    """The registry finds them by their kind."""
    assert users(house(), "regard.fast") == []


@pytest.mark.parametrize("floor", ["regard.course", "regard.studio"])
def test_nobody_imports_a_floor(floor: str) -> None:
    assert users(house(), floor) == []


@pytest.mark.parametrize("package", ALONE)
def test_what_is_usable_alone_imports_nothing_else(package: str) -> None:
    assert others(house(), package, ALONE[package]) == []


def test_rooms_of_plain_data_do_not_import_torch() -> None:
    assert uses_of_torch(house()) == []


def test_no_compiler_is_loaded_before_it_is_used() -> None:
    script = (
        "import sys, regard.structures, regard.nn; print({'numba', 'triton', 'llvmlite'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "from regard.model import Model",
        "import regard.model.store",
        "from regard import model",
        "from regard import Model",
        "def late():\n    from regard.model.model import Model",
        "from importlib import import_module\nimport_module('regard.model')",
    ],
)
def test_an_import_upwards_is_found(line: str) -> None:
    planted = House({"regard.nn.planted": line}, beside=house())
    assert len(upwards(planted)) == 1
    typed = "\n".join(f"    {one}" for one in line.splitlines())
    guarded = House(
        {"regard.nn.planted": f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n{typed}"}, beside=house()
    )
    assert upwards(guarded) == []
    assert upwards(House({"regard.cli.planted": "from regard.model import Model"}, beside=house())) == []


def test_a_circle_is_found() -> None:
    texts = {
        "regard.nn.one": "from regard.nn.two import b",
        "regard.nn.two": "from regard.nn import three",
        "regard.nn.three": "def late():\n    from regard.nn.one import a",
        "regard.nn.four": "from regard.nn.one import a",
    }
    assert circles(House(texts)) == [["regard.nn.one", "regard.nn.three", "regard.nn.two"]]
    texts["regard.nn.three"] = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import regard.nn.one"
    assert circles(House(texts)) == []


def test_other_planted_imports_are_found() -> None:
    texts = {
        "regard.nn.planted": "from regard.fast.paths.fused import Fused",
        "regard.structures.planted": "import regard.data.batch",
        "regard.spec.planted": "def late():\n    from torch import Tensor",
    }
    planted = House(texts, beside=house())
    assert users(planted, "regard.fast") == ["regard.nn.planted:1 imports regard.fast.paths.fused"]
    assert others(planted, "regard.structures", ALONE["regard.structures"]) == [
        "regard.structures.planted:1 imports regard.data.batch"
    ]
    assert uses_of_torch(planted) == ["regard.spec.planted:2"]
