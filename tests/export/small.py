"""Models small enough to be exported in a test, trained for a moment so that their answers differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from regard import Model
from tests.model.small import build, rows, spec, words

UNSEEN = [*words(12, seed=5), "a", "abcdefghabcdefghabcdefgh", "hxh"]
"""Inputs of lengths from 1 to 24, one with an unknown letter."""
TRANSFORMER = {"type": "transformer", "size": 16, "embedding": 16, "layers": 2, "heads": 2}

LABEL: dict[str, Any] = {
    "outputs": {"topic": {"type": "label"}},
    "encoder": {"type": "mean", "embedding": 6},
    "decoder": {"type": "label"},
    "attention": None,
}
"""A label from the mean of the letters: the cheapest model to export."""


def trained(steps: int = 60, **parts: Any) -> Model:
    """A model after some steps of Adam on 40 rows."""
    model = build(spec(**parts))
    batches = list(model.batches(rows(), batch_rows=20).epoch(0))
    optimizer = torch.optim.Adam(model.network.parameters(), lr=0.03)
    model.network.train()
    for step in range(steps):
        losses = model.network(batches[step % len(batches)])
        optimizer.zero_grad()
        torch.stack([loss.total / loss.count for loss in losses.values()]).sum().backward()
        optimizer.step()
    return model.eval()


def saved(model: Model, folder: Path) -> Model:
    """The model as it is loaded from a folder."""
    model.save(folder)
    return Model.load(folder, device="cpu")
