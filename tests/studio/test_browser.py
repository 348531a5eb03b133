"""The studio in a real browser: every feature by hand, with the same answers as the Python API.

After each test: no request left the machine, no policy was violated, nothing was logged as an error.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pytest
from PIL import Image

from regard.evaluation import open_dataset
from regard.studio.serving import Studio
from regard.trace.prediction import Prediction

sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync.expect
WATCH = """window.refused = [];
addEventListener('securitypolicyviolation', e => window.refused.push(e.violatedDirective + ' ' + e.blockedURI));"""
PHONE = {"width": 390, "height": 800}
DESK = {"width": 1280, "height": 900}


@dataclass
class Tab:
    """A tab of the browser with the studio's cookie."""

    page: Any
    studio: Studio
    load: Callable[[str], Any]
    left: list[str] = field(default_factory=list)
    """Requests that would have left the machine."""
    said: list[str] = field(default_factory=list)
    """Errors of the page."""

    def watch(self) -> None:
        home = f"http://127.0.0.1:{self.studio.port}/"

        def route(one: Any) -> None:
            if one.request.url.startswith(home):
                one.continue_()
            else:
                self.left.append(one.request.url)
                one.abort()

        self.page.context.route("**/*", route)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on(
            "console", lambda one: self.said.append(one.text) if one.type in ("error", "warning") else None
        )
        self.page.add_init_script(WATCH)

    def open(self, run: str, **view: Any) -> Tab:
        """The page in a state, as a permalink has it."""
        state = {"run": run, "mode": "look", "inputs": {}, "edits": [], **view}
        self.page.goto("about:blank")
        self.page.goto(f"{self.studio.url}#{quote(json.dumps(state))}")
        return self

    def row(self, run: str, number: int = 0, **view: Any) -> Tab:
        inputs = {name: {"row": number, "split": "test"} for name in self.load(run).spec.inputs}
        self.open(run, inputs=inputs, **view)
        self.page.locator(".rg-stage svg").first.wait_for()
        return self

    @property
    def view(self) -> dict[str, Any]:
        """The state in the address."""
        found: dict[str, Any] = json.loads(unquote(self.page.url.partition("#")[2]))
        return found

    def until(self, written: str) -> None:
        """Wait until this stands in the address. (Playwright's own waiting needs `eval`, which the policy forbids.)"""
        for _ in range(300):
            if written in unquote(self.page.url):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{written} is not in {unquote(self.page.url)}")

    def cell(self, step: int, position: int) -> Any:
        return self.page.locator(".rg-stage .row").nth(step).locator(".at-weight").nth(position)

    def choose(self, label: str) -> None:
        self.page.get_by_role("button", name=label, exact=True).click()

    def computed(self) -> Prediction:
        """What the Python API answers for the state in the address."""
        view = self.view
        model = self.load(view["run"])
        output = view.get("output") or next(iter(model.spec.outputs))
        given = list(view["inputs"].values())
        if all(isinstance(one, str) for one in given):
            look = view["edits"] or None
            found: Prediction = model.predict(
                view["inputs"], output=output, prefix=view.get("prefix"), look=look
            )
            return found
        batch = open_dataset(model, (), [given[0]["split"]]).batch([given[0]["row"]])
        edits = model.edits([view["edits"]], output) if view["edits"] else None
        answer: Prediction = model.answer(batch, output=output, prefix=view.get("prefix"), edits=edits)[0]
        return answer

    def agrees(self, *kinds: str) -> Prediction:
        """The page shows what Python computes, with edits of these kinds."""
        for kind in kinds:
            self.until(f'"edit":"{kind}"')
        found = self.computed()
        assert found.trace is not None
        expect(self.page.locator(".rg-piece-text")).to_have_text(
            [piece or "∅" for piece in found.trace.output]
        )
        shown = f"log p {_number(found.score)}"
        expect(self.page.locator(".rg-output .rg-under span").first).to_have_text(shown)
        return found


def _number(value: float) -> str:
    """As JavaScript's toPrecision(3) writes it."""
    if float(value).is_integer():
        return str(int(value))
    written = f"{value:.2e}"
    exponent = int(written.partition("e")[2])
    return f"{value:.{max(0, 2 - exponent)}f}" if -7 < exponent < 3 else written


@pytest.fixture
def tab(chromium: Any, studio: Studio, load: Any) -> Iterator[Tab]:
    context = chromium.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    made = Tab(context.new_page(), studio, load)
    made.watch()
    yield made
    refused = made.page.evaluate("window.refused ?? []")
    context.close()
    assert made.left == [], "requests left the machine"
    assert refused == [], "the policy was violated"
    assert made.said == [], "the page logged errors"


def test_a_text_is_typed_and_answered(tab: Tab, load: Any) -> None:
    tab.open("translation")
    text = open_dataset(load("translation"), (), ["test"]).raw(0)["source"]
    tab.page.get_by_role("textbox").first.fill(text)
    tab.page.keyboard.press("Enter")
    tab.page.locator(".rg-piece").first.wait_for()
    assert tab.view["inputs"] == {"source": text}
    tab.agrees()
    tab.page.reload()  # the address holds the state
    tab.page.locator(".rg-piece").first.wait_for()
    tab.agrees()


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("Look only here", "pin"),
        ("Do not look here", "zero"),
        ("Never look here", "zero"),
        ("Look everywhere alike", "uniform"),
        ("Look where the truth says", "truth"),
    ],
)
def test_a_cell_is_edited_by_its_menu(tab: Tab, label: str, kind: str) -> None:
    before = tab.row("translation").computed().text
    tab.cell(1, 2).click()
    tab.choose(label)
    after = tab.agrees(kind)
    changed = tab.page.locator(".rg-changed").count()
    assert (changed > 0) == (before != after.text)
    tab.choose("undo")
    tab.agrees()
    assert tab.view["edits"] == []
    tab.choose("redo")
    tab.agrees(kind)


def test_a_weight_is_dragged_and_typed(tab: Tab) -> None:
    tab.row("translation")
    box = tab.cell(0, 1).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    for up in (10, 40, 70):
        tab.page.mouse.move(x, y - up)
    tab.page.mouse.up()
    tab.agrees("weights")
    (edit,) = tab.view["edits"]
    assert edit["step"] == 0 and 0.4 < edit["weights"]["1"] < 0.8
    tab.cell(1, 0).focus()
    tab.page.keyboard.press("Delete")
    tab.agrees("zero")
    tab.cell(2, 0).focus()
    tab.page.keyboard.press("+")
    tab.until('"step":2')
    tab.agrees("weights", "zero")


def test_a_range_of_positions_is_taken(tab: Tab) -> None:
    tab.row("translation")
    first, last = tab.cell(0, 1).bounding_box(), tab.cell(0, 3).bounding_box()
    tab.page.mouse.move(first["x"] + 3, first["y"] + 5)
    tab.page.mouse.down()
    tab.page.mouse.move(last["x"] - 8, last["y"] + 5, steps=4)
    tab.page.mouse.move(last["x"] + 5, last["y"] + 5, steps=2)
    tab.page.mouse.up()
    tab.choose("Look only at these")
    tab.agrees("weights")
    assert sorted(tab.view["edits"][0]["weights"]) == ["1", "2", "3"]


def test_words_are_masked_and_changed(tab: Tab, load: Any) -> None:
    text = open_dataset(load("translation"), (), ["test"]).raw(1)["source"]
    tab.open("translation", inputs={"source": text})
    tab.page.locator(".at-word").nth(1).click()
    tab.choose("Mask it")
    tab.agrees("mask")
    tab.open("translation", inputs={"source": text})
    tab.page.locator(".at-word").nth(1).click()
    words = text.split()
    words[1] = words[-2]
    tab.page.get_by_label("Change it").fill(words[1])
    tab.page.keyboard.press("Enter")
    tab.until(" ".join(words))
    assert tab.view["inputs"] == {"source": " ".join(words)}
    tab.agrees()


def test_the_beginning_of_the_output_is_forced(tab: Tab, load: Any) -> None:
    tab.row("translation", 1)
    own = [piece for piece in tab.computed().trace.output if piece != "</s>"]  # type: ignore[union-attr]
    tab.page.locator(".rg-piece").nth(1).click()
    tab.page.get_by_label("Write another word here").fill(own[0])
    tab.page.keyboard.press("Enter")
    tab.until("prefix")
    assert tab.view["prefix"] == f"{own[0]} {own[0]}"
    tab.agrees()
    tab.page.get_by_label("remove the beginning").click()
    tab.page.get_by_label(re.compile("beam")).fill("3")
    tab.until("beam")
    expected = load("translation").searching(method="beam", beam=3)
    answer = expected.answer(open_dataset(load("translation"), (), ["test"]).batch([1]), output="target")[0]
    expect(tab.page.locator(".rg-piece-text")).to_have_text(list(answer.trace.output))


def test_a_region_is_drawn_on_an_image(tab: Tab) -> None:
    tab.row("caption")
    plane = tab.page.locator(".at-plane").first.bounding_box()
    tab.page.mouse.move(plane["x"] + 4, plane["y"] + 4)
    tab.page.mouse.down()
    tab.page.mouse.move(plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 3, steps=4)
    tab.page.mouse.up()
    tab.agrees("region")
    left, top, right, bottom = tab.view["edits"][0]["box"]
    assert 0 <= left < 0.2 and 0 <= top < 0.2 and 0.4 < right < 0.6 and 0.2 < bottom < 0.5


def test_a_span_is_drawn_on_a_spectrogram(tab: Tab) -> None:
    tab.row("speech")
    plane = tab.page.locator(".at-plane").first.bounding_box()
    y = plane["y"] + plane["height"] / 2
    tab.page.mouse.move(plane["x"] + plane["width"] / 4, y)
    tab.page.mouse.down()
    tab.page.mouse.move(plane["x"] + plane["width"] / 2, y + 6, steps=4)
    tab.page.mouse.up()
    tab.agrees("span")
    edit = tab.view["edits"][0]
    assert 0.2 < edit["from"] < 0.3 and 0.4 < edit["to"] < 0.6


def test_an_arc_is_forced_and_forbidden(tab: Tab) -> None:
    tab.row("parser-crf")
    for how in ("Force", "Forbid"):
        tab.page.locator(".at-arc").nth(2).click(force=True)
        tab.choose(f"{how} this arc")
        tab.until(f'"how":"{how.lower()}"')
        tab.agrees("arc")


def test_an_image_is_uploaded(tab: Tab, load: Any, tmp_path: Path) -> None:
    content = io.BytesIO()
    Image.fromarray(np.random.default_rng(2).integers(0, 255, (30, 30, 3), dtype=np.uint8)).save(
        content, "PNG"
    )
    (tmp_path / "mine.png").write_bytes(content.getvalue())
    tab.open("caption")
    tab.page.locator("input[type=file]").set_input_files(tmp_path / "mine.png")
    found = load("caption").predict(content.getvalue())
    expect(tab.page.locator(".rg-piece-text")).to_have_text(list(found.trace.output))
    (tmp_path / "not.png").write_text("no image")
    tab.page.locator("input[type=file]").set_input_files(tmp_path / "not.png")
    expect(tab.page.get_by_role("alert")).to_contain_text("no image, audio or video")
    tab.said.clear()  # a refused upload is a failed request


def test_rows_are_picked_also_the_strangest_first(tab: Tab) -> None:
    tab.open("translation")
    tab.choose("pick from the data")
    rows = tab.page.locator(".rg-rows li button")
    expect(rows).to_have_count(6)
    tab.page.get_by_label("sorted").select_option("strange")
    rows.nth(1).wait_for()
    rows.nth(1).click()
    tab.page.locator(".rg-piece").first.wait_for()
    assert tab.view["inputs"]["source"]["split"] == "test"
    tab.agrees()


@pytest.mark.parametrize("run", ["translation", "parser-crf", "facts", "nli-self"])
def test_every_panel_is_drawn(tab: Tab, run: str) -> None:
    tab.row(run)
    tabs = tab.page.get_by_role("tablist", name="Panels").get_by_role("tab")
    if not tabs.count():
        return
    for number in range(tabs.count()):
        tabs.nth(number).click()
        expect(tabs.nth(number)).to_have_attribute("aria-selected", "true")
        tab.page.locator("[role=tabpanel] svg").first.wait_for()
    slider = tab.page.locator(".rg-steps input")
    if slider.count():
        slider.first.fill("2")
        expect(tab.page.locator(".rg-steps output").first).to_contain_text("2 of")


def test_outputs_are_chosen(tab: Tab) -> None:
    tab.row("image-qa-attention", 1)
    for output in ("caption", "answer"):
        tab.page.get_by_role("combobox", name="output").select_option(output)
        tab.until(f'"output":"{output}"')
        tab.agrees()


def test_two_models_are_compared(tab: Tab, load: Any) -> None:
    text = open_dataset(load("translation"), (), ["test"]).raw(0)["source"]
    tab.open("translation", mode="compare", other="second", inputs={"source": text})
    for name in ("translation", "second"):
        pieces = tab.page.get_by_role("region", name=name, exact=True).locator(".rg-piece-text")
        expect(pieces).to_have_text(list(load(name).predict(text).trace.output))
    expect(tab.page.locator(".rg-pair svg")).to_have_count(2)


def test_a_dialog_is_led(tab: Tab, load: Any) -> None:
    tab.open("dialog-context", mode="chat")
    for number, said in enumerate(("who made Logan ?", "and when ?")):
        tab.page.get_by_label("Say something").fill(said)
        tab.page.keyboard.press("Enter")
        expect(tab.page.get_by_role("list", name="Dialog").get_by_role("listitem")).to_have_count(
            2 * number + 2
        )
        while len(tab.view["turns"]) < 2 * number + 2:
            tab.page.wait_for_timeout(20)
    turns = tab.view["turns"]
    first = load("dialog-context").predict("U: who made Logan ?").text
    assert turns[1] == first
    asked = f"U: who made Logan ? | B: {first} | U: and when ?"
    assert turns[3] == load("dialog-context").predict(asked).text
    tab.page.locator(".rg-chat svg").first.wait_for()
    tab.page.set_viewport_size(PHONE)
    send = tab.page.get_by_role("button", name="send", exact=True).bounding_box()
    assert send is not None and send["height"] < 40 and send["x"] + send["width"] <= PHONE["width"]
    tab.page.set_viewport_size(DESK)
    tab.page.locator(".rg-stage .at-weight").first.click()
    tab.choose("Look only here")
    tab.until('"edit":"pin"')
    edited = load("dialog-context").predict(asked, look=tab.view["edits"])
    expect(tab.page.locator(".rg-piece-text")).to_have_text([one or "∅" for one in edited.trace.output])
    assert tab.view["turns"] == turns


def test_another_output_is_scored(tab: Tab, load: Any) -> None:
    model = load("translation")
    data = open_dataset(model, (), ["test"])
    tab.row("translation")
    tab.choose("the truth")
    tab.until('"target"')
    truth = data.references(0, next(iter(model.spec.outputs)))[0]
    scored = model.score(data.raw(0)["source"], truth)
    expect(tab.page.locator(".rg-output .rg-under span").first).to_have_text(f"log p {_number(scored.score)}")
    tab.choose("its own")
    tab.agrees()


def test_a_language_model_writes_on(tab: Tab, load: Any) -> None:
    tab.open("lm", inputs={"text": "the dog"})
    tab.page.locator(".rg-stage svg").first.wait_for()
    tab.choose("continue it")
    expect(tab.page.get_by_role("region", name="Continuation")).to_contain_text("the dog")


def test_views_are_downloaded_and_copied(tab: Tab, load: Any) -> None:
    tab.row("translation")
    for kind in ("svg", "json", "trace", "html"):
        with tab.page.expect_download() as found:
            tab.choose(f"download {kind.upper()}")
        assert found.value.suggested_filename == f"translation.{kind}"
        content = Path(found.value.path()).read_bytes()
        if kind == "json":
            assert json.loads(content)["text"] == tab.computed().text
        if kind == "svg":
            assert content.startswith(b"<svg")
    tab.page.get_by_text("Command", exact=True).click()
    expect(tab.page.locator("pre").last).to_contain_text("regard show")


def test_questions_are_asked(tab: Tab, load: Any) -> None:
    model = load("translation")
    text = open_dataset(model, (), ["test"]).raw(0)["source"]
    own = model.predict(text).trace.output[0]
    pins = [{"edit": "pin", "step": 0, "position": place} for place in range(5)]
    other = [one for pin in pins if (one := model.predict(text, look=[pin]).trace.output[0]) != own]
    tab.open("translation", inputs={"source": text})
    tab.page.get_by_label("What look makes it say").fill(other[0] if other else own)
    tab.choose("ask")
    asked = tab.page.get_by_role("region", name="Ask")
    expect(asked.locator(".rg-found")).to_contain_text(other[0] if other else own, timeout=20_000)
    if other:
        tab.choose("try this look")
        found = tab.agrees("weights")
        assert found.trace is not None and found.trace.output[0] == other[0]
    tab.choose("training rows alike here")
    asked.get_by_role("button", name="open").first.wait_for(timeout=20_000)


def test_hostile_text_is_shown_as_text(tab: Tab) -> None:
    attack = "</script><img src=x onerror=document.title='owned'> <b>bold</b> \u202eabc"
    tab.open("translation", inputs={"source": attack})
    tab.page.locator(".rg-stage svg").first.wait_for()
    assert tab.page.locator("main img, main b:not(.rg-up):not(.rg-down)").count() == 0
    assert "onerror" in tab.page.locator(".rg-stage").text_content()
    assert "\u202e" not in tab.page.locator(".rg-stage").text_content()
    assert tab.page.title() == "regard studio"


def test_the_keyboard_is_enough(tab: Tab) -> None:
    tab.row("translation")
    page = tab.page
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(
            "document.activeElement?.classList.contains('at-weight') || !!document.activeElement?.dataset?.n"
        ):
            break
    assert page.evaluate("document.activeElement.hasAttribute('data-n')")
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.classList.contains('at-weight')")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "Look only here"
    page.keyboard.press("Enter")
    tab.agrees("pin")
    page.keyboard.press("Control+z")
    tab.until('"edits":[]')
    tab.agrees()


def test_a_mistake_is_told_on_the_page(tab: Tab) -> None:
    tab.open(
        "translation",
        inputs={"source": "a b"},
        edits=[{"edit": "pin", "input": "source", "step": 0, "position": 99}],
    )
    expect(tab.page.get_by_role("alert")).to_contain_text("position")
    tab.said.clear()  # a refused request


STATES: dict[str, dict[str, Any]] = {
    "look": {"run": "translation", "inputs": {"source": {"row": 0, "split": "test"}}},
    "edited": {
        "run": "translation",
        "inputs": {"source": {"row": 0, "split": "test"}},
        "edits": [{"edit": "pin", "input": "source", "step": 1, "position": 0}],
    },
    "image": {"run": "caption", "inputs": {"image": {"row": 0, "split": "test"}}},
    "tree": {"run": "parser-crf", "inputs": {"words": {"row": 0, "split": "test"}}},
    "compare": {
        "run": "translation",
        "other": "second",
        "mode": "compare",
        "inputs": {"source": {"row": 0, "split": "test"}},
    },
    "chat": {"run": "dialog-context", "mode": "chat", "turns": ["who made Logan ?"]},
    "text": {"run": "lm", "inputs": {"text": "the dog sleeps"}},
}


@pytest.mark.parametrize("state", STATES)
def test_every_view_is_accessible_fits_a_phone_and_is_dark(tab: Tab, state: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    view = dict(STATES[state])
    tab.open(view.pop("run"), **view)
    tab.page.locator("main svg").first.wait_for()
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        expect(tab.page.locator("#studio")).to_have_attribute("data-theme", scheme)
        paper = tab.page.evaluate("getComputedStyle(document.getElementById('studio')).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (scheme == "dark")
        found = axe.run(tab.page, options={"resultTypes": ["violations"]}).response["violations"]
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == []
    tab.page.set_viewport_size(PHONE)
    tab.page.wait_for_timeout(50)
    wide = tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
