"""Figures in a terminal: exact lines for a small figure, never a line wider than the console."""

import io

import numpy as np
import pytest
from drawn_traces import random_trace, tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from regard.inspect import alignment, bars, beam, confusion, curve, figure, heatmap, highlight, pieces
from regard.inspect.palette import DARK, LIGHT, Shade
from regard.inspect.scene import Image, Scene
from regard.inspect.terminal import render
from regard.trace import Trace


def printed(scene, width=80, *, color=False):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=color, color_system="truecolor" if color else None,
        legacy_windows=False, _environ={},
    )  # fmt: skip
    console.print(scene)
    return console.file.getvalue()


def background(color):
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"48;2;{red};{green};{blue}"


def test_without_color_weights_are_numbers():
    assert printed(heatmap(tiny())).splitlines() == [
        "cat → K",
        "",
        "      c   a   t    p",
        "   K .90  ·   ·    0.50 ━━━",
        "</s>     .35 .65   1.00 ━━━━━━",
        "",
        "· under 0.1   blank: exactly 0",
    ]


def test_where_numbers_do_not_fit_weights_are_tenths():
    trace = Trace({"s": list("abcdefghij")}, ["x"], {"s": [[0.95, 0.05, 0, 0, 0, 0, 0, 0, 0, 0]]})
    assert printed(heatmap(trace, title=""), width=24).splitlines() == [
        "  a b c d e f g h i j",
        "x 9 ·",
        "",
        "· under 0.1   1 from 0.1",
        "… 9 from 0.9",
        "blank: exactly 0",
    ]


def test_columns_that_do_not_fit_continue_below_in_equal_bands():
    weights = np.full((1, 10), 0.01)
    weights[0, [0, 5]] = 0.95, 0.15
    trace = Trace({"s": list("abcdefghij")}, ["x"], {"s": weights})
    assert printed(heatmap(trace, title=""), width=16).splitlines()[:5] == [
        "  a b c d e",
        "x 9 · · · ·",
        "",
        "  f g h i j",
        "x 1 · · · ·",
    ]


def test_true_places_are_in_brackets():
    trace = Trace({"s": ["a", "b"]}, ["x"], {"s": [[0.75, 0.25]]}, truth={"s": [[0, 1]]})
    lines = printed(heatmap(trace, title="")).splitlines()
    assert lines[1] == "x  .75  [.25]"
    assert lines[-1] == "[ ] true position"


def test_long_words_are_written_downwards_and_stand_on_their_cells():
    words = ["me", *["abc"] * 20]
    lines = printed(heatmap(random_trace(words, ["x"]), title=""), width=60).splitlines()
    assert lines[0] == "    " + " ".join("a" * 20)
    assert lines[1].startswith("  m b b")
    assert lines[2].startswith("  e c c")


def test_color_is_the_shade_of_the_weight():
    text = printed(heatmap(tiny()), color=True)
    first = next(line for line in text.splitlines() if "K" in line and "48;2" in line)
    expected = [background(DARK.hex(Shade(weight))) for weight in (0.9, 0.06, 0.04)]
    assert [first.index(shade) for shade in expected] == sorted(first.index(shade) for shade in expected)


def test_a_true_zero_has_no_ground_where_a_small_weight_has_one_and_a_dot():
    row = next(line for line in printed(heatmap(tiny()), color=True).splitlines() if "</s>" in line)
    small = next(line for line in printed(heatmap(tiny()), color=True).splitlines() if ".90" in line)
    assert background(DARK.hex(Shade(0))) not in row and row.count("48;2") == 2
    assert small.count("48;2") == 3 and small.count("·") == 2
    dense = Trace({"s": ["a", "b"]}, ["x"], {"s": [[0.95, 0.05]]})
    text = printed(heatmap(dense), color=True)
    assert "·" not in text and "exactly 0" not in text


def test_light_terminals_get_the_light_scale(monkeypatch):
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert background(LIGHT.hex(Shade(0.9))) in printed(heatmap(tiny()), color=True)


def test_no_color_is_honoured():
    console = Console(
        file=io.StringIO(), width=80, force_terminal=True, _environ={"NO_COLOR": "1", "TERM": "xterm"}
    )
    console.print(heatmap(tiny()))
    text = console.file.getvalue()
    assert "48;" not in text and "·" in text


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(max_size=9), min_size=1, max_size=30),
    st.lists(st.text(max_size=9), min_size=1, max_size=5),
    st.integers(10, 100),
    st.booleans(),
    st.booleans(),
)
def test_no_line_is_wider_than_asked(source, output, width, truth, color):
    trace = random_trace(source, output, truth=truth)
    console = Console(
        file=io.StringIO(), width=500, force_terminal=color, color_system="truecolor" if color else None
    )
    options = console.options.update_width(width)
    scenes = (
        heatmap(trace, title=""), highlight(trace, title=""), alignment(trace), pieces(trace, title=""),
        beam([(output[0], -1.0)]), confusion(np.eye(len(output)), output),
        bars(output, {source[0]: [1.0] * len(output)}),
    )  # fmt: skip
    for scene in scenes:
        for line in render(scene, console, options):
            if scene.title and line.plain == scene.title:
                continue  # the console itself wraps a title
            assert cell_len(line.plain) <= width
            assert "\n" not in line.plain


def test_wide_signs_keep_the_columns_in_line():
    lines = printed(heatmap(random_trace(["私", "は"], ["I", "学生"]), title="")).splitlines()
    starts = {cell_len(line[: line.index("0.")]) for line in lines[1:3]}
    assert len(starts) == 1


def test_highlighted_words_say_their_tenths():
    trace = Trace({"s": ["a", "good", "film"]}, ["positive"], {"s": [[0.02, 0.8, 0.18]]}, kind="label")
    legend = "[1] … [9] weight in tenths of 0.8, the largest"
    assert printed(figure(trace)).splitlines() == ["positive", "", "a good[9] film[2]", "", legend]
    assert "tenths" not in printed(figure(trace), color=True)


def test_equal_weights_of_words_do_not_look_like_a_maximum():
    trace = Trace({"s": list("abcde")}, ["odd"], {"s": [[0.2, 0.19, 0.2, 0.2, 0.2]]}, kind="label")
    assert printed(figure(trace)).splitlines() == ["odd", "", "a b c d e", "", "all weights are about 0.2"]


def test_tags_stand_under_their_words():
    trace = Trace({"s": ["the", "dog"]}, ["DET", "NOUN"], kind="tags")
    assert printed(figure(trace)).splitlines() == ["the dog ", "DET NOUN"]


def test_links_name_the_strongest_source_first():
    trace = Trace({"s": ["go", "home"]}, ["ghar"], {"s": [[0.3, 0.7]]})
    assert printed(alignment(trace)).splitlines() == ["ghar ← home 0.70, go 0.30"]


def test_a_beam_marks_its_choice():
    first, second = printed(beam([("x y", -0.1), ("x", -2.0)]), width=40).splitlines()
    assert first == "▸  1   −0.100  x y"
    assert second == "   2   −2.000  x"


def test_bars_are_in_proportion():
    lines = printed(
        bars(["1-5", "6-9"], {"a": [50, 100], "b": [np.nan, 25]}, counts=[3, 4]), width=60
    ).splitlines()
    lengths = [line.count("━") + line.count("╸") / 2 for line in lines]
    assert lines[0].startswith("1-5  n=3  a  50.0 ")
    assert lines[1].split() == ["b", "–"]
    assert lengths[2] == pytest.approx(2 * lengths[0], abs=1) and lengths[2] == pytest.approx(
        4 * lengths[3], abs=2
    )


def test_curves_fall_when_the_loss_does():
    text = printed(curve({"step": [1, 2, 3], "loss": [3.0, 2.0, 1.0]})).splitlines()
    assert text == ["loss", "train █▅▁ 3 → 1"]


def test_a_confusion_prints_its_counts():
    lines = printed(confusion(np.array([[8, 2], [0, 5]]), ["no", "yes"])).splitlines()
    assert lines[-2].split()[:4] == ["no", "8", "2", "0.80"]
    assert lines[-1].split()[:4] == ["yes", "0", "5", "1.00"]


def test_pictures_become_half_blocks():
    pillow = pytest.importorskip("PIL.Image")
    buffer = io.BytesIO()
    picture = pillow.new("RGB", (2, 2), (255, 0, 0))
    picture.putpixel((0, 0), (0, 255, 0))
    picture.save(buffer, "PNG")
    text = printed(Scene(2, 2, (Image(0, 0, 2, 2, buffer.getvalue()),)), width=2, color=True)
    assert text.count("▀") == 2
    assert "38;2;0;255;0" in text and "48;2;255;0;0" in text
    assert printed(Scene(2, 2, (Image(0, 0, 2, 2, buffer.getvalue()),)), width=2).strip()


def test_print_writes_the_figure_to_the_console_given():
    console = Console(file=io.StringIO(), width=80)
    tiny().print(console)
    assert "cat → K" in console.file.getvalue()
