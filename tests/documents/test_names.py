"""The page of public names is current, and every public name is there and says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import regard
from regard.testing import names

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "names.md"
FILES = [
    path
    for pattern in (
        "*.md",
        "docs/*.md",
        "regard/**/templates/*.txt",
        "examples/*.py",
        "tests/plugin/regard_minimal/*.py",
    )
    for path in sorted(REPOSITORY.glob(pattern))
    if path != PAGE and "from regard" in path.read_text(encoding="utf-8")
]


@pytest.fixture(scope="module")
def public() -> dict[str, dict[str, str]]:
    return names.public()


@pytest.fixture(scope="module")
def everything() -> dict[str, set[str]]:
    """All public names by module, also those that another section lists."""
    return {one.__name__: set(getattr(one, "__all__", ())) for one in names.modules()}


def test_the_page_of_names_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == names.page(), (
        "run: python -m regard.testing.names > docs/names.md"
    )


def test_every_public_name_says_what_it_is_in_one_line(public: dict[str, dict[str, str]]) -> None:
    silent = [
        f"{package}.{name}" for package, listed in public.items() for name, said in listed.items() if not said
    ]
    assert silent == [], "write a docstring, or a text below the assignment"
    long = {name: said for listed in public.values() for name, said in listed.items() if len(said) > 200}
    assert long == {}


def test_every_room_is_on_the_page(public: dict[str, dict[str, str]]) -> None:
    rooms = {f"regard.{path.parent.name}" for path in Path(regard.__file__).parent.glob("*/__init__.py")}
    page = PAGE.read_text(encoding="utf-8")
    headed = set(re.findall(r"^## (regard\.\w+)$", page, flags=re.MULTILINE))
    inner = set(re.findall(r"`(regard\.\w+)`", page.rpartition("## Inner folders")[2]))
    assert headed | inner == rooms and not headed & inner


def test_what_is_taken_from_a_folder_is_told_there(public: dict[str, dict[str, str]]) -> None:
    assert public["regard.nn"]["Cell"] == "One step of one recurrent layer"
    assert public["regard.parts"]["Size"] == "An option: a number of units or features"  # below an assignment
    assert public["regard.zoo"]["names"] and "GRUCell" not in public["regard.nn.cells"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_guides_templates_examples_and_the_plug_in_use_public_names(
    file: Path, everything: dict[str, set[str]]
) -> None:
    text = file.read_text(encoding="utf-8")
    for module, listed in re.findall(
        r"^ *from (regard(?:\.\w+)*) import (\([^)]*\)|[\w, ]+)$", text, flags=re.MULTILINE
    ):
        taken = {one.split(" as ")[0].strip() for one in listed.strip("()").split(",")} - {""}
        public_here = everything.get(module, set()) | {
            one.rpartition(".")[2] for one in everything if one.startswith(f"{module}.")
        }
        assert taken <= public_here, (module, taken - public_here)
