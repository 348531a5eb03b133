"""Figures against numbers computed by hand."""

import itertools
import math

import numpy as np
import pytest
from drawn_traces import random_trace, tiny

from regard.errors import RegardError
from regard.inspect import (
    Matrix,
    alignment,
    bars,
    beam,
    confusion,
    curve,
    heatmap,
    highlight,
    labels,
    panels,
    shaded,
)
from regard.inspect.axes import tick_text, ticks
from regard.inspect.drawings.links import Links
from regard.inspect.drawings.ranking import Ranking
from regard.inspect.scene import Circle, Rect, Shape, Text
from regard.inspect.titles import join
from regard.trace import Glimpses, Trace
from regard.trace.prediction import Alternative


def tagged(scene, kind):
    return [
        mark for mark in scene.walk() if isinstance(mark, kind) and dict(mark.tags).get("value") is not None
    ]


def texts(scene):
    return [mark.text for mark in scene.walk() if isinstance(mark, Text)]


def test_a_long_sentence_keeps_small_cells_on_one_screen():
    scene = heatmap(random_trace(["w"] * 30, ["v"] * 30))
    assert scene.width < 900 and scene.height < 900


def test_heatmap_without_attention_says_what_to_use():
    with pytest.raises(RegardError, match=r"no attention to draw.*inspect\.figure"):
        heatmap(Trace({"s": ["a"]}, ["b"]))


def test_the_margin_shows_probabilities():
    assert [text for text in texts(heatmap(tiny())) if text in ("0.50", "1.00")] == ["0.50", "1.00"]


def test_four_panels_share_the_row_labels_of_the_first():
    trace = random_trace(["a", "b"], ["unique", "rows"], truth=True)
    truth = Matrix(tuple(trace.output), ("a", "b"), trace.truth["source"])
    four = [("truth", truth), ("simple", trace), ("sigmoid", trace), ("structured", trace)]
    scene = panels(four, title="Looking")
    shown = texts(scene)
    assert [name for name in shown if name in dict(four)] == ["truth", "simple", "sigmoid", "structured"]
    assert shown.count("unique") == 1
    assert len(tagged(scene, Rect)) == 4 * 4
    stacked = panels(four, across=2)
    assert texts(stacked).count("unique") == 2 and stacked.height > scene.height


def test_panels_refuse_a_trace_of_two_inputs():
    two = Trace({"a": ["x"], "b": ["y"]}, ["z"], {"a": [[1]], "b": [[1]]})
    with pytest.raises(RegardError, match=r"one input, this trace has 2 \(a, b\)"):
        panels([("both", two)])


def test_bars_are_as_high_as_their_values():
    scene = bars(
        ["short", "long"], {"with": [80, 40], "without": [60, math.nan]}, counts=[7, 9], y_name="BLEU"
    )
    drawn = {(dict(m.tags)["series"], dict(m.tags)["place"]): m for m in tagged(scene, Rect)}
    assert set(drawn) == {("with", "short"), ("with", "long"), ("without", "short")}
    tall = drawn["with", "short"]
    assert tall.height == pytest.approx(2 * drawn["with", "long"].height)
    assert tall.y + tall.height == pytest.approx(drawn["with", "long"].y + drawn["with", "long"].height)
    assert drawn["with", "short"].x < drawn["without", "short"].x < drawn["with", "long"].x
    assert {"n=7", "n=9", "BLEU", "with", "without"} <= set(texts(scene))


def test_lines_have_a_dot_for_each_value_and_break_at_gaps():
    scene = bars(["a", "b", "c", "d"], {"x": [1, 2, math.nan, 3]}, style="lines")
    assert len(tagged(scene, Circle)) == 3
    runs = [m for m in scene.walk() if isinstance(m, Shape) and m.width == 2.25]
    assert [len(run.steps) for run in runs] == [2]


def test_bars_refuse_values_that_do_not_match_their_places():
    with pytest.raises(RegardError, match="x has 3 values, expected one for each of the 2 positions"):
        bars(["a", "b"], {"x": [1, 2, 3]})


def test_a_log_is_read_from_its_file_or_its_folder(tmp_path):
    (tmp_path / "log.csv").write_text(
        "step,loss,rate,dev.loss,dev.bleu\n10,3.5,0.1,,\n20,2.5,0.1,2.75,41.5\n"
    )
    for place in (tmp_path, tmp_path / "log.csv"):
        scene = curve(place)
        charts = list(scene.contents())
        assert [chart.y_name for chart in charts] == ["loss", "bleu"]
        assert charts[0].series["train"] == pytest.approx([3.5, 2.5])
        assert charts[0].series["dev"] == pytest.approx([math.nan, 2.75], nan_ok=True)


def test_a_log_that_is_not_one_is_refused(tmp_path):
    with pytest.raises(RegardError, match="no training log here"):
        curve(tmp_path)
    (tmp_path / "log.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RegardError, match=r"columns step and loss; found: a, b"):
        curve(tmp_path)
    (tmp_path / "log.csv").write_text("step,loss\n1,x\n")
    with pytest.raises(RegardError, match="not a number"):
        curve(tmp_path)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.3, 3.4, [0, 1, 2, 3, 4]),
        (5, 5, None),
    ],
)
def test_ticks_are_round_and_cover_the_values(low, high, expected):
    found = ticks(low, high)
    assert found[0] <= low and found[-1] >= high and len(found) >= 2
    if expected is not None:
        assert found == pytest.approx(expected)


def test_thousands_are_short():
    assert [tick_text(v) for v in (0.5, 2000, 12000, 12345)] == ["0.5", "2000", "12k", "12345"]


def test_highlight_shades_words_up_to_the_largest_weight():
    trace = Trace({"s": ["a", "b", "c"]}, ["yes"], {"s": [[0.1, 0.4, 0.2]]}, kind="label")
    shades = [mark.fill.value for mark in tagged(highlight(trace), Rect)]
    assert shades == pytest.approx([0.25, 1.0, 0.5])


def test_each_glimpse_at_a_text_shades_it_anew_on_one_scale_and_is_a_row_of_the_heatmap():
    weights = np.array([[0.1, 0.7, 0.2], [0.35, 0.35, 0.3]])
    trace = Trace(
        {"s": ["a", "b", "c"]},
        ["yes"],
        {"s": weights.mean(axis=0, keepdims=True)},
        scores=[-0.1],
        kind="label",
        glimpses={"s": Glimpses(weights)},
    )
    drawn = trace.plot()
    shades = [mark.fill.value for mark in tagged(drawn, Rect)]
    assert shades == pytest.approx((weights / 0.7).ravel())
    texts = [mark.text for mark in drawn.walk() if isinstance(mark, Text)]
    assert [text for text in texts if "glimpse" in text] == ["glimpse 1", "glimpse 2"]
    rows = heatmap(trace)
    assert [float(dict(mark.tags)["value"]) for mark in tagged(rows, Rect)] == pytest.approx(weights.ravel())
    assert "glimpse 1 looks at b (0.70); glimpse 2 looks at a (0.35)" in rows.description


def test_shaded_refuses_a_word_without_a_weight():
    with pytest.raises(RegardError, match="2 words and 1 weights"):
        shaded(["a", "b"], np.array([1.0]))


def test_confusion_shades_by_row_and_shows_recall():
    scene = confusion(np.array([[6, 2], [0, 0]]), ["a", "b"], title="t")
    shades = [mark.fill.value for mark in tagged(scene, Rect)]
    assert shades == pytest.approx([0.75, 0.25, 0, 0])
    assert "6 of 8 right" in scene.description
    assert "0.75" in texts(scene)
    with pytest.raises(RegardError, match="expected 3 by 3 labels"):
        confusion(np.zeros((2, 2)), ["a", "b", "c"])


def test_links_reach_the_threshold_and_grow_with_the_weight():
    trace = Trace({"s": ["a", "b"]}, ["x", "y"], {"s": [[0.95, 0.05], [0.4, 0.6]]})
    drawn = tagged(alignment(trace), Shape)
    assert [float(dict(link.tags)["value"]) for link in drawn] == [0.4, 0.6, 0.95]
    assert [link.width for link in drawn] == sorted(link.width for link in drawn)
    assert isinstance(next(alignment(trace).contents()), Links)
    with pytest.raises(RegardError, match="no attention over 'z'; it has: s"):
        alignment(trace, over="z")


def test_shares_of_a_beam_are_those_of_its_probabilities():
    ranking = next(beam([Alternative("x", math.log(0.3)), Alternative("y", math.log(0.1))]).contents())
    assert isinstance(ranking, Ranking)
    assert ranking.shares == pytest.approx((0.75, 0.25))
    impossible = next(beam([("x", -math.inf)]).contents())
    assert isinstance(impossible, Ranking) and impossible.shares == (0.0,)


def test_labels_are_ordered_and_cut():
    ranking = next(labels({"b": 0.2, "a": 0.7, "c": 0.1}, most=2).contents())
    assert isinstance(ranking, Ranking)
    assert ranking.texts == ("a", "b") and ranking.scores == (0.7, 0.2)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["c", "a", "t", "</s>"], "cat"),
        (["AH", "T", "</s>"], "AH T"),
        (["▁the", "▁c", "at"], "the cat"),
        (["</s>"], "∅"),
        (["a", " ", "b"], "a b"),
    ],
)
def test_pieces_are_joined_as_people_write_them(pieces, text):
    assert join(pieces) == text


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["one", "three", "five", "seven"], "one three…"),
        (["▁one", "▁thr", "ee", "▁five"], "one three…"),
        ([*"one three", " ", *"five"], "one three f…"),
        (["<unk>", "<unk>", "<unk>"], "<unk><unk>…"),
        (["antidisestablishmentarianism"], "antidisesta…"),
        (["a", *[" "] * 20, *"bcdefghijklmnop"], "a bcdefghij…"),
    ],
)
def test_a_long_text_of_pieces_is_cut_between_two_of_them(pieces, text):
    assert join(pieces, longest=12) == text


def test_a_title_is_cut_between_words_of_the_output():
    trace = Trace({"s": ["x"]}, ["y"], {"s": [[1.0]]}, hypotheses=[("seven letters " * 20, 0.0)])
    assert trace.plot().title == "x → " + " ".join(["seven letters"] * 4) + "…"


@pytest.mark.parametrize(
    ("words", "turned"),
    [("main ghar ja raha hoon", True), ("mmmm a mmmm a mmmm", True), ("a b c d e", False)],
)
def test_labels_of_columns_do_not_touch(words, turned):
    paths = pytest.importorskip("matplotlib.textpath")
    source = words.split()
    scene = heatmap(Trace({"source": source}, ["going"], {"source": np.full((1, 5), 0.2)}))
    marks = [one for one in scene.walk() if isinstance(one, Text) and "column" in dict(one.tags)]
    assert [one.text for one in marks] == source and {one.rotate != 0 for one in marks} == {turned}
    if not turned:
        widths = [paths.TextPath((0, 0), one.text, size=one.size).get_extents().width for one in marks]
        ends = [(one.x - width / 2, one.x + width / 2) for one, width in zip(marks, widths, strict=True)]
        assert all(next_low - high >= 3 for (_, high), (next_low, _) in itertools.pairwise(ends))
