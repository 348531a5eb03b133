"""Attend, compare, aggregate against sums by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from regard.errors import RegardError
from regard.nn import DecomposableDecoder, Embedding, MeanEncoder
from regard.nn.memory import Memory

from .conftest import SOURCE, TARGET, VOCABULARY


def memory(*rows: list[list[float]]) -> Memory:
    longest = max(map(len, rows))
    values = torch.zeros(len(rows), longest, 2)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for index, row in enumerate(rows):
        values[index, : len(row)] = torch.tensor(row)
        mask[index, : len(row)] = True
    return Memory(values, mask, values[:, 0])


def decoder_of(width: int = 2, *, size: int = 1, **options: str) -> DecomposableDecoder:
    source = SimpleNamespace(value_size=width, summary_size=width)
    return DecomposableDecoder(3, {"left": source, "right": source}, size=size, **options)


def by_hand(compare: str) -> DecomposableDecoder:
    """F is the identity with scale 1; G is the sum of its inputs."""
    decoder = decoder_of(size=2, compare=compare)
    decoder.attend = nn.Identity()
    decoder.attention.score.scale = 1.0
    decoder.compare = nn.Linear(8 if compare == "differences" else 4, 1)
    with torch.no_grad():
        decoder.compare.weight.fill_(1.0)
        decoder.compare.bias.zero_()
    return decoder


def test_attend_compare_aggregate_by_hand() -> None:
    # a = (1, 0), (0, 2);  b = (1, 1);  e = (1, 2)ᵀ
    first, second = memory([[1.0, 0.0], [0.0, 2.0]]), memory([[1.0, 1.0]])
    features, (there, back) = by_hand("concatenation").features(first, second)
    share = 1 / (1 + math.e)  # softmax(1, 2) of the first position
    torch.testing.assert_close(there.weights, torch.ones(1, 2, 1))
    torch.testing.assert_close(back.weights, torch.tensor([[[share, 1 - share]]]))
    # β = b both times: v = (1 + 0 + 1 + 1) + (0 + 2 + 1 + 1)
    # α = (share, 2 (1 − share)): w = 2 + share + 2 (1 − share)
    torch.testing.assert_close(features, torch.tensor([[7.0, 4.0 - share]]))


def test_a_network_attends_by_hand() -> None:
    """Parikh's e = F(a)·F(b), without scaling; here F(x) = relu(2 relu(x − 1))."""
    decoder = decoder_of(size=2, attend="network", compare="concatenation")
    with torch.no_grad():
        for layer, weight, bias in ((decoder.attend[1], 1.0, -1.0), (decoder.attend[4], 2.0, 0.0)):
            layer.weight.copy_(weight * torch.eye(2))
            layer.bias.fill_(bias)
    # F(1, 0) = (0, 0), F(0, 3) = (0, 4), F(1, 2) = (0, 2): e = (0, 8)
    first, second = memory([[1.0, 0.0], [0.0, 3.0]]), memory([[1.0, 2.0]])
    _, back = decoder.aligned(first, second)
    torch.testing.assert_close(back.scores, torch.tensor([[[0.0, 8.0]]]))


def test_differences_by_hand() -> None:
    first, second = memory([[1.0, 3.0]]), memory([[2.0, 1.0]])
    features, _ = by_hand("differences").features(first, second)
    # [1 3; 2 1; |−1| |2|; 2 3] sums to 15, either way
    torch.testing.assert_close(features, torch.tensor([[15.0, 15.0]]))


def test_padding_counts_for_nothing() -> None:
    torch.manual_seed(0)
    decoder = decoder_of(size=3)
    alone, _ = decoder.features(memory([[1.0, 2.0]]), memory([[0.5, -1.0], [2.0, 0.3]]))
    beside, (there, back) = decoder.features(
        memory([[1.0, 2.0]], [[1.0, 1.0], [3.0, 1.0], [0.0, 1.0]]),
        memory([[0.5, -1.0], [2.0, 0.3]], [[1.0, 0.0]]),
    )
    torch.testing.assert_close(beside[:1], alone)
    assert (there.weights[1, :, 1:] == 0).all() and (back.weights[0, :, 1:] == 0).all()


def test_decoder_is_charged_the_cross_entropy_and_looks_at_both() -> None:
    torch.manual_seed(0)
    encoder = MeanEncoder(Embedding(VOCABULARY, 5))
    decoder = DecomposableDecoder(3, {"left": encoder, "right": encoder}, size=6)
    memories = {"left": encoder(SOURCE), "right": encoder(TARGET)}
    logits, looks = decoder(memories)
    target = torch.tensor([0, 2, 1])
    torch.testing.assert_close(
        decoder.loss(memories, target).mean, nn.functional.cross_entropy(logits, target)
    )
    torch.testing.assert_close(decoder.predict(memories).value, logits.argmax(-1))
    assert looks["left"].shape == (3, 1, 5) and looks["right"].shape == (3, 1, 4)
    for weights in looks.values():
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 1))
    # The same two texts in the other order are another question.
    turned = DecomposableDecoder(3, {"right": encoder, "left": encoder}, size=6)
    turned.load_state_dict(decoder.state_dict())
    assert not torch.allclose(turned(memories)[0], logits)


def test_what_cannot_be_aligned() -> None:
    narrow, wide = MeanEncoder(Embedding(VOCABULARY, 5)), MeanEncoder(Embedding(VOCABULARY, 7))
    with pytest.raises(RegardError, match="Two texts"):
        DecomposableDecoder(3, {"left": narrow})
    with pytest.raises(RegardError, match="one width"):
        DecomposableDecoder(3, {"left": narrow, "right": wide})
    with pytest.raises(RegardError, match="Unknown compare"):
        decoder_of(size=3, compare="guess")
