"""A report in a browser: nothing is loaded, hostile texts stay texts, tables sort and filter; also narrow and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.inspect import PageSection
from regard.report import Report, RunSummary, RunTable
from tests.inspect.drawn_traces import random_trace

HOSTILE = "</script><img src=x onerror=document.title='owned'>"
WORDS = ["ten", "nine", HOSTILE, "two", "x" * 300, *(f"word {number}" for number in range(40))]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [[number, word, (number * 7) % 45] for number, word in enumerate(WORDS, 1)]
    tables = PageSection("Answers", HOSTILE, table=(("row", "word", "score"), rows), sortable=True)
    return Report(HOSTILE, [tables]).save(tmp_path_factory.mktemp("page") / "report.html")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_the_page_is_whole_sorts_and_filters(chromium: Any, page_file: Path, width: int, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert asked == [page_file.as_uri()] and said == []
    assert page.title() == HOSTILE and page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    first = page.locator("tbody tr td:first-child")
    heads = page.locator("th button")
    heads.nth(2).click()
    order = sorted(range(1, 46), key=lambda number: (number * 7) % 45)
    assert first.all_text_contents() == [str(number) for number in order]
    heads.nth(2).click()
    assert first.all_text_contents() == [str(number) for number in reversed(order)]
    assert page.locator("th").nth(2).get_attribute("aria-sort") == "descending"

    shown = page.locator("tbody tr:visible td:nth-child(2)")
    page.locator("input[type=search]").fill("WORD ord 1")
    texts = [f"{number}{word}{(number * 7) % 45}" for number, word in enumerate(WORDS, 1)]
    wanted = [word for word, text in zip(WORDS, texts, strict=True) if "word" in text and "1" in text]
    assert sorted(shown.all_text_contents()) == sorted(wanted)
    page.locator("input[type=search]").fill("nine")
    assert shown.all_text_contents() == ["nine"]
    page.close()


def test_a_figure_tells_under_the_pointer_and_to_keys(chromium: Any, tmp_path: Path) -> None:
    trace = random_trace(["a", "b", "c"], ["X", "Y"])
    section = PageSection("Looks", "Made by `regard report`.", figures=[trace])
    path = Report("figures", [section]).save(tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": 1000, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    assert page.locator("p code").all_text_contents() == ["regard report"]
    weights = trace.attention["source"]
    told = f"Y ← b  {weights[1, 1]:.2f}"
    cell = page.locator('.rg-still [data-row="1"] [data-column="1"][data-n]')
    cell.hover()
    tip = page.locator(".rg-tip")
    assert tip.text_content() == told and tip.is_visible()
    cell.focus()
    page.keyboard.press("ArrowUp")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == f"X ← b  {weights[0, 1]:.2f}"
    assert page.locator("svg [data-n] > title").count() == 0 and said == []
    page.close()


def test_without_scripts_the_table_is_there(chromium: Any, page_file: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("tbody tr").count() == len(WORDS)
    context.close()


def test_a_table_of_runs_is_a_page_too(chromium: Any, tmp_path: Path) -> None:
    runs = [RunSummary(Path(HOSTILE), {"bleu": 12.0}, "test", settings={"outputs.y.type": "text"})]
    page = chromium.new_page()
    page.goto(RunTable(runs).save(tmp_path / "runs.html").as_uri())
    assert page.locator("td").first.text_content() == HOSTILE and page.locator("img").count() == 0
    page.close()
