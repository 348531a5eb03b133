"""docs/licenses.md names the data of every recipe, and every package that pyproject.toml needs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "licenses.md").read_text(encoding="utf-8")
OF_DEVELOPERS = {"all", "dev", "bench", "docs", "release"}


def test_every_recipe_has_a_license_of_its_data() -> None:
    named = set(re.findall(r"`([\w-]+)`", PAGE.partition("## Data")[2]))
    assert {path.stem for path in (ROOT / "recipes").glob("*.yaml")} <= named


def test_every_package_has_a_license() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = list(project["dependencies"])
    for extra, more in project["optional-dependencies"].items():
        texts += [] if extra in OF_DEVELOPERS else more
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([^|]+) \|", PAGE, re.M))
    missing = [name for text in texts if (name := Requirement(text).name) not in rows]
    assert not missing and "not installed" not in rows.values()
