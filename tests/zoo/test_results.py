"""The results page has a figure for every zoo system, with command, seed, time and machine."""

from __future__ import annotations

import re
from pathlib import Path

from regard import zoo
from regard.course.lectures.overview import BEGIN, END, renewed

BOOK = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
WITHOUT_FIGURE: set[str] = set()
"""Systems without a figure on the page; the set may only shrink."""
WITHOUT_TIME: set[str] = set()
"""Systems with a figure but without a time; the set may only shrink."""


def sections() -> dict[str, str]:
    """{heading: text}, without the overview, which repeats figures of other sections."""
    before, _, rest = BOOK.partition(BEGIN)
    told = before + rest.partition(END)[2]
    parts = re.split(r"(?m)^(?=##)", told)[1:]
    return {part.partition("\n")[0].lstrip("# "): part.partition("\n")[2] for part in parts}


def is_command(line: str) -> bool:
    return (
        line.startswith("    ")
        and re.search(r"regard train|python bench|make demo|for \w+ in", line) is not None
    )


def tells_of(name: str, text: str, title: str = "") -> bool:
    """Whether a section is about a system: by title, training command, or a number next to its name."""
    if title.partition(" (")[0] == name:
        return True
    alone = rf"(?<![\w/.-]){re.escape(name)}(?![\w-])"
    for line in text.splitlines():
        if is_command(line) and re.search(alone, line):
            return True
        if f"`{name}`" in line and re.search(r"\d", line.replace(f"`{name}`", "")):
            return True
    return False


def has_command(text: str) -> bool:
    return (
        any(map(is_command, text.splitlines()))
        or re.search(r"`(regard train|python bench)", text) is not None
    )


def has_figure(text: str) -> bool:
    return re.search(r"(?m)^\|.*\d.*\||\*\*[^*]*\d[^*]*\*\*|\d %", text) is not None


def has_time(text: str) -> bool:
    return re.search(r"\d+(\.\d+)? (s|min|minutes|seconds)\b|\| seconds \|", text) is not None


def test_every_system_of_the_zoo_has_a_figure_with_its_command() -> None:
    told = {
        name
        for name in zoo.names()
        if any(
            tells_of(name, text, title) and has_command(text) and has_figure(text)
            for title, text in sections().items()
        )
    }
    missing = set(zoo.names()) - told
    assert missing == WITHOUT_FIGURE, (
        f"without a figure and not on the list: {sorted(missing - WITHOUT_FIGURE)}; "
        f"on the list although they have one: {sorted(WITHOUT_FIGURE - missing)}"
    )


def test_every_figure_has_the_time_it_took() -> None:
    timed = {
        name
        for name in zoo.names()
        if any(
            tells_of(name, text, title) and has_command(text) and has_time(text)
            for title, text in sections().items()
        )
    }
    missing = set(zoo.names()) - timed - WITHOUT_FIGURE
    assert missing == WITHOUT_TIME, sorted(missing ^ WITHOUT_TIME)


def test_the_book_says_on_which_machine_and_with_which_seed() -> None:
    said = BOOK.partition("##")[0]
    assert re.search(r"GPU runs: .*CPU runs: \d+ cores", said, re.DOTALL) and "Seeds" in said


def test_the_overview_is_up_to_date() -> None:
    assert renewed(BOOK) == BOOK, "run `python -m regard.course.lectures.overview docs/results.md`"


def test_a_section_without_a_number_does_not_count() -> None:
    """The rules themselves, on made-up sections."""
    trained = "\n    regard train brown-fox      # 20 s\n\n"
    assert tells_of("brown-fox", trained) and has_command(trained) and has_time(trained)
    assert not has_figure(trained) and has_figure(trained + "Exact: **97 %**.\n")
    assert not tells_of("brown", trained) and not tells_of("fox", trained)
    assert not tells_of("brown-fox", "\n    regard train recipes/brown-fox.yaml\n")
    assert not tells_of("brown-fox", "`brown-fox` is not trained.") and tells_of(
        "brown-fox", "`brown-fox`: 3 %"
    )
