"""Small models and batches shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from regard.data.batch import Tokens
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder

VOCABULARY = 11


def tokens(*rows: list[int], width: int | None = None) -> Tokens:
    """Rows of ids, padded; `width` adds more padding than needed."""
    longest = max([len(row) for row in rows] + [width or 0])
    ids = torch.zeros(len(rows), longest, dtype=torch.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row, dtype=torch.int64)
    return Tokens(ids, torch.tensor([len(row) for row in rows]))


SOURCE = tokens([4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4])
TARGET = tokens([5, 6], [7, 8, 9, 10], [4])


def model(
    *,
    seed: int = 0,
    score: str = "additive",
    select: str = "softmax",
    condition: tuple[str, ...] = ("start", "attention"),
    vocabulary: int = VOCABULARY,
    dtype: torch.dtype = torch.float32,
    encoder_options: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[RecurrentEncoder, RecurrentDecoder]:
    """A small encoder "source" and a decoder that attends to it, with weights far from zero."""
    torch.manual_seed(seed)
    size = options.pop("size", 6)
    encoder = RecurrentEncoder(Embedding(vocabulary, 5), size=4, **(encoder_options or {}))
    attention = None
    if "attention" in condition:
        attention = {"source": Attention(size, encoder.value_size, score=score, select=select)}
    decoder = RecurrentDecoder(
        Embedding(vocabulary, options.pop("embedding", 5)),
        {"source": encoder},
        size=size,
        condition=condition,  # type: ignore[arg-type]
        attention=attention,
        **options,
    )
    for parameter in [*encoder.parameters(), *decoder.parameters()]:
        torch.nn.init.normal_(parameter, std=0.6)
    return encoder.to(dtype), decoder.to(dtype)


@pytest.fixture
def build() -> Callable[..., tuple[RecurrentEncoder, RecurrentDecoder]]:
    return model
