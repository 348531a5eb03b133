"""Documents as figures: shaded by the product of both levels, folded if long, safe for any text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from regard.errors import RegardError
from regard.inspect.comparison import compare
from regard.inspect.drawings.document import document
from regard.trace import SentenceWords, Trace

HOSTILE = "<script>alert(1)</script>&\x1b[31m\u202e"


def made(sentences: int = 3, *, key: int = 1, text: str = "fine", weights: bool = True) -> Trace:
    """Each sentence is `word text ￭.`; the key sentence has weight 0.9, and its text 0.8 of that."""
    words = [piece for number in range(sentences) for piece in (f"w{number}", text, "￭.")]
    own = np.tile([0.1, 0.8, 0.1], sentences)
    looks = np.full(sentences, 0.1 / max(sentences - 1, 1))
    looks[key] = 0.9
    truth = np.zeros(3 * sentences, dtype=int)
    truth[3 * key + 1] = 1
    found = SentenceWords(words, np.full(sentences, 3), own if weights else None, looks, truth)
    pieces = [f"w{number} {text}." for number in range(sentences)]
    return Trace(
        {"document": pieces},
        ["good"],
        {"document": looks[None]},
        scores=np.array([-0.1]),
        kind="label",
        structures={"document": found},
    )


def printed(trace: Trace, width: int = 80, *, color: bool = False) -> str:
    console = Console(width=width, force_terminal=color, color_system="truecolor" if color else None)
    with console.capture() as capture:
        console.print(trace.plot())
    return capture.get()


def test_words_are_shaded_by_the_product_of_both_levels() -> None:
    trace = made()
    assert trace.structures["document"].shares[4] == pytest.approx(0.9 * 0.8)  # type: ignore[union-attr, index]
    tree = ElementTree.fromstring(trace.plot().svg())
    values = [float(one.get("data-value", "nan")) for one in tree.iter("{http://www.w3.org/2000/svg}rect")]
    assert max(value for value in values if value == value) == pytest.approx(0.72)
    assert "w1 fine[9!]." in printed(trace).replace("w1[1]", "w1").replace("[1]", "")
    assert "Most attended: sentence 2 of 3 (0.90)." in trace.plot().description


@pytest.mark.parametrize("width", [16, 40, 80])
@pytest.mark.parametrize("color", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, color: bool) -> None:
    text = printed(made(40, text="a-rather-long-word-that-must-be-cut"), width, color=color)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(map(len, plain.splitlines())) <= width


def test_a_long_document_is_folded_and_stays_small(tmp_path: Path) -> None:
    trace = made(300, key=250)
    text = printed(trace)
    assert len(text.splitlines()) < 20
    assert "⋯ 248 sentences, .08 in all" in text and "251 .90▸" in text
    for name, most in (("a.svg", 30_000), ("a.html", 120_000)):
        trace.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size < most
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("<details>") == 2
    assert all(f">w{number} " in page or f">w{number}<" in page for number in range(300))


def test_a_short_document_is_shown_whole() -> None:
    page = made(16).html()
    assert "<details>" not in page
    assert "⋯" not in printed(made(16))


def test_what_a_document_says_is_never_markup(tmp_path: Path) -> None:
    trace = made(20, text=HOSTILE)
    page, drawing, text = trace.html(), trace.plot().svg(), printed(trace)
    assert "<script>alert" not in page and "\x1b" not in page + drawing + text and "\u202e" not in text
    ElementTree.fromstring(drawing)


def test_sentences_alone_and_nothing_at_all() -> None:
    only = made(weights=False)
    assert ".90" in printed(only) and "[9" not in printed(only).replace("[9!] evidence", "")
    words: SentenceWords = only.structures["document"]  # type: ignore[assignment]
    unread = SentenceWords(words.words, words.counts)
    trace = Trace(
        {"document": only.input["document"]}, ["good"], kind="label", structures={"document": unread}
    )
    assert "good" in printed(trace)
    with pytest.raises(RegardError, match="the trace has no document"):
        document(Trace({"x": ["a"]}, ["b"]))


def test_two_models_side_by_side() -> None:
    scene = compare([("one", made(key=0)), ("other", made(key=2))])
    assert [one.title for one in scene.contents()] == ["one", "other"]  # type: ignore[union-attr]
    assert "one: Most attended: sentence 1 of 3" in scene.description
    assert "other: Most attended: sentence 3 of 3" in scene.description


def test_a_trace_with_words_goes_through_json() -> None:
    trace = made(5)
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert again.to_dict() == trace.to_dict()
    assert printed(again) == printed(trace)
    with pytest.raises(RegardError, match="the sentences have 4 in all"):
        SentenceWords(["a"], np.array([4]))


def test_a_narrow_terminal_shows_the_whole_legend() -> None:
    text = " ".join(printed(made(), 26).split())
    assert (
        "[1] … [9] weight in tenths" in text
        and "▸ sentence with evidence" in text
        and "[9!] evidence" in text
    )
