"""Images in a terminal: exact signs without color, pixels with color, never a line too wide."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from drawn_inputs import answered, caption, film, glimpsed, spoken
from rich.cells import cell_len
from test_terminal import printed

from regard.inspect import Example, figure, gallery
from regard.inspect.palette import DARK


def pixel(red, green, blue):
    return f"2;{red};{green};{blue}"


def truth_pixel():
    color = DARK.hex("truth")
    return pixel(*(int(color[i : i + 2], 16) for i in (1, 3, 5)))


def test_without_color_each_word_has_its_grid_in_tenths_and_the_truth_in_brackets():
    lines = printed(figure(caption()), width=40).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("red ✓"))
    assert lines[0] == "red blue square"
    assert lines[start : start + 4] == [
        "red ✓    blue ✗   square",
        " ·[9]·    9 · ·    9 9 9",
        " · 2 ·    · · ·    9 9 9",
        " · · ·    · ·[1]   9 9 9",
    ]
    assert "[ ] true region" in "\n".join(lines) and "✓ most attended" in "\n".join(lines)


def test_without_color_each_glimpse_has_its_grid():
    lines = printed(figure(glimpsed()), width=40).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("glim"))
    assert lines[0] == "which color ? → red  (0.90)"
    assert [line.split() for line in lines[start + 1 : start + 4]] == [
        ["·[9]·", "9", "·", "·"],
        ["·", "2", "·", "·", "·", "·"],
        ["·", "·", "·", "·", "·[1]"],
    ]


def test_the_ground_of_a_picture_stays_blank_without_color():
    lines = printed(figure(caption()), width=40).splitlines()
    top, *picture, bottom = lines[2:18]
    assert top == f"┌{'─' * 28}┐" and bottom == f"└{'─' * 28}┘"
    assert picture[0].strip("│").strip() and picture[13].strip("│").strip()
    assert picture[6] == f"│{' ' * 28}│"


def test_in_color_pictures_are_half_blocks_and_the_truth_is_framed():
    text = printed(figure(caption()), color=True)
    assert pixel(213, 60, 40) in text and "▀" in text
    assert truth_pixel() in text
    assert truth_pixel() not in printed(figure(caption(truth=False)), color=True)


def test_two_hundred_and_fifty_six_colors_do():
    # In a separate process, because rich caches the codes of a style.
    program = (
        "from drawn_inputs import caption; from regard.inspect import figure; from rich.console import Console\n"
        "Console(width=80, force_terminal=True, color_system='256', _environ={}).print(figure(caption()))"
    )
    paths = [str(Path(__file__).parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"},
        timeout=60,
        check=True,
    )
    assert "38;5;" in done.stdout and "38;2;" not in done.stdout and "▀" in done.stdout


def test_films_without_color_have_tenths_under_the_frames_and_strokes_under_the_truth():
    lines = printed(figure(film(frames=3)), width=40).splitlines()
    assert [line.split() for line in lines if line.startswith((" ball", "jumps"))] == [
        ["ball", "3", "3", "3", "0.50"],
        ["jumps", "·", "·", "9", "0.75"],
    ]
    strokes = next(line for line in lines if "┄" in line and "true" not in line)
    row = next(line for line in lines if line.startswith("jumps"))
    assert strokes.index("┄") <= row.index("9") < len(strokes)


def test_a_sound_has_its_length_under_it_and_a_row_for_each_piece():
    lines = printed(figure(spoken()), width=30).splitlines()
    assert any(line.startswith("  0") and line.endswith("0.80 s") for line in lines)
    n, o = (next(line for line in lines if line.startswith(f"{letter} ")) for letter in "no")
    assert n.split()[1:] == ["9", "·", "·", "·"] and o.split()[1:] == ["·", "·", "9", "·"]


@pytest.mark.parametrize("width", [8, 40, 80])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize(
    "trace",
    [
        caption(),
        caption(dark=True),
        answered(),
        glimpsed(),
        film(),
        film(frames=90, positions=45),
        spoken(),
        spoken("long, spelled", 700, 120),
    ],
)
def test_no_line_is_wider_than_the_console(trace, width, color):
    text = printed(figure(trace), width=width, color=color)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(cell_len(line) for line in plain.splitlines()) <= width
    shown = [word for word in trace.output if word != "</s>"]
    if width >= 40:
        assert all(word in plain for word in shown if word != " ")


def test_a_gallery_in_the_terminal_tells_right_from_wrong_without_color():
    text = printed(
        gallery(
            [Example(caption(), "red blue square", ("red blue square",)), Example(film(), "ball", ("jumps",))]
        )
    )
    lines = [line.rstrip() for line in text.splitlines()]
    order = ["Right", "✓ red blue square", "Wrong", "✗ ball", "true: jumps"]
    assert [line for line in lines if line in order] == order
    assert np.array_equal(sorted(map(lines.index, order)), [lines.index(one) for one in order])
