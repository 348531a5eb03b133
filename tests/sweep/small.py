"""A tiny task for sweeps: does a row have more than two of the letters a and b?"""

from __future__ import annotations

import random
from pathlib import Path

ROWS = {"train": 120, "dev": 40, "test": 40}
SPEC = """\
inputs:   {source: {type: text, unit: word}}
outputs:  {target: {type: label}}
encoder:  {type: recurrent, cell: gru, size: 8, embedding: 4}
decoder:  {type: label}
training: {epochs: %(epochs)d, batch_rows: 20, lr: 0.01, metric: loss}
data:     {train: %(at)s/train.tsv, dev: %(at)s/dev.tsv, test: %(at)s/test.tsv}
"""
VARY = ("encoder.size=4..16", "training.lr=1e-3..1e-1:log", "encoder.cell=gru,lstm")


def small_task(folder: Path, *, epochs: int = 2) -> Path:
    """Write the rows and the spec of the task, and return the spec."""
    drawn = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in ROWS.items():
        lines = ["source\ttarget"]
        for _ in range(count):
            letters = [drawn.choice("abcdef") for _ in range(drawn.randint(3, 7))]
            many = letters.count("a") + letters.count("b") > 2
            lines.append(f"{' '.join(letters)}\t{'yes' if many else 'no'}")
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    path = folder / "small.yaml"
    path.write_text(SPEC % {"at": folder.absolute(), "epochs": epochs})
    return path
