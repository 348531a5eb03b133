"""Attend, compare, aggregate against sums made by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from regard.errors import RegardError
from regard.nn import AlignDecoder, Embedding, MeanEncoder
from regard.nn.align import Align
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


def by_hand(compare: str) -> Align:
    """F the identity, G the sum of its inputs."""
    align = Align(2, size=1, compare=compare)
    align.attention = nn.Identity()
    align.comparison = nn.Linear(8 if compare == "differences" else 4, 1)
    with torch.no_grad():
        align.comparison.weight.fill_(1.0)
        align.comparison.bias.zero_()
    return align


def test_attend_compare_aggregate_by_hand() -> None:
    # a = (1, 0), (0, 2);  b = (1, 1);  e = (1, 2)ᵀ
    first, second = memory([[1.0, 0.0], [0.0, 2.0]]), memory([[1.0, 1.0]])
    align = by_hand("concatenation")
    features, aligned = align(first, second)
    share = 1 / (1 + math.e)  # softmax(1, 2) of the first position
    torch.testing.assert_close(aligned.first, torch.ones(1, 2, 1))
    torch.testing.assert_close(aligned.second, torch.tensor([[[share, 1 - share]]]))
    # β = b both times: v = (1 + 0 + 1 + 1) + (0 + 2 + 1 + 1)
    # α = (share, 2 (1 − share)): w = 2 + share + 2 (1 − share)
    torch.testing.assert_close(features, torch.tensor([[7.0, 4.0 - share]]))


def test_differences_by_hand() -> None:
    first, second = memory([[1.0, 3.0]]), memory([[2.0, 1.0]])
    features, _ = by_hand("differences")(first, second)
    # [1 3; 2 1; |−1| |2|; 2 3] sums to 15, either way
    torch.testing.assert_close(features, torch.tensor([[15.0, 15.0]]))


def test_padding_counts_for_nothing() -> None:
    torch.manual_seed(0)
    align = Align(2, size=3)
    alone, _ = align(memory([[1.0, 2.0]]), memory([[0.5, -1.0], [2.0, 0.3]]))
    beside, aligned = align(
        memory([[1.0, 2.0]], [[1.0, 1.0], [3.0, 1.0], [0.0, 1.0]]),
        memory([[0.5, -1.0], [2.0, 0.3]], [[1.0, 0.0]]),
    )
    torch.testing.assert_close(beside[:1], alone)
    assert (aligned.first[1, :, 1:] == 0).all() and (aligned.second[0, :, 1:] == 0).all()


def test_decoder_is_charged_the_cross_entropy_and_looks_at_both() -> None:
    torch.manual_seed(0)
    encoder = MeanEncoder(Embedding(VOCABULARY, 5))
    decoder = AlignDecoder(3, {"left": encoder, "right": encoder}, size=6)
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
    # The same two texts the other way round are another question.
    turned = AlignDecoder(3, {"right": encoder, "left": encoder}, size=6)
    turned.load_state_dict(decoder.state_dict())
    assert not torch.allclose(turned(memories)[0], logits)


def test_what_cannot_be_aligned() -> None:
    narrow, wide = MeanEncoder(Embedding(VOCABULARY, 5)), MeanEncoder(Embedding(VOCABULARY, 7))
    with pytest.raises(RegardError, match="Two texts"):
        AlignDecoder(3, {"left": narrow})
    with pytest.raises(RegardError, match="one width"):
        AlignDecoder(3, {"left": narrow, "right": wide})
    with pytest.raises(RegardError, match="no comparison"):
        Align(2, size=3, compare="guess")
