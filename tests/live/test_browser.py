"""Live figures in a real browser: the marks of the still figures, drawn again by the script."""

import json
import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest

from regard.inspect import svg
from regard.inspect.handles import WeightHandle
from regard.inspect.palette import LIGHT
from regard.inspect.scene import Rect, Scene
from regard.live import bundle, scene_json, stylesheet
from tests.live.drawn_scenes import ATTACK, all_scenes

SITE = "http://regard.test"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"
PAGE = """<!doctype html><html lang="en"><title>figures</title><link rel="stylesheet" href="/regard.css">
<body><div id="root"></div></body></html>"""
SHAPES = ("rect", "text", "path", "circle", "image", "g")


@pytest.fixture(scope="module")
def scenes() -> dict[str, Scene]:
    return all_scenes()


@pytest.fixture(scope="module")
def page(chromium: Any) -> Any:
    """A page with the policy of the studio; what it logs or refuses is in `page.told`."""
    page = chromium.new_page(viewport={"width": 1200, "height": 800})
    page.told = []
    page.on("console", lambda message: page.told.append(message.text))
    page.on("pageerror", lambda error: page.told.append(str(error)))
    page.route("**/*", _serve)
    page.goto(SITE)
    return page


def _serve(route: Any) -> None:
    name = route.request.url.removeprefix(SITE)
    files = {"/regard.js": (bundle(), "text/javascript"), "/regard.css": (stylesheet(), "text/css")}
    headers = {"content-security-policy": POLICY}
    if name in files:
        path, kind = files[name]
        route.fulfill(body=path.read_text(), content_type=kind, headers=headers)
    else:
        route.fulfill(body=PAGE, content_type="text/html", headers=headers)


DRAW = """async ([scene, editable]) => {
  const { figure } = await import('/regard.js');
  const root = document.getElementById('root');
  window.done = [];
  window.live?.destroy();
  window.live = figure(root, scene, editable ? (at, action) => window.done.push([at, action]) : undefined);
  const counts = {};
  for (const one of root.querySelectorAll('svg *')) counts[one.localName] = (counts[one.localName] ?? 0) + 1;
  return { counts, said: root.querySelector('svg').getAttribute('aria-label'), told: root.textContent };
}"""


def drawn(page: Any, scene: Scene, *, editable: bool = True) -> Any:
    page.told.clear()
    return page.evaluate(DRAW, [json.loads(json.dumps(scene_json(scene))), editable])


def still_counts(scene: Scene) -> Counter[str]:
    """The shapes of the still figure; an image that is used again counts as one."""
    root = ElementTree.fromstring(svg(scene, standalone=False))
    inside = [one for part in root for one in part.iter() if not part.tag.endswith("defs")]
    names = (re.sub("{.*}", "", one.tag).replace("use", "image") for one in inside)
    return Counter(name for name in names if name in SHAPES)


def test_every_drawing_is_alive_with_the_marks_of_the_still_figure(
    page: Any, scenes: dict[str, Scene]
) -> None:
    for name, scene in scenes.items():
        found = drawn(page, scene)
        assert found["counts"] == dict(still_counts(scene)), name
        assert found["said"], name
        assert page.told == [], name


CELLS = """() => [...document.querySelectorAll('#root .at-weight')].map(one => [
  one.getAttribute('x'), one.getAttribute('y'), one.getAttribute('width'), one.getAttribute('fill'),
  one.getAttribute('stroke'), one.getAttribute('aria-label'), one.dataset.column])"""


def test_cells_of_a_large_figure_are_those_of_the_still_one(page: Any, scenes: dict[str, Scene]) -> None:
    scene = scenes["large"]
    drawn(page, scene)
    still = [mark for mark in scene.walk() if isinstance(mark.at, WeightHandle)]
    found = page.evaluate(CELLS)
    assert len(found) == len(still) == 26 * 30
    for (x, y, side, fill, stroke, said, column), mark in zip(found, still, strict=True):
        assert isinstance(mark, Rect) and isinstance(mark.at, WeightHandle)
        assert (float(x), float(y), float(side)) == pytest.approx((mark.x, mark.y, mark.width), abs=0.02)
        assert fill == LIGHT.hex(mark.fill or "paper")
        assert stroke == (LIGHT.hex(mark.stroke) if mark.stroke else None)
        assert (said, column) == (mark.tip.replace("\n", ", "), str(mark.at.position))


def test_text_of_the_data_stays_text(page: Any, scenes: dict[str, Scene]) -> None:
    found = drawn(page, scenes["attacked"])
    assert ATTACK in found["told"]
    assert "\u202e" not in found["told"]
    assert page.locator("#root img").count() == 0


def test_colors_follow_the_theme(page: Any, scenes: dict[str, Scene]) -> None:
    drawn(page, scenes["matrix"])
    colors = scene_json(scenes["matrix"])["colors"]
    for side, scheme in enumerate(("light", "dark", "light")):
        page.emulate_media(color_scheme=scheme)
        there = "color => [...document.querySelectorAll('svg text')].some(one => one.getAttribute('fill') === color)"
        page.wait_for_function(there, arg=colors["ink"][side % 2], timeout=5_000)


def test_the_keyboard_reaches_a_cell_and_acts_on_it(page: Any, scenes: dict[str, Scene]) -> None:
    drawn(page, scenes["matrix"])
    page.keyboard.press("Tab")
    page.focus('[data-row="0"] .at-weight[data-column="2"]')
    page.keyboard.press("ArrowDown")
    focused = (
        "document.activeElement.closest('.row').dataset.row + ' ' + document.activeElement.dataset.column"
    )
    assert page.evaluate(focused) == "1 2"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "1 3"
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    (first, weight), (second, opened) = page.evaluate("window.done")
    assert {"kind": "weight", "input": "source", "step": 1, "position": 3}.items() <= first.items()
    assert weight == {"do": "weight", "value": pytest.approx(min(1, first["value"] + 0.1)), "final": True}
    assert second == first and opened["do"] == "open"


def test_dragging_sets_a_weight_or_takes_a_span(page: Any, scenes: dict[str, Scene]) -> None:
    drawn(page, scenes["matrix"])
    cells = [page.locator(f'[data-row="0"] .at-weight[data-column="{n}"]').bounding_box() for n in range(4)]
    middle = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in cells]
    page.mouse.move(*middle[1])
    page.mouse.down()
    page.mouse.move(middle[1][0], middle[1][1] - 70, steps=4)
    page.mouse.up()
    page.mouse.move(*middle[1])
    page.mouse.down()
    page.mouse.move(*middle[3], steps=6)
    page.mouse.up()
    done = page.evaluate("window.done")
    at, last = next((at, one) for at, one in done if one["do"] == "weight" and one["final"])
    assert last["value"] == pytest.approx(min(1.0, at["value"] + 0.5), abs=0.02)
    _, span = next((at, one) for at, one in done if one["do"] == "range")
    assert (span["start"], span["end"]) == (1, 4)


def test_a_region_is_drawn_on_an_image(page: Any, scenes: dict[str, Scene]) -> None:
    drawn(page, scenes["image"])
    box = page.locator(".at-plane").first.bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 1.5 * box["height"], steps=4)
    page.mouse.up()
    ((at, action),) = page.evaluate("window.done")
    assert at["kind"] == "plane" and at["step"] == 0
    assert action["box"] == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=0.02)


def test_without_a_listener_a_figure_is_only_read(page: Any, scenes: dict[str, Scene]) -> None:
    drawn(page, scenes["matrix"], editable=False)
    page.locator(".at-weight").first.click()
    assert page.evaluate("window.done") == []
    assert page.locator(".rg-tip").inner_text()
