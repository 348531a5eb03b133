"""Scenes as JSON: short numbers, every color, handles that name what is drawn."""

import json
import math

import pytest

from regard.inspect.palette import DARK, LIGHT
from regard.inspect.scene import Group, Image, Rect, Scene, Shape, Text
from regard.live import scene_json
from tests.live.drawn_scenes import all_scenes, all_traces


@pytest.fixture(scope="module")
def scenes() -> dict[str, Scene]:
    return all_scenes()


def marks_of(found):
    """All marks; a cell of a large matrix by what it has in common with others."""
    for mark in found:
        yield mark
        yield from marks_of(mark.get("marks", ()))
        cells = mark.get("cells", {})
        for position, value in enumerate(cells.get("v", ())):
            at = {
                "kind": "weight",
                "input": cells["input"],
                "step": cells["step"],
                "position": position,
                "value": value,
            }
            yield {"m": "rect", "fill": f"v{cells['f'][position]}", "at": at}
        yield from marks_of(mark.get("after", ()))


def test_every_mark_is_written_with_short_numbers_and_known_colors(scenes):
    for name, scene in scenes.items():
        written = json.loads(json.dumps(scene_json(scene), allow_nan=False))
        marks = list(marks_of(written["marks"]))
        assert len(marks) == len(list(scene.walk())), name
        for mark in marks:
            assert mark.get("fill", "ink") in {*written["colors"], "ink"}, name
            assert mark.get("stroke", "ink") in {*written["colors"], "ink"}, name
            numbers = [value for value in mark.values() if isinstance(value, float)]
            assert all(math.isclose(value, round(value, 2), abs_tol=1e-9) for value in numbers), name
        for light, dark in written["colors"].values():
            assert len(light) == len(dark) == 7 and light[0] == dark[0] == "#"


def test_a_mark_keeps_what_it_says():
    square = Rect(1.234, 2, 3, 4, fill="accent", opacity=0.5, tip="a\nb", tags=(("row", "1"),))
    path = Shape((("M", (0, 1.005)), ("L", (12345.678, 2))), stroke="truth", dashes=(1, 2))
    image = Image(0, 0, 2, 2, b"png", smooth=False)
    word = Text(0, 0, "שלום", anchor="start", bold=True)
    scene = Scene(10, 10.5, (Group((square, path, image, image), dx=1, kind="row"), word), "t", "d")
    written = scene_json(scene)
    group, text = written["marks"]
    assert group["marks"][0] == {
        "m": "rect", "x": 1.23, "y": 2, "w": 3, "h": 4, "fill": "accent", "o": 0.5, "tip": "a\nb", "tags": {"row": "1"},
    }  # fmt: skip
    assert group["marks"][1]["d"] in ("M0 1.0L12345.68 2", "M0 1L12345.68 2", "M0 1.01L12345.68 2")
    assert group["marks"][2]["src"] == group["marks"][3]["src"] == 0 and len(written["images"]) == 1
    assert (group["k"], group["dx"], text["a"], text["rtl"], text["b"]) == ("row", 1, "end", 1, 1)
    assert written["colors"]["accent"] == [LIGHT.roles["accent"], DARK.roles["accent"]]
    assert (written["width"], written["height"], written["title"]) == (10, 10.5, "t")


def handles(scene, kind):
    written = scene_json(scene)
    found = [mark["at"] for mark in marks_of(written["marks"]) if "at" in mark]
    return [at for at in found if at["kind"] == kind]


@pytest.mark.parametrize("name", ["matrix", "large", "segments", "video", "series", "label", "right to left"])
def test_weights_are_those_of_the_trace(scenes, name):
    trace = all_traces()[name]
    found = handles(scenes[name], "weight")
    assert found
    for at in found:
        held = trace.structures.get(at["input"])
        rows = held.weights if held is not None else trace.attention[at["input"]]
        assert at["value"] == pytest.approx(rows[at["step"]][at["position"]], abs=1e-4)


def test_each_kind_of_handle_names_its_place(scenes):
    assert handles(scenes["arcs"], "arc") and handles(scenes["arcs"], "word")
    assert {(at["head"], at["dependent"]) for at in handles(scenes["arcs"], "arc")}
    segment = handles(scenes["segments"], "segment")[0]
    best = all_traces()["segments"].structures[segment["input"]].best
    assert best[segment["step"]][segment["start"] : segment["end"]].all()
    assert [at["step"] for at in handles(scenes["tags"], "piece")] == [0, 1]
    assert {at["step"] for at in handles(scenes["image"], "plane")} == set(
        range(len(handles(scenes["image"], "piece")))
    )
    hops = {(at["step"], at["position"]) for at in handles(scenes["conversation"], "weight")}
    assert hops == {(hop, turn) for hop in range(2) for turn in range(3)}


def test_a_still_figure_does_not_write_handles(scenes):
    for scene in scenes.values():
        assert "Handle" not in scene.svg() and "&quot;position&quot;" not in scene.svg()
