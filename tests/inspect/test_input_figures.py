"""Figures of images, video and audio: every word once, its weights, and the truth around the right cells."""

import base64
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from drawn_inputs import answered, canvas, caption, film, glimpsed, spoken
from PIL import Image as Pillow

from regard.errors import RegardError
from regard.inspect import Example, compare, draw_input, figure, gallery, trace_page
from regard.inspect.drawings.image_svg import border
from regard.inspect.pyplot import png
from regard.inspect.raster import VEIL
from regard.inspect.scene import Group, Image, Rect, Shape, Text
from regard.trace import SeenImage, Trace

SVG = "{http://www.w3.org/2000/svg}"


def groups(scene, kind):
    return [mark for mark in scene.walk() if isinstance(mark, Group) and mark.kind == kind]


def tagged(group, name):
    return [mark for mark in group.marks if name in dict(getattr(mark, "tags", ()))]


def pixels_of(href):
    with Pillow.open(io.BytesIO(base64.b64decode(href.partition(",")[2]))) as opened:
        return np.asarray(opened.convert("RGB"))


def test_there_is_a_picture_for_each_word_but_not_for_the_end():
    scene = figure(caption())
    looks = groups(scene, "look")
    words = [next(mark.text for mark in look.marks if isinstance(mark, Text)) for look in looks]
    assert words == ["red", "blue", "square"]
    assert scene.title == "red blue square"
    assert len(groups(scene, "seen")) == 1


def test_the_picture_in_the_file_is_the_one_that_was_seen_and_is_there_once():
    root = ElementTree.fromstring(figure(caption()).svg())
    shared = [image for image in root.iter(f"{SVG}image") if image.get("id")]
    assert len(shared) == 1
    assert np.array_equal(pixels_of(shared[0].get("href")), canvas())
    used = [use.get("href") for use in root.iter(f"{SVG}use")]
    assert used == ["#" + shared[0].get("id")] * 4  # the image by itself, and three words


def test_cells_of_the_grid_are_veiled_by_what_they_lack():
    looks = groups(figure(caption(), style="grid"), "look")
    cells = tagged(looks[0], "value")
    assert [float(dict(cell.tags)["value"]) for cell in cells] == pytest.approx(
        caption().attention["image"][0], abs=1e-6
    )
    assert cells[1].opacity == 0  # the largest weight
    assert cells[4].opacity == pytest.approx(VEIL * 0.75, abs=1e-3)
    assert cells[0].opacity == pytest.approx(VEIL)
    xs, ys = sorted({cell.x for cell in cells}), sorted({cell.y for cell in cells})
    assert len(xs) == len(ys) == 3
    picture = next(mark for mark in looks[0].marks if isinstance(mark, Image))
    assert xs[0] == picture.x and xs[2] + cells[0].width == pytest.approx(picture.x + picture.width)
    assert ys[0] == picture.y and ys[2] + cells[0].height == pytest.approx(picture.y + picture.height)


def test_large_grids_are_one_picture_with_a_pixel_for_each_cell():
    weights = np.random.default_rng(1).dirichlet(np.ones(400), size=5)
    trace = Trace(
        {"image": [""] * 400},
        list("abcde"),
        {"image": weights},
        seen={"image": SeenImage(canvas(), (20, 20))},
    )
    look = groups(figure(trace, style="grid"), "look")[3]
    assert not tagged(look, "value")
    _, veil = (mark for mark in look.marks if isinstance(mark, Image))
    assert not veil.smooth
    with Pillow.open(io.BytesIO(veil.png)) as opened:
        alpha = np.asarray(opened.convert("LA"))[..., 1]
    expected = 255 * VEIL * (1 - weights[3] / weights[3].max()).reshape(20, 20)
    assert alpha == pytest.approx(expected, abs=3)


def test_even_attention_leaves_the_picture_clear():
    assert {cell.opacity for cell in tagged(groups(figure(caption(), style="grid"), "look")[2], "value")} == {
        0
    }


def test_the_true_place_is_outlined_where_it_is_known():
    first, second, third = groups(figure(caption()), "look")
    [outline] = tagged(first, "truth")
    picture = next(mark for mark in first.marks if isinstance(mark, Image))
    corners = np.array([numbers for _, numbers in outline.steps]) - (picture.x, picture.y)
    wide, high = picture.width / 3, picture.height / 3
    assert corners.min(axis=0) == pytest.approx((wide, 0))
    assert corners.max(axis=0) == pytest.approx((2 * wide, high))
    assert tagged(second, "truth") and not tagged(third, "truth")
    assert "on the true region" in first.tip and "beside the true region" in second.tip
    assert not any(isinstance(mark, Shape) for mark in figure(caption(truth=False)).walk())


def test_the_border_of_cells_is_as_long_as_counted():
    cells = np.array([[1, 1, 0], [0, 1, 0]], dtype=bool)
    length = sum(abs(x2 - x1) + abs(y2 - y1) for (x1, y1), (x2, y2) in border(cells))
    # Each cell has four sides; the two touching sides of neighbors are inside.
    assert length == 3 * 4 - 2 * 2
    assert ((0, 0), (2, 0)) in border(cells)
    assert border(np.zeros((2, 2), dtype=bool)) == []


def test_a_label_is_one_overlay_titled_by_the_question():
    scene = figure(answered())
    assert scene.title == "which color ? → red  (0.90)"
    assert len(groups(scene, "look")) == 1


def test_each_glimpse_of_a_label_is_a_picture_of_its_own_with_its_own_truth():
    scene = figure(glimpsed(), style="grid")
    assert scene.title == "which color ? → red  (0.90)"
    looks = groups(scene, "look")
    assert [next(mark.text for mark in look.marks if isinstance(mark, Text)) for look in looks] == [
        "glimpse 1",
        "glimpse 2",
    ]
    for look, weights in zip(looks, glimpsed().glimpses["image"].weights, strict=True):
        drawn = [float(dict(cell.tags)["value"]) for cell in tagged(look, "value")]
        assert drawn == pytest.approx(list(weights))
        assert len(tagged(look, "truth")) == 1
    assert [look.tip.splitlines()[-1] for look in looks] == ["on the true region", "beside the true region"]
    assert all(name in trace_page(glimpsed()) for name in ("glimpse 1", "glimpse 2"))


def test_what_was_seen_without_attention_is_shown_beside_what_was_written():
    trace = caption()
    trace = Trace(trace.input, trace.output, scores=trace.scores, seen=trace.seen)
    scene = figure(trace)
    assert len(groups(scene, "seen")) == 1 and not groups(scene, "look")
    assert [word.marks[-2].text for word in groups(scene, "word")] == trace.output


def test_attention_over_a_text_beside_a_picture_is_still_drawn():
    trace = answered()
    both = Trace(
        trace.input,
        trace.output,
        {**trace.attention, "question": [[0.1, 0.8, 0.1]]},
        seen=trace.seen,
        kind="label",
    )
    scene = figure(both)
    assert len(groups(scene, "look")) == 1 and len(groups(scene, "word")) == 3


def test_a_grid_that_does_not_fit_the_attention_is_refused():
    trace = caption()
    wrong = Trace(trace.input, trace.output, trace.attention, seen={"image": SeenImage(canvas(), (2, 3))})
    with pytest.raises(RegardError, match="2 by 3 cells has 6 positions, the attention 9"):
        figure(wrong)
    with pytest.raises(RegardError, match="no image, video, audio or points named 'film'; it has: image"):
        draw_input(trace, over="film")
    with pytest.raises(RegardError, match="no style 'rough'"):
        draw_input(trace, style="rough")


def test_cells_of_a_film_lie_under_their_frames():
    scene = figure(film())
    strip = [mark for mark in groups(scene, "strip")[0].marks if isinstance(mark, Image)]
    assert [dict(mark.tags)["frame"] for mark in strip] == list("012345")
    rows = groups(scene, "row")
    assert [dict(row.tags)["label"] for row in rows] == ["ball", "jumps"]
    cells = tagged(rows[1], "value")
    for frame, cell in zip(strip, cells, strict=True):
        assert cell.x <= frame.x and frame.x + frame.width <= cell.x + cell.width
        assert frame.y + frame.height < cell.y
    assert [float(dict(cell.tags)["value"]) for cell in cells] == pytest.approx([0.025] * 4 + [0.45] * 2)
    assert cells[4].tip == "jumps ← frame 5  0.450"
    [outline] = tagged(rows[1], "truth")
    assert outline.x == pytest.approx(cells[4].x)
    assert outline.x + outline.width == pytest.approx(cells[5].x + cells[5].width)


def test_many_frames_are_thinned_out_evenly_and_positions_share_the_time():
    scene = figure(film(frames=60, positions=20))
    strip = [mark for mark in groups(scene, "strip")[0].marks if isinstance(mark, Image)]
    frames = [int(dict(mark.tags)["frame"]) for mark in strip]
    assert len(set(np.diff(frames))) == 1 and frames[0] == 0 and len(frames) < 20
    cells = tagged(groups(scene, "row")[0], "value")
    assert len(cells) == 20
    widths = [cell.x for cell in cells]
    assert np.diff(widths) == pytest.approx(np.full(19, widths[1] - widths[0]))
    assert frames[3] / 60 == pytest.approx(
        (strip[3].x - strip[0].x) / (20 * (widths[1] - widths[0])), abs=0.01
    )


def test_a_spectrogram_has_low_frequencies_below_and_its_pieces_under_their_time():
    scene = figure(spoken())
    [drawn] = [mark for mark in scene.walk() if isinstance(mark, Image)]
    with Pillow.open(io.BytesIO(drawn.png)) as opened:
        light = np.asarray(opened.convert("L")).astype(int)
    assert light.shape == (5, 16)
    assert light[4, 0] > light[0, 0] and light[0, 15] > light[4, 15]
    first, second = groups(scene, "row")
    for row, begin in ((first, 0.0), (second, 0.5)):
        [outline] = tagged(row, "truth")
        assert outline.x == pytest.approx(drawn.x + begin * drawn.width)
        assert outline.width == pytest.approx(drawn.width / 4)
    texts = [mark.text for mark in scene.walk() if isinstance(mark, Text)]
    assert "0 s" in texts and "0.8" in texts


@pytest.mark.parametrize("make", [caption, answered, glimpsed, film, spoken])
def test_traces_with_what_was_seen_come_back_from_json_and_look_the_same(make):
    trace = make()
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert again.plot().svg() == trace.plot().svg()


@pytest.mark.parametrize("make", [caption, answered, glimpsed, film, spoken])
def test_every_figure_is_well_formed_and_within_its_size(make):
    scene = figure(make())
    ElementTree.fromstring(scene.svg())
    for rect in (mark for mark in _placed(scene.marks) if isinstance(mark[2], Rect)):
        x, y, mark = rect
        assert x >= 0 and y >= 0
        assert x + mark.width <= scene.width and y + mark.height <= scene.height
    assert scene.description


def _placed(marks, dx=0.0, dy=0.0):
    for mark in marks:
        if isinstance(mark, Group):
            yield from _placed(mark.marks, dx + mark.dx, dy + mark.dy)
        elif hasattr(mark, "x"):
            yield mark.x + dx, mark.y + dy, mark


def test_a_png_of_the_figure_shows_the_pictures_colors():
    pytest.importorskip("matplotlib")
    with Pillow.open(io.BytesIO(png(figure(caption())))) as opened:
        colors = {color for _, color in opened.convert("RGB").getcolors(1 << 24)}
    assert {(213, 60, 40), (40, 90, 200), (238, 236, 228)} <= colors


def test_a_page_shows_the_cells_too_and_no_links():
    text = trace_page(caption())
    assert "Cell by cell" in text and "Attention as links" not in text
    assert "Cell by cell" not in trace_page(film())


def test_nothing_to_look_at_is_drawn_as_such():
    empty = film(frames=6)
    none = Trace({"film": []}, ["ball"], {"film": np.zeros((1, 0))}, seen={"film": empty.seen["film"]})
    ElementTree.fromstring(figure(none).svg())
    nothing = Trace(caption().input, [], {"image": np.zeros((0, 9))}, seen=caption().seen)
    ElementTree.fromstring(figure(nothing).svg())


def boxed():
    """The caption, with the box of "red": larger than its cell and not aligned with the grid."""
    trace = caption()
    pixels = trace.seen["image"].pixels
    places = ((0, 0.25, 0.1, 0.75, 0.4), (1, 0.7, 0.7, 0.9, 0.95))
    return replace(trace, seen={"image": SeenImage(pixels, (3, 3), places)})


def corners(look):
    """The corners of the true region in an image, as fractions of its width and height."""
    picture = next(mark for mark in look.marks if isinstance(mark, Image))
    (outline,) = tagged(look, "truth")
    return {
        (round((x - picture.x) / picture.width, 3), round((y - picture.y) / picture.height, 3))
        for _, (x, y) in outline.steps
    }


def test_a_true_place_is_drawn_where_it_is_not_where_the_grid_is():
    red, blue, _ = groups(draw_input(boxed()), "look")
    assert corners(red) == {(0.25, 0.1), (0.75, 0.1), (0.75, 0.4), (0.25, 0.4)}
    assert corners(blue) == {(0.7, 0.7), (0.9, 0.7), (0.9, 0.95), (0.7, 0.95)}
    red, *_ = groups(draw_input(boxed(), style="grid"), "look")  # the cells that count as correct
    assert corners(red) == {(0.333, 0.0), (0.667, 0.0), (0.333, 0.333), (0.667, 0.333)}


def test_true_places_survive_json():
    again = Trace.from_dict(json.loads(json.dumps(boxed().to_dict())))
    assert again.seen["image"].places == boxed().seen["image"].places
    assert corners(groups(draw_input(again), "look")[0]) == corners(groups(draw_input(boxed()), "look")[0])


def test_a_gallery_stands_in_columns_and_its_drawings_in_rows():
    long = "a red square beside a blue square and nothing else in the whole wide picture"
    told = [("red", ""), (long, "what is there to be seen?"), ("blue", ""), ("red", "which?"), (long, "")]
    examples = [Example(caption(), written, ("red",), asked=asked) for written, asked in told]
    drawn = ElementTree.fromstring(gallery([replace(one, group="All") for one in examples]).svg())
    places = {"picture": set(), "lines": set()}

    def descend(element, x, y):
        moved = re.match(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", element.get("transform", ""))
        x, y = (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)
        kind = element.get("class", "")
        for wanted, found in places.items():
            if wanted in kind.split():
                found.add((round(x), round(y)))
        for child in element:
            descend(child, x, y)

    descend(drawn, 0.0, 0.0)
    assert len(places["picture"]) == 5
    columns, rows = {x for x, _ in places["picture"]}, {y for _, y in places["picture"]}
    assert len(columns) * len(rows) <= 6 and len(rows) == -(-5 // len(columns))


def test_a_gallery_has_right_answers_before_wrong_ones():
    scene = gallery(
        [
            Example(film(), "ball falls", ("ball jumps",)),
            Example(caption(), "red blue square", ("red blue square", "two squares")),
        ],
        title="captions",
    )
    texts = [mark.text for mark in scene.walk() if isinstance(mark, Text)]
    order = ["Right", "✓ red blue square", "Wrong", "✗ ball falls", "true: ball jumps"]
    assert [text for text in texts if text in order] == order
    assert len(groups(scene, "look")) == 3 and len(groups(scene, "strip")) == 1
    ElementTree.fromstring(scene.svg())
    with pytest.raises(RegardError, match="no examples"):
        gallery([])


def test_a_group_of_its_own_makes_no_judgement():
    scene = gallery([Example(caption(), "red", ("blue",), group="Nearest"), Example(caption(), "a", ("a",))])
    texts = [mark.text for mark in scene.walk() if isinstance(mark, Text)]
    assert texts.index("Right") < texts.index("✓ a") < texts.index("Nearest") < texts.index("true: blue")
    assert "✗ red" not in texts


def test_a_gallery_shows_other_traces_by_their_own_figure():
    trace = Trace({"word": list("cat")}, ["K"], {"word": [[0.8, 0.1, 0.1]]})
    scene = gallery([Example(trace, "K", ("K",), asked="c a t")])
    assert groups(scene, "matrix") and "c a t" in [m.text for m in scene.walk() if isinstance(m, Text)]


def test_models_are_compared_on_the_same_picture():
    scene = compare([("soft", caption()), ("hard", caption(truth=False))])
    assert [found.title for found in scene.contents()] == ["soft", "hard"]
    assert len(groups(scene, "look")) == 6


def test_models_compared_by_their_glimpses_are_named_with_their_answers():
    scene = compare([("one", glimpsed()), ("other", answered())])
    assert [found.title for found in scene.contents()] == ["one → red  (0.90)", "other"]
    assert len(groups(scene, "look")) == 3
