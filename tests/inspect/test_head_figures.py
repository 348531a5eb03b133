"""The attention of each head in figures, in the terminal, on pages and in JSON."""

import io
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from drawn_heads import ENCODER, ITSELF, OVER, random_heads, tiny_heads
from drawn_traces import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from regard.errors import RegardError
from regard.inspect import heads_figure
from regard.inspect.drawings.heads import HeadPanels
from regard.inspect.scene import Group, Rect, Shape, Text
from regard.inspect.terminal import render
from regard.trace import LayerHeads, Trace

NAMESPACE = "{http://www.w3.org/2000/svg}"
anything = st.text(alphabet=st.characters(codec=None), max_size=6)


def texts(scene):
    return [mark.text for mark in scene.walk() if isinstance(mark, Text)]


def panels(scene):
    return [mark for mark in scene.walk() if isinstance(mark, Group) and mark.kind == "matrix"]


def weights_of(panel):
    """{(row, column): (value, fill, x)} of a panel."""
    rows = [
        row
        for group in panel.marks
        if isinstance(group, Group) and group.kind == "rows"
        for row in group.marks
    ]
    return {
        (int(dict(row.tags)["row"]), int(dict(cell.tags)["column"])): (
            float(dict(cell.tags)["value"]),
            cell.fill,
            cell.x,
        )
        for row in rows
        for cell in row.marks
    }


def printed(trace, width=80, *, color=False, **how):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=color, color_system="truecolor" if color else None,
        legacy_windows=False, _environ={},
    )  # fmt: skip
    trace.print(console, heads=True, **how)
    return console.file.getvalue()


def test_every_weight_of_every_head_is_drawn_and_true_zeros_are_empty():
    trace = tiny_heads()
    first, second, *_ = panels(heads_figure(trace))
    for panel, weights in zip((first, second), trace.heads[ENCODER].weights, strict=True):
        found = weights_of(panel)
        assert {place: value for place, (value, _, _) in found.items()} == pytest.approx(
            dict(np.ndenumerate(weights))
        )
    assert {place for place, (_, fill, _) in weights_of(first).items() if fill == "paper"} == {
        (row, column) for row in range(3) for column in range(3) if row != column
    }
    assert "paper" not in [fill for _, fill, _ in weights_of(second).values()]


def test_layers_heads_axes_and_pieces_are_named():
    scene = tiny_heads().plot(heads=True)
    shown = texts(scene)
    assert [text for text in shown if text in (ENCODER, ITSELF)] == [ENCODER, ITSELF]
    assert shown.count("head 1") == shown.count("head 2") == 2
    assert (
        shown.count("queries") == 2 and "positions of source" in shown and "positions of the output" in shown
    )
    assert shown.count("a") == 3  # a row of the first panel and a column of both
    assert shown.count("exactly 0") == 1 and scene.title == "cat → K"
    assert [type(content) for content in scene.contents()] == [HeadPanels, HeadPanels]


def test_the_description_tells_the_strongest_weight_and_the_zeros():
    told = heads_figure(tiny_heads(), ENCODER).description
    assert told == (
        "source: encoder layer 1: head 1 most strongly c at c (1.00), 67% of the weights are 0; "
        "head 2 most strongly c at c (0.95)."
    )


@pytest.mark.parametrize("layers", [2, "2", ITSELF, [ITSELF], [2, ITSELF]])
def test_a_layer_is_chosen_by_name_or_number(layers):
    assert [content.title for content in heads_figure(tiny_heads(), layers).contents()] == [ITSELF]


@pytest.mark.parametrize("layers", [0, 3, "3", "-1", "decoder", "²"])
def test_an_unknown_layer_is_refused_with_those_there_are(layers):
    with pytest.raises(RegardError, match=r"no layer .* Choose from 1 \(source: encoder layer 1\), 2 \(dec"):
        heads_figure(tiny_heads(), layers)


def test_a_trace_without_heads_says_what_to_use():
    with pytest.raises(RegardError, match=r"no heads to draw.*inspect\.figure"):
        tiny().plot(heads=True)


def test_heads_that_are_wide_together_wrap_and_keep_their_columns_in_line():
    words = [f"word{i}" for i in range(30)]
    scene = heads_figure(random_heads(words, words, heads=8, layers=1), 1)
    shown = texts(scene)
    assert scene.width < 1100
    assert [text for text in shown if text.startswith("head")] == [f"head {i}" for i in range(1, 9)]
    assert shown.count("queries") == 2  # on two lines
    assert shown.count("word7") == 4 + 2  # above the panels of the first line, and left of each line


def test_labels_of_long_inputs_are_thinned_and_never_smaller_than_seven():
    words = [f"w{i}" for i in range(120)]
    scene = heads_figure(random_heads(words, ["x"], heads=1, layers=1), 1)
    sizes = {mark.size for mark in scene.walk() if isinstance(mark, Text)}
    assert min(sizes) >= 7 and scene.width < 600
    shown = texts(scene)
    assert "w0" in shown and "w1" not in shown and 20 <= sum(text.startswith("w") for text in shown) < 120


def test_large_figures_have_one_mark_for_each_shade_and_leave_zeros_out():
    words = [f"w{i}" for i in range(30)]
    trace = random_heads(words, words, heads=8, layers=2, sparse=True)
    scene = heads_figure(trace)
    paths = [mark for mark in scene.walk() if isinstance(mark, Shape)]
    assert not any(isinstance(mark, Rect) and mark.tip for mark in scene.walk())
    assert len(paths) < 24 * 101
    drawn = 0.0
    for path in paths:
        corners = [numbers for _, numbers in path.steps if numbers]
        for top_left, _, foot, _ in zip(*[iter(corners)] * 4, strict=True):
            drawn += (foot[0] - top_left[0]) * (foot[1] - top_left[1])
    nonzero = sum(int((looks.weights > 0).sum()) for looks in trace.heads.values())
    assert drawn == pytest.approx(nonzero * 7 * 7)
    assert len(scene.svg()) < 600_000


def test_right_to_left_positions_begin_on_the_right():
    scene = heads_figure(random_heads("שלום", ["peace"], layers=1))
    for panel in panels(scene):
        places = {column: x for (row, column), (_, _, x) in weights_of(panel).items() if row == 0}
        assert places[0] > places[1] > places[2] > places[3]


def test_a_layer_named_by_a_right_to_left_input_keeps_its_order():
    looks = LayerHeads("מקור", np.ones((1, 1, 1)), ["א"], ["א"])
    scene = heads_figure(Trace({"מקור": ["א"]}, ["a"], heads={"מקור: encoder layer 1": looks}))
    [title] = [mark for mark in scene.walk() if isinstance(mark, Text) and "layer" in mark.text]
    assert title.text.startswith("\u200e")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(anything, min_size=1, max_size=4),
    st.lists(anything, min_size=1, max_size=4),
    anything,
    st.integers(10, 90),
    st.booleans(),
)
def test_any_piece_and_name_gives_well_formed_xml_and_lines_that_fit(source, output, name, width, color):
    trace = random_heads(source, output, layers=1)
    trace = Trace(trace.input, trace.output, heads={name: trace.heads[OVER]})
    scene = trace.plot(heads=True)
    ElementTree.fromstring(scene.svg())
    console = Console(
        file=io.StringIO(), width=500, force_terminal=color, color_system="truecolor" if color else None
    )
    lines = list(render(scene, console, console.options.update_width(width)))
    for line in lines[1:]:  # the console itself wraps a title
        assert cell_len(line.plain) <= width and "\n" not in line.plain


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 2), (2, 2, 0)])
def test_nothing_to_show_is_said_and_comes_back_from_json(shape):
    _, queries, keys = shape
    looks = LayerHeads("s", np.zeros(shape), ["q"] * queries, ["k"] * keys)
    trace = Trace({"s": ["k"] * keys}, ["q"] * queries, heads={"layer": looks})
    assert "nothing to show" in texts(trace.plot(heads=True))
    assert "(nothing to show)" in printed(trace)
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert again.heads["layer"].weights.shape == shape


def test_heads_come_back_from_json():
    trace = tiny_heads()
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert list(again.heads) == list(trace.heads)
    for name, looks in trace.heads.items():
        found = again.heads[name]
        assert (found.over, found.queries, found.keys) == (looks.over, looks.queries, looks.keys)
        assert np.array_equal(found.weights, looks.weights)
    older = trace.to_dict()
    del older["heads"]
    assert Trace.from_dict(older).heads == {}


def test_heads_over_an_input_that_is_not_there_are_refused():
    with pytest.raises(RegardError, match=r"heads over 'sourse', not one of its inputs \(source\)"):
        Trace({"source": ["a"]}, ["b"], heads={"x": LayerHeads("sourse", np.ones((1, 1, 1)), ["a"], ["a"])})
    with pytest.raises(RegardError, match=r"shape \(1, 1, 2\), expected \(heads, 1, 1\)"):
        LayerHeads.from_dict({"over": "", "weights": [[[0.5, 0.5]]], "queries": ["a"], "keys": ["a"]})


def test_the_terminal_puts_compact_panels_side_by_side():
    assert printed(tiny_heads(), layers=ENCODER).splitlines() == [
        "cat → K",
        "",
        "source: encoder layer 1",
        "queries down, positions of source across",
        "  head 1  head 2",
        "  c a t   c a t",
        "c 9       9 · ·",
        "a   9     3 3 4",
        "t     9   2 5 2",
        "",
        "· under 0.1   1 from 0.1   … 9 from 0.9   blank: exactly 0",
    ]


def test_a_narrow_terminal_gets_fewer_panels_to_a_line_and_at_last_bands():
    lines = printed(tiny_heads(), width=12, layers=ENCODER).splitlines()
    assert [line.split() for line in lines if "head" in line] == [["head", "1"], ["head", "2"]]
    wide = random_heads("abcdefghijklmnopqrst", ["x"], heads=1, layers=0)
    found = printed(wide, width=14).splitlines()
    assert "  a b c d e" in found and any(line.startswith("  p q r s t") for line in found)


def test_color_in_the_terminal_leaves_true_zeros_without_a_ground():
    rows = printed(tiny_heads(), color=True, layers=ENCODER).splitlines()[6:9]
    assert [row.count("48;2") for row in rows] == [4, 4, 4]  # one cell of the first head, three of the second


def test_the_page_of_a_trace_has_a_section_of_heads_that_follows_dark_screens():
    html = tiny_heads().html()
    assert "<h2>Heads</h2>" in html and html.count('class="heads"') == 2
    assert "prefers-color-scheme:dark" in html and ".f-v95{fill:" in html
    assert "<h2>Heads</h2>" not in tiny().html()


@pytest.mark.parametrize(
    ("name", "start"),
    [("f.svg", b"<svg"), ("f.html", b"<!doctype html>"), ("f.png", b"\x89PNG"), ("f.pdf", b"%PDF-")],
)
def test_heads_are_saved_as_any_kind_of_file(tmp_path, name, start):
    if name.endswith(("png", "pdf")):
        pytest.importorskip("matplotlib")
    tiny_heads().save(tmp_path / name, heads=True)
    assert (tmp_path / name).read_bytes().startswith(start)
    if name == "f.html":
        assert 'class="links"' not in (tmp_path / name).read_text(encoding="utf-8")
