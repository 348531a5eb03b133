"""The formulas world: canonical LaTeX that mathtext can read, with each token at its stated region."""

from __future__ import annotations

import base64
import io
import re
import sys

import numpy as np
import pytest
from PIL import Image

from regard.data import Row
from regard.errors import MissingExtra, RegardError
from regard.worlds import world
from regard.worlds.formulas import boxes
from regard.worlds.formulas.typeface import Typeface

pytest.importorskip("matplotlib")
SMALL = {"train": 150, "dev": 30, "test": 60}
UNSEEN = {"{", "}", "_", "^"}


def pixels(row: Row) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(row["image"].partition(",")[2]))))


def places(row: Row) -> dict[int, tuple[float, ...]]:
    pairs = (place.partition(":") for place in row["places"].split())
    return {int(token): tuple(map(float, box.split(","))) for token, _, box in pairs}


def patch(row: Row, token: int) -> np.ndarray:
    picture = pixels(row)
    left, top, right, bottom = places(row)[token]
    high, wide = picture.shape
    return picture[round(top * high) : round(bottom * high), round(left * wide) : round(right * wide)]


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Row]]:
    return world("formulas", **SMALL).splits()


def test_the_same_seed_gives_the_same_rows_and_no_formula_twice(splits: dict[str, list[Row]]) -> None:
    again = world("formulas", **{**SMALL, "train": 20}).splits()
    assert [dict(row) for row in again["test"]] == [dict(row) for row in splits["test"]]
    assert {split: len(rows) for split, rows in splits.items()} == SMALL
    formulas = [row["formula"] for rows in splits.values() for row in rows]
    assert len(set(formulas)) == len(formulas)
    other = world("formulas", **SMALL, seed=2).splits()
    assert other["test"][0]["formula"] != splits["test"][0]["formula"]


def test_there_are_fractions_scripts_roots_sums_and_greek(splits: dict[str, list[Row]]) -> None:
    tokens = {token for row in splits["train"] for token in row["formula"].split()}
    assert {r"\frac", r"\sqrt", r"\sum", "_", "^", "(", r"\alpha", r"\pi", "=", "7"} <= tokens


def test_every_formula_is_latex_that_mathtext_reads(splits: dict[str, list[Row]]) -> None:
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    for row in splits["dev"]:
        formula = row["formula"]
        assert formula.count("{") == formula.count("}") and len(formula.split()) <= 24
        assert not re.search(r"\^ \{[^{}]*\} _", formula)  # the subscript comes first
        parsed = parser.parse("$" + re.sub(r" ?([_^{}]) ?", r"\1", formula) + "$")
        drawn = [token for token in formula.split() if token not in UNSEEN]
        bars = sum(token in (r"\frac", r"\sqrt") for token in drawn)
        signs = len(drawn) - drawn.count(r"\frac")  # a fraction is only a bar, a root a sign and a bar
        assert (len(parsed.glyphs), len(parsed.rects)) == (signs, bars), formula


def test_a_token_stands_at_its_place_and_nothing_else_is_drawn(splits: dict[str, list[Row]]) -> None:
    typeface = Typeface()
    for row in splits["test"]:
        tokens = row["formula"].split()
        found = places(row)
        assert set(found) == {number for number, token in enumerate(tokens) if token not in UNSEEN}
        left = np.zeros_like(pixels(row), dtype=bool)
        for number in found:
            seen = patch(row, number)
            if tokens[number] not in (r"\frac", r"\sqrt"):
                inks = [typeface.glyph(tokens[number], size).ink for size in (9, 12)]
                assert any(ink.shape == seen.shape and (255 - seen >= ink).all() for ink in inks)
            else:
                assert seen.min() == 0  # the bar
            x0, y0, x1, y1 = found[number]
            high, wide = left.shape
            left[round(y0 * high) : round(y1 * high), round(x0 * wide) : round(x1 * wide)] = True
        assert (pixels(row)[~left] == 255).all()


def test_pictures_are_gray_and_of_the_size_asked_for(splits: dict[str, list[Row]]) -> None:
    assert pixels(splits["test"][0]).shape == (32, 128)
    row = world("formulas", train=1, dev=1, test=1, height=40, width=160).splits()["train"][0]
    assert pixels(row).shape == (40, 160)


def test_a_fraction_has_its_parts_over_and_under_the_bar() -> None:
    typeface = Typeface()
    top, bottom = (boxes.symbol(token, typeface.glyph(sign, 9)) for token, sign in ((1, "x"), (2, "y")))
    box = boxes.fraction(0, top, bottom, 12)
    marks = {mark.token: mark for mark in box.marks}
    bar = marks[0]
    assert marks[1].y + len(marks[1].ink) < bar.y < marks[2].y
    assert bar.ink.shape[1] > max(top.width, bottom.width) and box.height > top.height + bottom.height


def test_a_minus_stands_above_the_line() -> None:
    typeface = Typeface()
    minus, digit = typeface.glyph("-", 12), typeface.glyph("1", 12)
    assert 0 < minus.above < digit.above and minus.below < 0  # between the baseline and the height of a digit


@pytest.mark.parametrize(("option", "value"), [("height", 20), ("width", 8), ("most", 2)])
def test_bad_options_are_named(option: str, value: int) -> None:
    with pytest.raises(RegardError, match=f"{option} is {value}, expected"):
        world("formulas", **{option: value})


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.mathtext", None)
    with pytest.raises(MissingExtra, match=r"matplotlib.*regard\[figures\]"):
        world("formulas", **SMALL).splits()
