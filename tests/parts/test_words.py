"""Class names are unique."""

from __future__ import annotations

from collections import defaultdict

from tests.house.sources import House, house


def owners(found: House) -> dict[str, list[str]]:
    """The modules that define a class of each name, but for private classes of a module, such as `_Like`."""
    modules: dict[str, list[str]] = defaultdict(list)
    for source in found.sources.values():
        for name in source.classes:
            if not name.startswith("_"):
                modules[name].append(source.module)
    return modules


def test_a_class_name_has_one_owner() -> None:
    assert not {name: files for name, files in owners(house()).items() if len(files) > 1}


def test_a_second_owner_is_found() -> None:
    text = "class Text:\n    class Options: ...\nclass _Like: ..."
    found = owners(House({"regard.one": text, "regard.two": text}))
    assert found == {"Text": ["regard.one", "regard.two"]}
