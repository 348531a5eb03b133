"""Labels: invisible characters are shown, unprintable ones replaced, long labels cut between characters."""

import itertools
import re
import time
import unicodedata
from pathlib import Path

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.inspect.writing import (
    clusters,
    linked,
    right_to_left,
    runs_right_to_left,
    shorten,
    shorten_words,
    signed,
    text_width,
    visible,
    wrap,
)


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (" ", "␣"),
        ("", "∅"),
        ("\n", "⏎"),
        ("a\tb", "a⇥b"),
        ("ि", "◌ि"),
        ("\x00", "\ufffd"),
        ("\ud800", "\ufffd"),
        ("क", "क"),
    ],
)
def test_every_piece_can_be_seen(piece, shown):
    assert visible(piece) == shown


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("cafe\u0301", ["c", "a", "f", "e\u0301"]),
        ("हिन्दी", ["हि", "न्दी"]),
        ("👩‍🚀a", ["👩‍🚀", "a"]),
        ("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"]),
        ("👍🏽!", ["👍🏽", "!"]),
    ],
)
def test_signs_stay_whole(text, parts):
    assert clusters(text) == parts


@given(st.text())
def test_clusters_are_the_text(text):
    assert "".join(clusters(text)) == text


@given(st.text(max_size=30), st.integers(0, 12))
def test_shortened_text_fits(text, width):
    short = shorten(visible(text), width)
    assert cell_len(short) <= width
    if cell_len(visible(text)) <= width:
        assert short == visible(text)


def test_direction_is_that_of_the_first_letter():
    assert right_to_left("שלום") and right_to_left("123 سلام")
    assert not right_to_left("hello שלום") and not right_to_left("123")
    assert runs_right_to_left(("שלום", "עולם", "</s>"))
    assert not runs_right_to_left(("the", "word", "שלום"))
    assert not runs_right_to_left(())


def test_wider_text_is_measured_wider():
    assert text_width("私", 10) > text_width("a", 10) > text_width("i", 10)
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("👩‍🚀", 10) == pytest.approx(13)


def test_no_word_is_wider_than_measured():
    """The widths of Helvetica, from the metrics that Adobe published."""
    metrics = Path(matplotlib.get_data_path(), "fonts", "afm", "phvr8a.afm").read_text(encoding="latin-1")
    widths = {chr(int(code)): int(width) for code, width in re.findall(r"^C (\d+) ; WX (\d+)", metrics, re.M)}
    words = [
        "attention",
        "encoder (gru, 256)",
        "h_t = tanh(W x + b)",
        "parameters",
        "Encoder",
        "minimum",
        "1,234,567",
    ]
    for word in words:
        true = sum(widths[letter] for letter in word) / 1000
        assert true <= text_width(word, 1.0) <= 1.2 * true, word


def test_titles_wrap_between_words_and_are_cut_after_the_last_line():
    assert wrap("one two three", 1000, 10) == ["one two three"]
    assert wrap("one two three four", 30, 10, lines=2) == ["one", "two…"]


def test_of_a_long_text_no_more_is_laid_out_than_is_shown():
    began = time.process_time()
    assert wrap("x" * 200_000, 30, 10, lines=2) == ["xxxxx", "xxxxx…"]
    assert wrap("x " * 200_000, 30, 10, lines=2) == ["x x x", "x x x…"]
    assert time.process_time() - began < 3


def test_writing_without_blanks_is_wrapped_too():
    assert wrap("私は学生です", 22, 10) == ["私は", "学生", "です"]
    assert "".join(wrap("a" * 50, 60, 10, lines=9)) == "a" * 50


def test_a_special_entry_fits_its_box_in_a_wide_font():
    assert text_width("<unk>", 1.0) > 3.4  # 3.52 in DejaVu Sans, which figures fall back on


def test_a_line_of_words_is_shortened_between_words():
    assert shorten_words("one three five", 14) == "one three five"
    assert shorten_words("one three five", 12) == shorten_words("one three five", 10) == "one three…"
    assert shorten_words("a wonderfully long word", 12) == "a wonderful…"
    assert shorten_words("一 二三四五六七八", 12) == "一 二三四五…"
    assert shorten_words("one", 0) == ""


def test_minus_is_a_minus():
    assert signed(-1.25, 2) == "−1.25"
    assert signed(float("-inf"), 2) == "−∞"


def test_a_sign_between_right_to_left_texts_stays_where_it_is():
    assert linked(["a", "b"], "→") == "a → b"
    for parts in (["שלום", "עולם"], ["cat", "שלום", "עולם"], ["שלום", "peace"]):
        line = linked(parts, "→")
        assert displayed(line).split(" → ") == [part[::-1] if right_to_left(part) else part for part in parts]


def displayed(line):
    """The line in display order, left to right, in a left-to-right paragraph. Runs of right-to-left letters,
    with neutral characters between them, are reversed (rules N1 and L2 of UAX 9, for lines of letters, blanks
    and signs)."""
    kinds = [unicodedata.bidirectional(character) for character in line]
    levels = []
    for place, kind in enumerate(kinds):
        if kind in ("L", "R", "AL"):
            levels.append(kind != "L")
            continue
        before = next((k for k in reversed(kinds[:place]) if k in ("L", "R", "AL")), "L")
        after = next((k for k in kinds[place:] if k in ("L", "R", "AL")), "L")
        levels.append(before != "L" and after != "L")
    runs = itertools.groupby(zip(line, levels, strict=True), key=lambda pair: pair[1])
    drawn = "".join("".join(c for c, _ in run)[:: -1 if turned else 1] for turned, run in runs)
    return drawn.replace("\u200e", "")
