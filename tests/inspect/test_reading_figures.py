"""Readable figures: axis names, diffuse attention, each model's output, scripts without a font."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from rich.console import Console

from regard.inspect import compare, figure, heatmap
from regard.inspect.scene import Text
from regard.trace import Segments, Trace


def texts(scene: object) -> list[str]:
    return [mark.text for mark in scene.walk() if isinstance(mark, Text)]  # type: ignore[attr-defined]


def diffuse() -> Trace:
    weights = np.full((2, 20), 0.04)
    weights[0, 3] = weights[1, 7] = 0.24
    return Trace({"source": [f"w{i}" for i in range(20)]}, ["a", "b"], {"source": weights})


def test_axes_have_names() -> None:
    assert {"source", "output"} <= set(texts(heatmap(diffuse())))


def test_diffuse_attention_is_scaled_to_its_largest_weight_and_the_legend_says_so() -> None:
    assert "0.24" in texts(heatmap(diffuse()))
    sharp = Trace({"source": ["x", "y"]}, ["a"], {"source": np.array([[0.9, 0.1]])})
    assert "1" in texts(heatmap(sharp))
    even = Trace({"source": list("abcdefghij")}, ["a"], {"source": np.full((1, 10), 0.1)})
    assert "0.2" in texts(heatmap(even))  # evenly spread attention has half the shade everywhere
    plain = Console(file=io.StringIO(), width=70, no_color=True)
    plain.print(figure(diffuse()))
    assert "9 from 0.216" in plain.file.getvalue()  # type: ignore[attr-defined]


def test_text_in_the_terminal_has_its_own_foreground() -> None:
    """If the theme is guessed wrong, text must not be white on white."""
    console = Console(file=io.StringIO(), width=70, force_terminal=True, color_system="truecolor")
    trace = Trace({"source": ["x", "y"]}, ["word"], {"source": np.array([[0.9, 0.1]])})
    console.print(figure(trace))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    (row,) = [line for line in shown.splitlines() if "word" in line and ".90" in line]
    assert "38;2;" not in row[: row.index("word")] and "38;2;" in row  # only the cells have explicit colors


def test_a_comparison_of_attention_draws_heatmaps_and_says_what_was_written() -> None:
    one = Trace({"s": ["x", "y"]}, ["A"], {"s": np.array([[0.9, 0.1]])}, hypotheses=[("A", -1.0)])
    two = Trace({"s": ["x", "y"]}, ["B"], {"s": np.array([[0.2, 0.8]])}, hypotheses=[("B", -1.0)])
    scene = compare([("one", one), ("two", two)])
    assert {"one → A", "two → B"} <= set(texts(scene))
    assert not any(text.startswith("inside") for text in texts(scene))
    assert {"one", "two"} <= set(texts(compare([("one", one), ("two", one)])))
    joint = Trace({"s": ["x", "y"]}, ["A"], {}, structures={"s": Segments(np.array([[0.9, 0.1]]))})
    assert any(text.startswith("inside") for text in texts(compare([("one", one), ("joint", joint)])))


def test_a_title_has_the_spaces_of_what_was_written() -> None:
    trace = Trace(
        {"word": list("knt")}, ["K", "<unk>", "T", "</s>"], {"word": np.full((4, 3), 1 / 3)},
        hypotheses=[("K <unk> T", -1.0)],
    )  # fmt: skip
    assert heatmap(trace).title == "knt → K <unk> T"


def test_signs_without_a_font_are_told_once() -> None:
    pytest.importorskip("matplotlib")
    from regard.inspect.pyplot import png

    strange = Trace({"s": ["\ue123", "\ue124"]}, ["a"], {"s": np.array([[0.5, 0.5]])})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        png(heatmap(strange), scale=0.5)
    told = [str(one.message) for one in caught if "font" in str(one.message)]
    assert len(told) == 1 and "boxes stand for them" in told[0] and ".svg" in told[0]
