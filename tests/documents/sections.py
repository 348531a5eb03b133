"""The sections of docs/machines.md and their blocks, which `bench/machines.py` runs as they are printed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.documents.pages import ROOT

PAGE = ROOT / "docs" / "machines.md"
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.S | re.M)
SPEC = """
inputs:    {source: {type: text, unit: char}}
outputs:   {target: {type: text, unit: char}}
encoder:   {type: recurrent, cell: gru, size: 8, embedding: 8}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 8, embedding: 8}
training:  {steps: 6, batch_rows: 8, evaluate_every: 3}
search:    {max_length: 8}
data:      {train: words.tsv, dev: dev.tsv}
"""
"""`my.yaml` of the page."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page where it begins."""

    language: str
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        joined = re.sub(r"\\\n\s*", "", self.text)
        return [line.strip() for line in joined.splitlines() if line.strip() and line.strip()[0] != "#"]


def sections(page: str | None = None) -> dict[str, list[Block]]:
    """Heading → the blocks below it that are run."""
    text = PAGE.read_text(encoding="utf-8") if page is None else page
    found: dict[str, list[Block]] = {}
    heading, places = "", [(one.start(), one[1]) for one in re.finditer(r"^## (.+)$", text, re.M)]
    for block in FENCE.finditer(text):
        heading = next((name for place, name in reversed(places) if place < block.start()), "")
        if block[1] in ("bash", "python"):
            line = text[: block.start()].count("\n") + 2
            found.setdefault(heading, []).append(Block(block[1], block[2], line))
    return found
