"""The location-aware score: content, and the attention of the previous step."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from regard.errors import RegardError
from regard.nn import Attention
from regard.nn.memory import Memory
from regard.nn.scores import Location

from .conftest import SOURCE, TARGET, model, tokens


@pytest.mark.parametrize("bias", [False, True])
def test_location_score_by_its_formula(bias):
    """F is torch's convolution of the previous weights, with zero padding."""
    torch.manual_seed(0)
    score = Location(3, 4, 6, filters=2, reach=2, bias=bias)
    query, values = torch.randn(2, 3, 3), torch.randn(2, 7, 4)
    previous = torch.softmax(torch.randn(2, 3, 7), -1)
    scores = score(query, score.keys(values), previous)
    for b in range(2):
        for t in range(3):
            features = torch.nn.functional.conv1d(
                previous[b, t][None, None], score.filters.T.unsqueeze(1), padding=2
            )[0]  # (filters, S)
            for s in range(7):
                expected = score.vector @ torch.tanh(
                    score.query.weight @ query[b, t]
                    + score.key.weight @ values[b, s]
                    + score.place.weight @ features[:, s]
                    + (score.key.bias if bias else 0)
                )
                torch.testing.assert_close(scores[b, t, s], expected)


def test_the_first_step_comes_from_the_first_position_and_the_next_from_there():
    encoder, decoder = model(score="location")
    memories = {"source": encoder(SOURCE)}
    state = decoder.start(memories)
    first = state.looks["source"]
    assert first.shape == (3, 1, 5) and torch.equal(first[..., 0], torch.ones(3, 1)) and first.sum() == 3
    step = decoder.step(torch.full((3, 1), 2), state, memories)
    assert torch.equal(step.state.looks["source"], step.looks["source"])
    other = replace(state, looks={"source": first.flip(-1)})
    elsewhere = decoder.step(torch.full((3, 1), 2), other, memories)
    assert not torch.allclose(step.looks["source"], elsewhere.looks["source"])


def test_the_weights_follow_their_hypothesis():
    encoder, decoder = model(score="location")
    memories = {"source": encoder(SOURCE)}
    pair = decoder.start(memories).reorder(torch.zeros(3, 2, dtype=torch.int64))
    state = decoder.step(torch.tensor([[4, 5], [6, 7], [8, 9]]), pair, memories).state
    state = decoder.step(torch.tensor([[5, 4], [6, 8], [9, 9]]), state, memories).state
    before = state.looks["source"]
    after = state.reorder(torch.tensor([[1, 1], [0, 1], [1, 0]])).looks["source"]
    assert torch.equal(after[0], before[0, [1, 1]]) and torch.equal(after[2], before[2, [1, 0]])
    assert torch.equal(state.select(torch.tensor([2])).looks["source"], before[2:])


def test_padding_and_neighbours_change_nothing():
    encoder, decoder = model(score="location")
    together = decoder.loss({"source": encoder(SOURCE)}, TARGET).total
    alone = [
        decoder.loss(
            {"source": encoder(tokens(SOURCE.ids[row, : SOURCE.lengths[row]].tolist()))},
            tokens(TARGET.ids[row, : TARGET.lengths[row]].tolist()),
        ).total
        for row in range(3)
    ]
    torch.testing.assert_close(together, torch.stack(alone).sum(), atol=1e-6, rtol=1e-6)


def test_mistakes_are_named():
    values = torch.randn(1, 4, 3)
    memory = Memory(values, torch.ones(1, 4, dtype=torch.bool), values.mean(1))
    with pytest.raises(RegardError, match="the attention weights of the previous step"):
        Attention(3, 3, score="location")(torch.randn(1, 2, 3), memory)
