"""Pictures of every view of the studio, and a short walk through it, made from trained runs in a real browser.

    regard train g2p; regard train translation; …
    python bench/screenshots.py                        runs/* → docs/figures/studio/*.png and walk.gif
    python bench/screenshots.py --runs experiments --only caption walk

A view is taken light, dark and on a phone's width, if its run is there; the table says which are not. Needs Chromium
and playwright. Exit status 1 if a picture is larger than its bar.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image, ImageDraw, ImageFont
from written import parse, write_json

import regard

FOLDER = Path("docs/figures/studio")
MOST, MOST_WALK = 150_000, 2_000_000
DESK, PHONE = {"width": 1180, "height": 760}, {"width": 390, "height": 780}
WALK = {"width": 1120, "height": 740}


@dataclass(frozen=True)
class Shot:
    """A view: the runs it needs, its state in the address, and what is clicked before it is taken.

    clicks   (role, name) of what is clicked
    """

    name: str
    runs: tuple[str, ...]
    state: dict[str, Any]
    clicks: Sequence[tuple[str, str]] = ()
    waits: str = "main svg"
    height: int = DESK["height"]


def pin(name: str, step: int, position: int) -> dict[str, Any]:
    return {"edit": "pin", "input": name, "step": step, "position": position}


ENGLISH = "the old doctor saw the small cat in the garden"
SHOTS = [
    Shot("look", ("g2p",), {"inputs": {"word": "knight"}}),
    Shot("edit", ("g2p",), {"inputs": {"word": "knight"}, "edits": [pin("word", 0, 0)]}),
    Shot("search", ("g2p",), {"inputs": {"word": "knight"}, "panel": "beam"}),
    Shot("states", ("g2p",), {"inputs": {"word": "knight"}, "panel": "states: decoder"}, height=900),
    Shot("translation", ("translation",), {"inputs": {"source": {"row": 1, "split": "test"}}}, height=860),
    Shot("rows", ("translation",), {}, [("button", "pick from the data")], ".rg-rows li"),
    Shot(
        "image",
        ("caption",),
        {
            "inputs": {"image": {"row": 1, "split": "test"}},
            "edits": [{"edit": "region", "input": "image", "step": 1, "box": [0.0, 0.0, 0.5, 0.5]}],
        },
    ),
    Shot("tree", ("parser-crf",), {"inputs": {"words": {"row": 17, "split": "test"}}}, height=900),
    Shot("segments", ("translation-segments-word",), {"inputs": {"source": {"row": 1, "split": "test"}}}),
    Shot(
        "compare",
        ("translation", "translation-segments-word"),
        {
            "mode": "compare",
            "other": "translation-segments-word",
            "inputs": {"source": {"row": 29, "split": "test"}},
        },
        height=900,
    ),
    Shot("chat", ("dialog-context",), {"mode": "chat", "turns": ["who directed Logan ?"]}),
    Shot(
        "story", ("facts",), {"inputs": {one: {"row": 0, "split": "test"} for one in ("story", "question")}}
    ),
    Shot(
        "pair",
        ("nli-self",),
        {"inputs": {one: {"row": 0, "split": "test"} for one in ("premise", "hypothesis")}},
    ),
    Shot(
        "question",
        ("image-qa-attention",),
        {"inputs": {one: {"row": 5, "split": "test"} for one in ("image", "question")}, "output": "answer"},
    ),
    Shot(
        "surprisal", ("lm-char",), {"inputs": {"text": "The while statement is used for repeated execution."}}
    ),
]


@contextmanager
def browsing() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(page: Any, studio: Any, state: dict[str, Any], waits: str = "main svg") -> None:
    view = {"mode": "look", "inputs": {}, "edits": [], **state}
    page.goto("about:blank")
    page.goto(f"{studio.url}#{quote(json.dumps(view))}")
    if not state.get("inputs") and "turns" not in state:
        waits = "main"
    page.locator(waits).first.wait_for(timeout=60_000)
    page.wait_for_timeout(250)


def answered(page: Any) -> None:
    """Wait until nothing is computed any more."""
    page.locator('[aria-busy="true"]').first.wait_for(state="detached", timeout=60_000)
    page.wait_for_timeout(200)


def small(content: bytes, colors: int = 128) -> bytes:
    """A PNG with few colors."""
    found = io.BytesIO()
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture.quantize(colors, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        found, "PNG", optimize=True
    )
    return found.getvalue()


def take(browser: Any, studio: Any, shot: Shot) -> dict[str, bytes]:
    """The pictures of a view, by their names."""
    found = {}
    for suffix, size, scheme in (("", DESK, "light"), ("-dark", DESK, "dark"), ("-narrow", PHONE, "light")):
        size = {**size, "height": shot.height} if size is DESK else size
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        page = context.new_page()
        opened(page, studio, {"run": shot.runs[0], **shot.state})
        for role, name in shot.clicks:
            page.get_by_role(role, name=name, exact=True).click()
        page.locator(shot.waits).first.wait_for(timeout=60_000)
        answered(page)
        found[f"{shot.name}{suffix}.png"] = small(page.screenshot())
        context.close()
    return found


@dataclass
class Walk:
    """Frames with what is done in each."""

    page: Any
    frames: list[tuple[Image.Image, int]] = field(default_factory=list)
    at: tuple[float, float] = (WALK["width"] / 2, WALK["height"] / 2)

    def show(self, words: str, milliseconds: int) -> None:
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        framed = Image.new("RGB", (picture.width, picture.height + 44), "#1c2030")
        framed.paste(picture, (0, 0))
        draw = ImageDraw.Draw(framed)
        draw.text((20, picture.height + 11), words, fill="#eceef4", font=_font(18))
        _cursor(draw, *self.at)
        self.frames.append((framed, milliseconds))

    def move(self, x: float, y: float, words: str, steps: int = 3) -> None:
        start = self.at
        for step in range(1, steps + 1):
            share = step / steps
            self.at = start[0] + share * (x - start[0]), start[1] + share * (y - start[1])
            self.page.mouse.move(*self.at)
            self.show(words, 130)

    def to(self, target: Any, words: str, *, top: bool = False) -> None:
        box = target.bounding_box()
        self.move(box["x"] + box["width"] / 2, box["y"] + (1 if top else box["height"] / 2), words)

    def click(self, target: Any, words: str, milliseconds: int = 900, *, top: bool = False) -> None:
        """top: at its upper edge, where an arc is"""
        self.to(target, words, top=top)
        self.page.mouse.down()
        self.page.mouse.up()
        self.page.wait_for_timeout(300)
        answered(self.page)
        self.show(words, milliseconds)

    def gif(self) -> bytes:
        pictures = [picture.quantize(64, dither=Image.Dither.NONE) for picture, _ in self.frames]
        found = io.BytesIO()
        times = [milliseconds for _, milliseconds in self.frames]
        pictures[0].save(
            found,
            "GIF",
            save_all=True,
            append_images=pictures[1:],
            duration=times,
            loop=0,
            optimize=True,
            disposal=1,
        )
        return found.getvalue()


def _font(size: int) -> Any:
    for name in ("DejaVuSans.ttf", "LiberationSans-Regular.ttf", "Arial.ttf"):
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def _cursor(draw: Any, x: float, y: float) -> None:
    shape = [(0, 0), (0, 17), (4, 13), (7, 20), (10, 19), (7, 12), (12, 12)]
    draw.polygon([(x + dx, y + dy) for dx, dy in shape], fill="black", outline="white")


def walk(browser: Any, studio: Any, runs: Sequence[str]) -> bytes:
    """About half a minute: type, edit, drag, mask, look further, and the image if there is one."""
    context = browser.new_context(viewport=WALK, color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    opened(page, studio, {"run": "g2p", "inputs": {"word": "knigh"}})
    one = Walk(page)
    words = "regard studio runs/g2p: type a word, see how it is pronounced, and where the model looks"
    one.show(words, 900)
    page.get_by_role("textbox").first.fill("knight")
    page.keyboard.press("Enter")
    page.wait_for_timeout(700)
    one.show(words, 2200)
    cell = lambda step, position: page.locator(".rg-stage .row").nth(step).locator(".at-weight").nth(position)  # noqa: E731
    words = "The k is silent. What if the first sound must look at the k?"
    one.click(cell(0, 0), words, 1200)
    one.click(page.get_by_role("button", name="Look only here", exact=True), words, 1000)
    one.show("It says the k. Changed pieces are marked, with the change of log p of the others", 3200)
    words = "Drag a weight up, and the output follows"
    one.to(cell(1, 3), words)
    page.mouse.down()
    x, y = one.at
    for up in (20, 50, 80, 110):
        one.move(x, y - up, words, 1)
        page.wait_for_timeout(350)
    page.mouse.up()
    page.wait_for_timeout(300)
    answered(page)
    one.show(words, 2000)
    words = "Every edit can be taken back; the address keeps the state"
    undo = page.get_by_role("button", name="undo", exact=True)
    one.click(undo, words, 900)
    one.click(undo, words, 1400)
    words = "Look further: the search as a tree, gates and states …"
    for title in ("The search as a tree", "Gates and states: decoder"):
        one.click(page.get_by_role("tab", name=title, exact=True), words, 2600)
    if "caption" in runs:
        words = "An image: draw a region, and the caption is written again from there"
        opened(page, studio, {"run": "caption", "inputs": {"image": {"row": 1, "split": "test"}}})
        one.show("An image, and where the model looks for each word", 2000)
        box = page.locator(".at-plane").nth(1).bounding_box()
        one.move(box["x"] + 3, box["y"] + 3, words)
        page.mouse.down()
        one.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, words)
        page.mouse.up()
        page.wait_for_timeout(300)
        answered(page)
        one.show(words, 3000)
    if "parser-crf" in runs:
        opened(page, studio, {"run": "parser-crf", "inputs": {"words": {"row": 17, "split": "test"}}})
        words = "A tree: forbid an arc, and see which others change"
        page.mouse.wheel(0, 130)
        page.wait_for_timeout(300)
        one.show(words, 1500)
        one.click(page.locator(".at-arc").nth(2), words, 1200, top=True)
        one.click(page.get_by_role("button", name="Forbid this arc", exact=True), words, 3200)
    context.close()
    return one.gif()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="the folder with the trained runs")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER)
    parser.add_argument("--only", nargs="+", default=[], help="names of views")
    options = parse(parser)
    wanted = [shot for shot in SHOTS if not options.only or shot.name in options.only]
    needed = dict.fromkeys(run for shot in wanted for run in shot.runs)
    if not options.only or "walk" in options.only:
        needed |= dict.fromkeys(("g2p", "caption", "parser-crf"))
    here = [run for run in needed if (options.runs / run / "model.safetensors").is_file()]
    options.output.mkdir(parents=True, exist_ok=True)
    sizes: dict[str, int] = {}
    with (
        regard.studio.start(*(options.runs / run for run in here), browser=False, device="cpu") as studio,
        browsing() as browser,
    ):
        for shot in wanted:
            if not set(shot.runs) <= set(here):
                print(
                    f"{shot.name:20} left out: no {', '.join(set(shot.runs) - set(here))} in {options.runs}"
                )
                continue
            for name, content in take(browser, studio, shot).items():
                (options.output / name).write_bytes(content)
                sizes[name] = len(content)
                print(f"{name:28}{len(content):>9,} bytes")
        if "g2p" in here and (not options.only or "walk" in options.only):
            content = walk(browser, studio, here)
            (options.output / "walk.gif").write_bytes(content)
            sizes["walk.gif"] = len(content)
            print(f"{'walk.gif':28}{len(content):>9,} bytes")
    write_json(options.json, {"bytes": sizes})
    large = [name for name, size in sizes.items() if size > (MOST_WALK if name == "walk.gif" else MOST)]
    if large:
        print(f"too large: {', '.join(large)}")
    sys.exit(1 if large else 0)


if __name__ == "__main__":
    main()
