"""Structures in a terminal: exact lines for small figures, never a line wider than the console."""

import io

import numpy as np
import pytest
from drawn_structures import any_heads, spelled, story, tree
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from regard.inspect import compare, figure
from regard.inspect.drawings.hops_terminal import fold
from regard.inspect.palette import DARK, Shade
from regard.inspect.terminal import render
from regard.trace import Arcs, Hops, Segments, Trace


def printed(scene, width=80, *, color=False):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=color, color_system="truecolor" if color else None,
        legacy_windows=False, _environ={},
    )  # fmt: skip
    console.print(scene)
    return console.file.getvalue()


def lines(trace, width=80):
    return [line.rstrip() for line in printed(figure(trace), width).splitlines()]


def test_arcs_are_drawn_above_the_words_and_missed_ones_below():
    assert lines(tree(marginals=False)) == [
        "            root",
        "             │╭─obj──╮",
        " ╭det╮╭nsubj╮││ ╭det╮│╔prep╗╭pobj╮",
        " ▼   │▼     │▼│ ▼   │▼║    ▼│    ▼",
        "the  dog    saw a   cat   with   me",
        "             ╎             ▲",
        "             ╰╌╌╌╌prep╌╌╌╌╌╯",
        "",
        "═══ not true   ╌╌╌ true, but missed",
    ]


def test_a_sentence_that_does_not_fit_is_listed():
    assert lines(tree(), width=30) == [
        "1 the  ← 2 dog det 1.00",
        "2 dog  ← 3 saw nsubj 1.00",
        "3 saw  ← root 1.00",
        "4 a    ← 5 cat det 1.00",
        "5 cat  ← 3 saw obj 1.00",
        "6 with ✗ 5 cat prep 0.60",
        "   true: 3 saw prep 0.25",
        "7 me   ← 6 with pobj 1.00",
        "also probable:",
        "  with ← 2 dog 0.15",
    ]


def test_without_color_segments_are_tenths_with_marks():
    assert lines(spelled()) == [
        "hundbellt → dog barks",
        "",
        "      hundbellt",
        "  dog 9999·····",
        "      ════",
        "barks 9···9999·",
        "      ━   ════┄",
        "",
        "━ best segments   ┄ true segments   ═ both",
        "· under 0.1, 1 from 0.1 … 9 from 0.9",
    ]


def test_letters_stand_on_their_shades():
    text = printed(figure(spelled()), color=True)
    red, green, blue = (int(DARK.hex(Shade(0.92))[i : i + 2], 16) for i in (1, 3, 5))
    assert f"48;2;{red};{green};{blue}" in text


def test_a_long_source_continues_below():
    shown = lines(spelled(), width=12)
    assert "     hundbel" in shown and "     lt" in shown


def test_hops_are_a_table():
    assert lines(story(), width=60) == [
        "where is the milk ? → garden  (0.75)",
        "",
        "                          hop 1  hop 2",
        "1 Ann took the milk.      ▸[.90]   .10",
        "  Bob slept.                .06  ▸ .50",
        "2 Ann went to the garden.   .04   [.40]",
        "",
        "▸ chosen   [ ] true fact",
    ]


def test_long_sentences_are_folded_and_nothing_is_lost():
    text = "one two three four five six seven"
    trace = Trace({"s": ["x"]}, ["y"], structures={"s": Hops([[0.5]], positions=[text])}, kind="label")
    shown = printed(figure(trace), width=30)
    assert " ".join(shown.replace("hop 1", "").replace(".50", "").split()) == f"y {text}"
    assert fold("私は学生です", 5) == ["私は", "学生", "です"]


def test_four_panels_print_one_after_another():
    trace = spelled()
    shown = printed(
        compare([("simple", Trace(trace.input, trace.output, trace.attention)), ("structured", trace)])
    )
    places = [shown.index(name) for name in ("truth", "simple", "structured")]
    assert places == sorted(places)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=9), min_size=1, max_size=12), st.integers(10, 100), st.booleans(), st.data())
def test_no_line_is_wider_than_asked(words, width, color, data):
    count = len(words)
    heads, true = (data.draw(any_heads(count)) for _ in range(2))
    console = Console(
        file=io.StringIO(), width=500, force_terminal=color, color_system="truecolor" if color else None
    )
    options = console.options.update_width(width)
    structures = (
        Arcs(heads, np.full((count + 1, count + 1), 0.3), words, true, words),
        Segments(np.full((count, count), 0.5), np.eye(count), np.eye(count)),
        Hops(np.full((9, count), 0.5), [0] * 9, [0]),
    )
    for structure in structures:
        scene = figure(Trace({"s": words}, words, structures={"s": structure}), title="")
        for line in render(scene, console, options):
            assert cell_len(line.plain) <= width
            assert "\n" not in line.plain


@pytest.mark.parametrize("structure", [Arcs([]), Segments(np.zeros((1, 0))), Hops(np.zeros((2, 0)))])
def test_nothing_says_so(structure):
    assert "(nothing to show)" in printed(figure(Trace({"s": []}, ["x"], structures={"s": structure})))
