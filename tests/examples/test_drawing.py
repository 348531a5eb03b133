"""examples/draw_nlvr.py and draw_formulas.py: statements and regions agree with the pixels."""

from __future__ import annotations

import io
import itertools
import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

EXAMPLES = Path(__file__).parents[2] / "examples"
COLORS = {"yellow": (255, 255, 0), "black": (0, 0, 0), "blue": (0, 153, 255)}
WORDS = {word: number for number, word in enumerate(["no", "one", "two", "three", "four", "five", "six"])}


@pytest.fixture(scope="module")
def nlvr() -> Any:
    sys.path.insert(0, str(EXAMPLES))
    try:
        import draw_nlvr
    finally:
        sys.path.remove(str(EXAMPLES))
    return draw_nlvr


def seen(picture: bytes) -> list[np.ndarray]:
    """(100, 100) for each box: 0 background, 1 yellow, 2 black, 3 blue."""
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
    found = np.zeros(pixels.shape[:2], dtype=int)
    for number, color in enumerate(COLORS.values(), 1):
        found[(pixels == color).all(-1)] = number
    return [found[:, left : left + 100] for left in (0, 150, 300)]


def towers(picture: bytes) -> list[list[str]]:
    """The colors of each tower from its base, read from the middle column of its box."""
    names = [None, *COLORS]
    return [
        [str(names[box[row, 50]]) for row in (90, 69, 48, 27) if names[box[row, 50]] is not None]
        for box in seen(picture)
    ]


def said_of_towers(text: str, shown: list[list[str]]) -> bool | None:
    """The truth of statements of three kinds; None for other statements."""
    if match := re.fullmatch(r"there (?:is|are) exactly (\w+) (\w+) blocks?", text):
        wanted = int(match[1]) if match[1].isdecimal() else WORDS[match[1]]
        return sum(one.count(match[2]) for one in shown) == wanted
    if match := re.fullmatch(r"there is a (\w+) block as the (top|base) of a tower", text):
        return any(one[-1 if match[2] == "top" else 0] == match[1] for one in shown)
    if match := re.fullmatch(r"there is no (\w+) block (?:above|on|over|on top of) a (\w+) block", text):
        return not any(pair == (match[2], match[1]) for one in shown for pair in itertools.pairwise(one))
    return None


def test_statements_about_towers_are_true_of_the_pixels(nlvr: Any) -> None:
    rng, checked = random.Random(3), {True: 0, False: 0}
    while min(checked.values()) < 25:
        statement, scene = nlvr.tower_statement(rng), nlvr.tower_scene(rng)
        if said_of_towers(statement.text, [["yellow"]]) is not None:
            truth = said_of_towers(statement.text, towers(nlvr.picture(scene)))
            assert truth is not None
            assert statement.holds(scene) == truth, statement.text
            checked[truth] += 1


def test_statements_about_edges_are_true_of_the_pixels(nlvr: Any) -> None:
    """An item that touches an edge colors a pixel there; otherwise the edge stays gray."""
    rng, checked = random.Random(4), {True: 0, False: 0}
    edge = np.zeros((100, 100), dtype=bool)
    edge[[0, -1]] = edge[:, [0, -1]] = True
    while min(checked.values()) < 10:
        statement, scene = nlvr.scattered_statement(rng), nlvr.scattered_scene(rng)
        match = re.fullmatch(r"there is (a|no) (\w+) (?:item|object) touching (?:the|an) \w+", statement.text)
        if match:
            number = [*COLORS].index(match[2]) + 1
            truth = any((box[edge] == number).any() for box in seen(nlvr.picture(scene))) == (match[1] == "a")
            assert statement.holds(scene) == truth, statement.text
            checked[truth] += 1


@pytest.mark.thorough
def test_each_statement_has_a_true_and_a_false_picture(nlvr: Any) -> None:
    rng = random.Random(5)
    for _ in range(60):
        statement, true, false = nlvr.pair(rng)
        assert statement.holds(true) and not statement.holds(false)
        for scene in (true, false):  # no item hides another
            inked = sum((box > 0).sum() for box in seen(nlvr.picture(scene)))
            alone = [seen(nlvr.picture([[item], [], []]))[0] for box in scene for item in box]
            assert inked == sum((one > 0).sum() for one in alone)


def test_the_places_of_signs_hold_their_ink() -> None:
    pytest.importorskip("matplotlib")
    sys.path.insert(0, str(EXAMPLES))
    try:
        import draw_formulas
    finally:
        sys.path.remove(str(EXAMPLES))
    tokens = r"x _ { 1 } = \frac { a } { b } + c ^ { 2 }"
    picture, written = draw_formulas.placed(tokens)
    ink = np.asarray(Image.open(io.BytesIO(picture))) < 128
    places = {}
    for one in written.split():
        number, box = one.split(":")
        left, top, right, bottom = (float(x) for x in box.split(","))
        places[tokens.split()[int(number)]] = (left * 480, top * 64, right * 480, bottom * 64)
    assert set(places) == {"x", "1", "=", "a", "b", "+", "c", "2"}
    for left, top, right, bottom in places.values():
        assert ink[int(top) : int(bottom) + 1, int(left) : int(right) + 1].any()
    assert [places[sign][0] for sign in "x1=a+c2"] == sorted(places[sign][0] for sign in "x1=a+c2")
    assert places["a"][3] < places["b"][1] + 4 and places["1"][1] > places["x"][1] > places["2"][1]
    inside = np.zeros_like(ink)
    for left, top, right, bottom in places.values():
        inside[max(0, int(top) - 1) : int(bottom) + 3, max(0, int(left) - 1) : int(right) + 3] = True
    bar = ink.sum(1).argmax()
    assert not (ink & ~inside)[[row for row in range(64) if abs(row - bar) > 1]].any()
