"""The examples of docs/extending.md are one program that runs, and show every kind of part."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from regard.parts import KINDS, contract_of
from regard.testing import tables

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_every_kind_is_shown() -> None:
    shown = set(re.findall(r'@regard\.register\("(\w+)", "[\w-]+"\)', "\n".join(BLOCKS)))
    assert shown == set(KINDS)


def test_the_tables_list_every_kind_and_every_folder() -> None:
    in_page = re.findall(r"^\| \[(\w+)\]\(#[\w-]+\) \|", PAGE, flags=re.MULTILINE)
    assert sorted(in_page) == sorted(KINDS)
    guide = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    in_guide = dict(re.findall(r"^\| (\w+)[^|`]* \| `(regard/[\w/]+)` \| `", guide, flags=re.MULTILINE))
    assert in_guide == {kind: package.replace(".", "/") for kind, package in KINDS.items()}
    house = set(re.findall(r"^\| `regard/(\w+)` \|", guide, flags=re.MULTILINE))
    assert house == {path.parent.name for path in (REPOSITORY / "regard").glob("*/__init__.py")}


def test_the_tables_of_methods_are_those_of_the_code() -> None:
    assert sorted(tables.BLOCK.findall(PAGE)) == sorted(KINDS)
    assert tables.filled(PAGE) == PAGE, "run: python -m regard.testing.tables docs/extending.md"


def test_the_tables_hold_every_required_method() -> None:
    """The short table at the top names no method that the kind does not have."""
    for kind, listed in re.findall(
        r"^\| \[(\w+)\]\(#[\w-]+\) \|[^|]*\|[^|]*\| (.*) \|$", PAGE, flags=re.MULTILINE
    ):
        for name in re.findall(r"`(\w+)`", listed):
            assert any(hasattr(owner, name) for owner in tables._bases(contract_of(kind).base)) or name in (
                "fields",
                "summary",
                "gates",
            )


def test_the_examples_run_and_print_what_the_page_says(tmp_path: Path) -> None:
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    program = tmp_path / "program.py"
    program.write_text("\n".join(BLOCKS), encoding="utf-8")
    found = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout == printed
