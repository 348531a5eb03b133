"""Pages on a phone: nothing is cut off, what is wider scrolls, and a line says so."""

import re
from functools import cache
from xml.etree import ElementTree

import pytest
from browser import browser, measured
from drawn_heads import random_heads
from drawn_inputs import caption, film, spoken
from drawn_structures import spelled, story, tree
from drawn_traces import random_trace, tiny

from regard.inspect import Card, PageSection, figure, page, trace_page
from regard.inspect.shaded_table import ShadedCell, ShadedRow, ShadedTable
from regard.trace import Trace

WIDTHS = (320, 400, 800)
WORDS = [
    "Where",
    "is",
    "the",
    "old",
    "house",
    "of",
    "the",
    "president",
    ",",
    "she",
    "asked",
    "him",
    "twice",
    "yesterday",
]


@cache
def every_kind() -> str:
    """One page with small and wide figures, tables, code and text without blanks."""
    figures = [
        random_trace("through", [*"θɹuː", "</s>"], truth=True),
        random_trace(WORDS, WORDS[::-1]),
        tree(),
        spelled(),
        story(),
        caption(),
        film(),
        spoken(),
        random_heads(WORDS[:5], WORDS[:4]),
        Trace({"source": ["a"]}, ["out"]),
    ]
    numbers = [[f"system {n}", *(1234.5 * n for n in range(9))] for n in range(3)]
    shaded = ShadedTable(
        ["system", *"abcdefgh"],
        [ShadedRow("one", "small", [ShadedCell(f"{n}.00", "± 0.10", 0.1 * n) for n in range(8)])],
    )
    sections = [
        PageSection("x" * 90, "y" * 200, {"a fact": "9" * 40}),
        PageSection("One", figures=[figure(figures[1], title="")]),
        PageSection("All", figures=[Card(one, "a heading") for one in figures]),
        PageSection("Steps", steps=[Card(figure(tiny())), Card(figure(figures[1]))]),
        PageSection(
            "Tables", table=(["name", *map(str, range(9))], numbers), shaded=shaded, code="z " * 90 + "z" * 90
        ),
    ]
    return page("A page of everything", sections, subtitle="w" * 120)


@pytest.mark.skipif(browser() is None, reason="no Chromium is installed")
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_loses_nothing_at_any_width(tmp_path, dark):
    pages = {"every kind": every_kind(), "a trace": trace_page(random_trace("through", "θɹuː"))}
    found = measured(pages, tmp_path, widths=WIDTHS, dark=dark)
    assert len(found) == len(pages) * len(WIDTHS)
    for place, one in found.items():
        assert one["page"] <= one["width"] == place[1], place
        assert one["lost"] == [], place
        assert one["silent"] == [], place
        assert (sum(map(int, re.findall(r"\d+", one["paper"]))) < 200) == dark
        assert (sum(map(int, re.findall(r"\d+", one["ink"]))) > 400) == dark
    assert found["every kind", 320]["scrolling"] > 0  # the hint has been seen
    assert found["a trace", 400]["scrolling"] == 0  # a small figure fits and needs none


def rule(style: str, selector: str, name: str) -> str:
    """The value of a property in the first rule of a selector that has it."""
    for found in re.finditer(rf"(?:^|}})\s*{re.escape(selector)}{{([^}}]*)}}", style):
        value = re.search(rf"(?:^|;)\s*{name}:([^;]*)", found[1])
        if value:
            return value[1]
    raise AssertionError(f"no {name} for {selector}")


def computed(formula: str, *, width: float, room: float) -> float:
    """A length of the style sheet for a figure of `width` pixels in a container of `room` pixels."""
    text = formula.replace("var(--width)", str(width)).replace("100cqw", str(room))
    text = re.sub(r"([\d.]+)rem", lambda size: str(16 * float(size[1])), text).replace("0px", "0")
    clamp = lambda low, value, high: max(low, min(value, high))  # noqa: E731
    return eval(text, {"max": max, "min": min, "clamp": clamp, "__builtins__": {}})


@pytest.mark.parametrize("room", [300, 380, 760])
@pytest.mark.parametrize("width", [200.0, 390.0, 480.0, 520.0, 1200.0])
def test_a_figure_fits_or_scrolls_below_a_hint(room, width):
    style = every_kind()
    style = style[style.index("<style>") : style.index("</style>")]
    shown = computed(rule(style, ".drawing svg", "width"), width=width, room=room)
    hint = computed(rule(style, ".drawing::before", "max-height"), width=width, room=room)
    assert shown <= width
    assert 0.7 * width <= shown  # letters stay readable
    assert (shown <= room) or hint > 10
    assert (shown > room) or hint == 0
    assert "auto" in rule(style, ".scroller", "overflow-x") and "scroll" in rule(
        style, ".drawing::before", "content"
    )


def test_every_figure_of_a_page_has_a_scroller_that_knows_its_width():
    html = every_kind()
    held = re.findall(
        r'<div class="drawing" style="--width:([\d.]+)px"><div class="scroller"><svg ([^>]*)>', html
    )
    assert len(held) == html.count("<svg") > 10
    for width, attributes in held:
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', attributes)
        assert float(width) == float(box[1])
    assert 'content="width=device-width, initial-scale=1"' in html
    assert html.count("<table") == len(re.findall(r'<div class="scroll"><table', html))
    ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
