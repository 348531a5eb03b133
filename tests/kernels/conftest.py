"""A small encoder and decoder with attention, and a batch of any number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
from regard.nn.memory import Memory
from regard.nn.packing import Packing, shifted

VOCABULARY = 11


@dataclass
class Taught:
    """A decoder, its memory, and its target output."""

    encoder: RecurrentEncoder
    decoder: RecurrentDecoder
    memory: Memory
    previous: Tensor
    targets: Tensor
    packing: Packing

    def loss(self, *, plain: bool) -> tuple[Tensor, Tensor]:
        """The loss of the target, and the attention weights."""
        unroll = self.decoder.unroll_plain if plain else self.decoder.unroll
        found = unroll({"source": self.memory}, self.previous, self.packing)
        output = self.decoder.output
        if plain:
            loss = torch.nn.functional.cross_entropy(output(found.readouts), self.targets, reduction="sum")
        else:
            loss, _ = output.loss(found.readouts, self.targets)
        return loss, found.looks["source"]


def random_tokens(rows: int, longest: int, *, full: bool = False) -> Tokens:
    lengths = torch.randint(1, longest + 1, (rows,))
    lengths[0] = longest
    if full:
        lengths[:] = longest
    ids = torch.randint(4, VOCABULARY, (rows, longest))
    return Tokens(torch.where(torch.arange(longest) < lengths[:, None], ids, 0), lengths)


def make(
    rows: int = 3,
    *,
    score: str = "additive",
    select: str = "softmax",
    dtype: torch.dtype = torch.float32,
    full: bool = False,
    size: int = 6,
    **options: Any,
) -> Taught:
    torch.manual_seed(rows)
    encoder = RecurrentEncoder(Embedding(VOCABULARY, 5), size=4)
    attention = Attention(size, encoder.value_size, score=score, select=select)
    decoder = RecurrentDecoder(
        Embedding(VOCABULARY, 5),
        {"source": encoder},
        size=size,
        condition=("start", "attention"),
        attention={"source": attention},
        **options,
    )
    for parameter in [*encoder.parameters(), *decoder.parameters()]:
        torch.nn.init.normal_(parameter, std=0.4)
    encoder, decoder = encoder.to(dtype), decoder.to(dtype)
    with torch.no_grad():
        memory = encoder(random_tokens(rows, 5, full=full))
    previous, targets, lengths = shifted(random_tokens(rows, 4, full=full))
    packing = Packing.of(lengths, previous.shape[1])
    return Taught(encoder, decoder, memory, previous, packing.pack(targets), packing)


@pytest.fixture
def taught() -> Callable[..., Taught]:
    return make
