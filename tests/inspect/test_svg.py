"""SVG, read back with an XML parser and compared with the trace."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from drawn_traces import random_trace, tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.inspect import alignment, beam, figure, heatmap, highlight
from regard.inspect.scene import Circle, Group, Image, Rect, Scene, Shape, Text, arc
from regard.inspect.svg import svg
from regard.trace import Trace

NAMESPACE = "{http://www.w3.org/2000/svg}"
anything = st.text(alphabet=st.characters(codec=None), max_size=6)


def parsed(scene):
    return ElementTree.fromstring(scene.svg())


def rows(root):
    return [group for group in root.iter(f"{NAMESPACE}g") if group.get("class") == "row"]


def cells(row):
    return [rect for rect in row.iter(f"{NAMESPACE}rect") if rect.get("data-value") is not None]


@settings(max_examples=60, deadline=None)
@given(st.lists(anything, min_size=1, max_size=4), st.lists(anything, min_size=1, max_size=4))
def test_any_label_gives_well_formed_xml(source, output):
    trace = random_trace(source, output, truth=True)
    for drawn in (heatmap(trace), alignment(trace), highlight(trace), beam([(output[0], -1.0)])):
        ElementTree.fromstring(drawn.svg())


def test_every_weight_appears_once_at_its_place():
    trace = random_trace("abcdefg", "uvwxy")
    found = rows(parsed(heatmap(trace)))
    assert [row.get("data-label") for row in found] == list("uvwxy")
    for t, row in enumerate(found):
        drawn = cells(row)
        assert [int(cell.get("data-column")) for cell in drawn] == list(range(7))
        values = [float(cell.get("data-value")) for cell in drawn]
        assert values == pytest.approx(trace.attention["source"][t], abs=1e-5)


def test_cells_make_a_regular_grid_under_their_labels():
    root = parsed(heatmap(tiny()))
    first, second = (cells(row) for row in rows(root))
    columns = [text for text in root.iter(f"{NAMESPACE}text") if text.get("data-column") is not None]
    assert [text.text for text in columns] == ["c", "a", "t"]
    for above, cell, label in zip(first, second, columns, strict=True):
        assert above.get("x") == cell.get("x")
        assert float(cell.get("y")) > float(above.get("y")) + float(above.get("height")) - 1e-6
        middle = float(cell.get("x")) + float(cell.get("width")) / 2
        assert float(label.get("x")) == pytest.approx(middle, abs=0.01)
        assert float(label.get("y")) < float(above.get("y"))
    xs = [float(cell.get("x")) for cell in first]
    assert xs[2] - xs[1] == pytest.approx(xs[1] - xs[0]) and xs[1] > xs[0]


def test_right_to_left_sources_begin_on_the_right():
    [row] = rows(parsed(heatmap(random_trace("שלום", ["peace"]))))
    places = {int(cell.get("data-column")): float(cell.get("x")) for cell in cells(row)}
    assert places[0] > places[1] > places[2] > places[3]


def test_labels_in_right_to_left_scripts_say_so_and_keep_their_place():
    text = ElementTree.fromstring(svg(Scene(10, 10, (Text(5, 5, "שלום", anchor="end"),), ""))).find(
        f"{NAMESPACE}text"
    )
    assert text.get("direction") == "rtl"
    # Right-to-left text starts at its visual right end, and "start" is SVG's default anchor.
    assert text.get("text-anchor") is None


def test_true_places_are_outlined():
    trace = Trace({"s": ["a", "b"]}, ["x", "y"], {"s": [[1, 0], [0.5, 0.5]]}, truth={"s": [[1, 0], [0, 1]]})
    outlined = [
        [rect.get("x") for rect in row.iter(f"{NAMESPACE}rect") if rect.get("data-truth")]
        for row in rows(parsed(heatmap(trace)))
    ]
    assert [len(row) for row in outlined] == [1, 1]
    assert float(outlined[1][0]) > float(outlined[0][0])


def test_inputs_stand_side_by_side_and_share_their_rows():
    trace = Trace(
        {"question": ["who", "ran"], "story": ["Ann", "ran"]},
        ["Ann"],
        {"question": [[0.5, 0.5]], "story": [[1, 0]]},
    )
    root = parsed(heatmap(trace))
    matrices = [group for group in root.iter(f"{NAMESPACE}g") if group.get("class") == "matrix"]
    tops = [cells(rows(matrix)[0])[0].get("y") for matrix in matrices]
    assert len(matrices) == 2 and tops[0] == tops[1]
    labels = [text.text for text in root.iter(f"{NAMESPACE}text")]
    assert labels.count("Ann") == 2  # once as the output, once in the story
    assert "question" in labels and "story" in labels


@pytest.mark.parametrize("output", [[], ["</s>"]])
def test_an_empty_output_is_still_a_figure(output):
    scene = heatmap(random_trace("cat", output))
    assert scene.width > 0 and scene.height > 0
    assert len(rows(parsed(scene))) == len(output)


def test_a_true_zero_is_an_empty_cell_and_a_tiny_weight_is_not():
    trace = Trace({"s": ["a", "b", "c"]}, ["x"], {"s": [[0.0, 1e-5, 1 - 1e-5]]})
    root = parsed(heatmap(trace))
    zero, tiny_one, _ = cells(rows(root)[0])
    assert zero.get("class").split()[0] == "f-paper" and tiny_one.get("class") == "f-v0"
    assert zero.get("fill") == "#ffffff" != tiny_one.get("fill")
    tips = [cell.find(f"{NAMESPACE}title").text for cell in (zero, tiny_one)]
    assert tips == ["x ← a  0", "x ← b  1e-05"]
    assert "exactly 0" in [text.text for text in root.iter(f"{NAMESPACE}text")]
    dense = parsed(heatmap(Trace({"s": ["a", "b"]}, ["x"], {"s": [[0.5, 0.5]]})))
    assert "exactly 0" not in [text.text for text in dense.iter(f"{NAMESPACE}text")]


def test_title_description_and_tips_speak_to_those_who_cannot_see():
    root = parsed(heatmap(tiny()))
    assert root.find(f"{NAMESPACE}title").text == "cat → K"
    assert "K looks at c (0.90)" in root.find(f"{NAMESPACE}desc").text
    assert cells(rows(root)[0])[0].find(f"{NAMESPACE}title").text == "K ← c  0.90"


def test_every_kind_of_mark_is_written():
    png = bytes.fromhex("89504e470d0a1a0a")
    marks = (
        Rect(1, 2, 3, 4, fill="#ff0000", stroke="ink", radius=1, opacity=0.5, tip="<tip> & more"),
        Circle(5, 5, 2),
        Shape((("M", (0, 0)), ("Q", (1, 1, 2, 0)), ("Z", ())), fill="accent", dashes=(2, 1)),
        arc(0, 10, 5, 3),
        Image(0, 0, 5, 5, png, smooth=False),
        Group((Text(1, 1, 'a"b', rotate=45, bold=True, italic=True, mono=True),), dx=2, dy=3, kind="k"),
    )
    root = ElementTree.fromstring(svg(Scene(10, 10, marks, "t"), standalone=False))
    names = [child.tag.removeprefix(NAMESPACE) for child in root]
    assert names == ["title", "rect", "circle", "path", "path", "image", "g"]
    assert root[1].find(f"{NAMESPACE}title").text == "<tip> & more"
    assert root[3].get("d") == "M0 0Q1 1 2 0Z"
    assert root[5].get("href") == "data:image/png;base64,iVBORw0KGgo="
    assert root[6].get("transform") == "translate(2 3)"


def test_dark_screens_get_colors_of_their_own():
    text = heatmap(tiny()).svg()
    assert "@media screen and (prefers-color-scheme:dark)" in text
    assert ".f-v90{fill:" in text and ".f-ink{fill:#eceef4}" in text


def test_the_crown_of_an_arc_is_as_high_as_asked():
    (_, start), (_, (_, y1, _, y2, _, y3)) = arc(0, 10, 20, 6).steps
    t = 0.5
    height = (1 - t) ** 3 * start[1] + 3 * (1 - t) ** 2 * t * y1 + 3 * (1 - t) * t**2 * y2 + t**3 * y3
    assert height == pytest.approx(14)


def test_figures_suit_what_was_written():
    label = Trace({"s": ["good", "film"]}, ["positive"], {"s": [[0.8, 0.2]]}, kind="label")
    tags = Trace({"s": ["the", "dog"]}, ["DET", "NOUN"], scores=np.log([0.9, 0.8]), kind="tags")
    kinds = [
        {mark.kind for mark in figure(trace).walk() if isinstance(mark, Group)} & {"matrix", "words"}
        for trace in (tiny(), label, tags, Trace({"s": ["a"]}, ["b"]))
    ]
    assert kinds == [{"matrix"}, {"words"}, {"words"}, {"words"}]
