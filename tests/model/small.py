"""Rows, specs and models small enough to build in a test."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from regard import Model, Spec
from regard.data import Row
from regard.model.building import fit_columns, make_columns

LETTERS = "abcdefgh"


def words(count: int, seed: int = 0) -> list[str]:
    generator = random.Random(seed)
    return ["".join(generator.choices(LETTERS, k=generator.randint(2, 7))) for _ in range(count)]


def rows(count: int = 40) -> list[Row]:
    """A word, its letters reversed in capitals, the alignment, whether it has an a, which of a, b and c and where,
    case of each letter."""
    made = []
    for word in words(count):
        n = len(word)
        made.append(
            Row(
                {
                    "source": word,
                    "target": " ".join(word[::-1].upper()),
                    "alignment": " ".join(f"{n - 1 - t}-{t}" for t in range(n)),
                    "topic": "yes" if "a" in word else "no",
                    "letters": "|".join(letter for letter in "abc" if letter in word),
                    "places": " ".join(f"{one}:{place}" for place, one in enumerate(word) if one in "abc"),
                    "tags": " ".join("V" if letter in "ae" else "C" for letter in word),
                }
            )
        )
    return made


def spec(**parts: Any) -> Spec:
    document: dict[str, Any] = {
        "inputs": {"source": {"type": "text", "unit": "char"}},
        "outputs": {"target": {"type": "text", "unit": "word"}},
        "encoder": {"size": 8, "embedding": 6},
        "attention": {"score": "additive"},
        "decoder": {"size": 10, "embedding": 6},
    }
    document.update(parts)
    return Spec.parse({key: value for key, value in document.items() if value is not None})


def build(described: Spec, data: Sequence[Row] | None = None, *, seed: int = 0) -> Model:
    torch.manual_seed(seed)
    columns = make_columns(described)
    fit_columns(columns, described, lambda: data or rows())
    return Model.build(described, columns).eval()
