"""A small model that reverses words, and one that tells whether a word has an a: trained for seconds."""

from __future__ import annotations

import random
from typing import Any

import torch

from regard import Model, Spec

LETTERS = "abcdef"


def words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(LETTERS, k=draw.randint(2, 5))) for _ in range(count)]


def rows(count: int = 700, seed: int = 0) -> list[dict[str, str]]:
    return [
        {"source": word, "target": " ".join(word[::-1].upper()), "topic": "yes" if "a" in word else "no"}
        for word in words(count, seed)
    ]


def trained(
    *, epochs: int = 10, seed: int = 0, data: list[dict[str, str]] | None = None, **parts: Any
) -> Model:
    """A model of reversed words, by Adam; `parts` replace parts of the spec."""
    document: dict[str, Any] = {
        "inputs": {"source": {"type": "text", "unit": "char"}},
        "outputs": {"target": {"type": "text", "unit": "word"}},
        "encoder": {"size": 24, "embedding": 12},
        "attention": {"score": "additive"},
        "decoder": {"size": 32, "embedding": 12},
        **parts,
    }
    torch.manual_seed(seed)
    data = rows() if data is None else data
    model = Model.build(Spec.parse({key: one for key, one in document.items() if one}), rows=data)
    optimizer = torch.optim.Adam(model.network.parameters(), lr=0.01)
    batches = model.batches(data, batch_rows=32, seed=seed)
    model.network.train()
    for epoch in range(epochs):
        for batch in batches.epoch(epoch):
            loss = sum(one.total / one.count for one in model.network(batch).values())
            optimizer.zero_grad()
            torch.as_tensor(loss).backward()
            optimizer.step()
    model.network.eval()
    return model
