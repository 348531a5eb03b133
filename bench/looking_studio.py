"""A run asked through the studio's server: every endpoint, panel, edit and download (`bench/looking.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx

import regard
from regard.fitting.experiment import Experiment
from tests.studio.client import Client

KINDS = ("svg", "json", "html", "trace")


def studio_look(experiment: Experiment) -> tuple[Any, str, int]:
    """The description of the run, what is wrong with its answers, and the bytes of one look."""
    with regard.studio.start(experiment.run, browser=False, device="cpu") as started:
        asking = _Asking(Client(started))
        try:
            wrong = "; ".join(asking.faults())
        finally:
            asking.client.close()
    return asking.about, wrong, asking.size


class _Asking:
    """Asks for everything that the page can ask. Status 500 is a fault; a refusal is one where an answer is due."""

    def __init__(self, client: Client) -> None:
        self.client, self.size = client, 0
        self.about: dict[str, Any] = client.get("/api/runs").json()["runs"][0]

    def faults(self) -> Iterator[str]:
        about = self.about
        if "error" in about:
            yield f"runs: {about['error']}"
            return
        name = about["name"]
        yield from self._fault("rows", "rows", run=name, count=3)
        if about["kind"] == "continues":
            text = {about["inputs"][0]["name"]: "The cat"}
            yield from self._fault("look", "look", run=name, inputs=text)
            yield from self._fault("continue", "continue", run=name, prompt="The ", length=4)
            return
        strange = self.client.done(self.client.ask("rows", run=name, sort="strange"))
        if "error" in strange:
            yield f"strange: {strange['error']['message']}"
        inputs = {one["name"]: {"row": 0} for one in about["inputs"]}
        for output in about["outputs"]:
            yield from self._of_output({"run": name, "inputs": inputs, "output": output})

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
