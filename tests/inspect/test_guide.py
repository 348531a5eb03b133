"""The examples of the guide print what the guide shows."""

import contextlib
import io
import re
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n((?:(?!```).)*?)```\n```text\n(.*?)```", GUIDE, flags=re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_example(code, printed):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})
    assert output.getvalue() == printed


def test_there_are_examples():
    assert any("Arcs(" in code for code, _ in EXAMPLES)
