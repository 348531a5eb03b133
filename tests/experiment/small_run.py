"""A small run in a folder of its own, for tests of what happens to its files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from regard.cli import main
from regard.fitting.experiment import Experiment

SPEC = """
name: small
inputs:    {source: {type: text, unit: char}}
outputs:   {target: {type: text, unit: char}}
encoder:   {type: recurrent, cell: gru, size: 4, embedding: 4}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 4, embedding: 4}
training:  {steps: 2, batch_rows: 8, evaluate_every: 2}
search:    {max_length: 4}
data:      {train: words.tsv, dev: dev.tsv}
"""


def pairs(count: int) -> list[tuple[str, str]]:
    words = [f"{number:b}".replace("1", "a").replace("0", "b") for number in range(1, count + 1)]
    return [(word, word[::-1]) for word in words]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def train(*arguments: str) -> int:
    """`regard train` in this process; its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["regard", "train", *arguments, "--device", "cpu", "-q"])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def start(what: str = "my.yaml", **options: object) -> Experiment:
    return Experiment.start(what, run=Path("run"), device="cpu", quiet=True, **options)  # type: ignore[arg-type]
