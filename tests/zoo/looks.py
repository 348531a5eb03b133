"""A trained run, looked into in every way: `show`, a trace that is kept, the studio's endpoints, its page.

Each look is an iterator of faults, in words; `bench/looking.py` takes them of all systems, a test of a few.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
from typer.testing import CliRunner

from regard import Trace
from regard.cli.main import app
from regard.evaluation import open_dataset
from regard.live import scene_json
from regard.model.recording import read_recording
from regard.report import Report
from regard.studio.serving import Studio
from tests.inspect.browser import browser as find_browser
from tests.studio.client import Client

RECORD = ("states", "beam", "potentials", "times")
KINDS = ("svg", "json", "html", "trace")
EQUAL = 1e-6
LARGEST = 5_000_000


def show_faults(model: Any, folder: Path) -> Iterator[str]:
    """`regard show` of the first test row, in the terminal and as a figure."""
    figure = folder / "look.svg"
    row = open_dataset(model, (), ["test"]).raw(0) if model.continues else {}
    for output in model.spec.outputs:
        if model.continues:
            how = [str(row["text"])[:40]]
        else:
            how = ["--row", "0", "--split", "test"] + (
                ["--of", output] if len(model.spec.outputs) > 1 else []
            )
        for more in ([], ["-o", str(figure), "--overwrite"]):
            done = CliRunner().invoke(app, ["show", str(folder), *how, *more, "--device", "cpu"])
            if done.exit_code:
                yield f"show {' '.join(more[:1])}: {done.exception or done.output[-200:]}"
            elif not more and not done.stdout.strip():
                yield "show prints nothing"
            elif more and "</svg>" not in figure.read_text(encoding="utf-8"):
                yield "show writes no figure"


def trace_faults(model: Any, folder: Path) -> Iterator[str]:
    """What is recorded equals what is computed fast, and a file keeps all of it."""
    if model.continues:
        return
    batch = open_dataset(model, (), ["test"]).batch([0])
    for output in model.spec.outputs:
        plain = model.answer(batch, output=output)[0]
        found = model.answer(batch, output=output, recording=read_recording(RECORD))[0]
        if plain.trace is None or found.trace is None:
            continue
        if found.text != plain.text or not np.isclose(found.score, plain.score, rtol=EQUAL, atol=EQUAL):
            yield f"recorded: {found.text!r} {found.score}, else {plain.text!r} {plain.score}"
        for over, rows in plain.trace.attention.items():
            if np.abs(rows - found.trace.attention[over]).max() > EQUAL:
                yield f"the recorded attention over {over} is another"
        path = folder / "look.trace"
        found.trace.save(path)
        again = Trace.load(path)
        if json.dumps(again.to_dict()) != json.dumps(found.trace.to_dict()):
            yield "the trace that was read is not the one that was written"
        if scene_json(again.plot()) != scene_json(found.trace.plot()):
            yield "the trace that was read is drawn otherwise"
        if [one.name for one in again.panels()] != [one.name for one in found.trace.panels()]:
            yield "the trace that was read has other panels"


def report_faults(found: Report) -> Iterator[str]:
    """A report is a page of all its sections, and not too large."""
    size = len(found.html().encode())
    if size > LARGEST:
        yield f"{size:,} bytes"
    needed = {"At a glance", "Scores", "Data", "The model", "Environment", "Make it again"}
    missing = needed - {section.heading for section in found.sections}
    if missing:
        yield f"lacks {', '.join(sorted(missing))}"


class Asking:
    """Asks a studio for everything that its page can ask.

    Status 500 is a fault; a refusal is one where an answer is due.
    """

    def __init__(self, client: Client, run: str | None = None) -> None:
        self.client, self.size = client, 0
        runs = client.get("/api/runs").json()["runs"]
        self.about: dict[str, Any] = next(one for one in runs if run in (None, one["name"]))

    def faults(self) -> Iterator[str]:
        about = self.about
        if "error" in about:
            yield f"runs: {about['error']}"
            return
        name = about["name"]
        yield from self._fault("rows", "rows", run=name, count=3)
        if about["kind"] == "continues":
            text = {about["inputs"][0]["name"]: "the cat"}
            yield from self._fault("look", "look", run=name, inputs=text)
            yield from self._fault("continue", "continue", run=name, prompt="the ", length=4)
            return
        strange = self.client.done(self.client.ask("rows", run=name, sort="strange"))
        if "error" in strange:
            yield f"strange: {strange['error']['message']}"
        for output in about["outputs"]:
            yield from self._of_output({"run": name, "inputs": self.inputs, "output": output})

    @property
    def inputs(self) -> dict[str, Any]:
        return {one["name"]: {"row": 0} for one in self.about["inputs"]}

    def _of_output(self, asked: dict[str, Any]) -> Iterator[str]:
        answer = self.client.ask("look", **asked)
        if answer.status_code != 200:
            yield f"look: {answer.text[:200]}"
            return
        self.size = max(self.size, len(answer.content))
        told = answer.json()
        for panel in told["panels"]:
            yield from self._fault(f"panel {panel['name']}", "look", **asked, panel=panel["name"])
        for edit in (
            {"edit": "uniform", "step": None},
            {"edit": "pin", "step": 0, "position": 0},
            {"edit": "mask", "input": self.about["inputs"][0]["name"], "positions": [0]},
            {"edit": "arc", "head": 0, "dependent": 1, "how": "forbid"},
            {"edit": "segment", "step": 0, "start": 0, "end": 1, "how": "force"},
        ):
            yield from self._fault(f"edit {edit['edit']}", "look", may_refuse=True, **asked, edits=[edit])
        for kind in KINDS:
            yield from self._fault(f"download {kind}", "download", **asked, **{"as": kind})
        word = told["pieces"][0]["text"] if told["pieces"] else told["text"]
        for what, more in (("why", {"step": 0, "word": word}), ("like", {"step": 0})):
            found = self.client.done(self.client.ask(what, **asked, **more))
            if "this is a bug" in found.get("error", {}).get("message", ""):
                yield f"{what}: {found['error']['message']}"

    def _fault(self, what: str, path: str, *, may_refuse: bool = False, **asked: Any) -> Iterator[str]:
        answer: httpx.Response = self.client.ask(path, **asked)
        if answer.status_code >= 500 or (answer.status_code != 200 and not may_refuse):
            yield f"{what}: {answer.status_code} {answer.text[:200]}"


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium; None where there is none."""
    executable = find_browser()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        executable = None
    if executable is None:
        yield None
        return
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


def page_faults(chromium: Any, studio: Studio, asking: Asking) -> Iterator[str]:
    """The page of the first row, drawn alive: nothing is logged, and no request fails."""
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda one: said.append(one.text) if one.type in ("error", "warning") else None)
    inputs = {name: {**given, "split": "test"} for name, given in asking.inputs.items()}
    view = {"run": asking.about["name"], "mode": "look", "inputs": inputs, "edits": []}
    if asking.about["kind"] == "continues":
        view["inputs"] = {asking.about["inputs"][0]["name"]: "the cat"}
    page.goto(f"{studio.url}#{quote(json.dumps(view))}")
    try:
        page.locator(".rg-output, .rg-figure svg").first.wait_for(timeout=60_000)
        if (
            asking.about["kind"] != "continues"
            and not page.locator(".rg-stage svg, .rg-stage .rg-muted").count()
        ):
            said.append("no figure")
    except Exception as error:  # a page that does not come is a result
        said.append(f"{type(error).__name__}: {page.locator('body').inner_text()[:200]}")
    yield from (f"page: {one}" for one in said)
    context.close()
