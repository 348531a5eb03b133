"""Small Transformer decoders of every kind, with the memories of three sources."""

from __future__ import annotations

from typing import Any

import torch

from regard.data.batch import Tokens
from regard.nn import Embedding, MeanEncoder
from regard.nn.decoders.transformer import TransformerDecoder

KINDS: dict[str, dict[str, Any]] = {
    "pre": {},
    "post": {"norm": "post"},
    "distances": {"distances": 2},
    "learned": {"positions": "learned"},
    "widened": {"embedding": 6},
    "two inputs": {"inputs": 2},
    "tied": {"tied": True},
    "one layer": {"distances": 2, "layers": 1},
}


def decoder_and_memories(kind: str, device: str = "cpu") -> tuple[TransformerDecoder, dict[str, Any]]:
    given = dict(KINDS[kind])
    torch.manual_seed(3)
    encoders = {name: MeanEncoder(Embedding(11, 6)) for name in ("source", "other")[: given.pop("inputs", 1)]}
    embedding = Embedding(11, given.pop("embedding", 12))
    decoder = TransformerDecoder(embedding, encoders, size=12, heads=2, hidden=20, **({"layers": 2} | given))
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    ids = torch.tensor([[4, 5, 6, 7, 8], [9, 4, 0, 0, 0], [10, 6, 4, 4, 0]])
    tokens = Tokens(ids, torch.tensor([5, 2, 4])).to(device)
    decoder = decoder.to(device).eval()
    return decoder, {name: encoder.to(device).eval()(tokens) for name, encoder in encoders.items()}
