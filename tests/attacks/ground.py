"""The folder in which attacks take place: small runs of several kinds, made once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

import regard
from regard import zoo
from tests.documents.samples import samples

SMALL = "training.steps=2 training.evaluate_every=2 encoder.size=8 encoder.embedding=8"
WORDS = [f"{a}{b}{c}" for a in "bcd" for b in "aeiou" for c in "nrst"]


def make_ground(folder: Path) -> Path:
    """words.tsv, and runs/words (trained for two steps), runs/label, runs/lm, runs/dialog, runs/caption and
    runs/tagger (untrained)."""
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    lines = "".join(f"{word}\t{' '.join(word.upper())}\n" for word in WORDS)
    (folder / "words.tsv").write_text(lines, encoding="utf-8")
    for name, system in (
        ("lm", "lm-char"),
        ("dialog", "dialog-context"),
        ("caption", "caption"),
        ("tagger", "tagger-crf"),
        ("label", "document-class-flat"),
    ):
        spec = zoo.find(system)
        regard.model.build(spec, rows=samples(spec)).save(folder / "runs" / name)
    command = [sys.executable, "-m", "regard", "train", "words.tsv", "--set", "search.max_length=6"]
    settings = [word for setting in SMALL.split() for word in ("--set", setting)]
    subprocess.run([*command, *settings], cwd=folder, check=True, capture_output=True)
    regard.load(folder / "runs" / "words", device="cpu").predict(WORDS[0])  # compiles what many attacks need
    return folder
