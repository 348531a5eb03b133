"""The notebooks run, and their pages show the same code.

The quickest runs here, in this process; the others run in a kernel of their own, with `--thorough`.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.documents.pages import ROOT

sys.path.insert(0, str(ROOT / "notebooks"))
import pages

sys.path.remove(str(ROOT / "notebooks"))

QUICK = "lectures-attention"


def test_six_notebooks_each_with_a_page() -> None:
    assert len(pages.names()) == 6
    shown = {path.stem for path in (ROOT / "docs" / "notebooks").glob("*.md")} - {"index"}
    assert shown == set(pages.names())
    index = (ROOT / "docs" / "notebooks" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(([\w-]+)\.md\)", index)) == shown


@pytest.mark.parametrize("name", pages.names())
def test_notebook_is_stored_without_outputs(name: str) -> None:
    book = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert cells and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.parametrize("name", pages.names())
def test_page_shows_the_code_of_its_notebook(name: str) -> None:
    text = (ROOT / "docs" / "notebooks" / f"{name}.md").read_text(encoding="utf-8")
    assert re.findall(r"^```python\n(.*?)\n```$", text, re.S | re.M) == pages.code_of(name)
    for target in re.findall(r'(?:\]\(|src=")(figures/[^)"]+)', text):
        assert (ROOT / "docs" / "notebooks" / target).is_file(), target


def test_quick_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell; the last expression of a cell is drawn, as a notebook does."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    drawn = []
    for code in pages.code_of(QUICK):
        tree = ast.parse(code)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, QUICK, "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), QUICK, "eval"), names)
            drawn += [shown._repr_html_()] if hasattr(shown, "_repr_html_") else []
    assert any("<svg" in one for one in drawn)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in pages.names() if name != QUICK])
def test_notebook_runs_in_a_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = pages.executed(name)
    page = pages.Page(name, book)
    assert page.files or any(cell.get("outputs") for cell in book.cells)
    assert "Traceback" not in page.text
