"""The examples of the page on structures print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "structures.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^## (.*?)$|```python\n(.*?)```\n```text\n(.*?)```", PAGE, flags=re.MULTILINE | re.DOTALL
)


def examples() -> list:
    heading, listed = "Structures", []
    for title, code, printed in EXAMPLES:
        heading = title or heading
        if code:
            listed.append(pytest.param(code, printed, id=heading))
    return listed


@pytest.mark.parametrize(("code", "printed"), examples())
def test_example(code: str, printed: str) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})
    assert output.getvalue() == printed


def test_every_structure_has_an_example() -> None:
    import regard.structures

    shown = {title for title, _, _ in EXAMPLES if title}
    assert set(regard.structures.__all__) - {"Structure"} <= shown
    assert PAGE.count("```python") == len(examples())
