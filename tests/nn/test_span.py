"""The span decoder against all spans, one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from regard.nn import Embedding, MeanEncoder, SpanDecoder
from regard.nn.decoders.span import span_marginals
from regard.nn.scores import make_score

from .conftest import SOURCE, TARGET, VOCABULARY


def made(longest: int, asked: bool = True) -> tuple[SpanDecoder, dict]:
    torch.manual_seed(longest)
    text, question = MeanEncoder(Embedding(VOCABULARY, 5)), MeanEncoder(Embedding(VOCABULARY, 7))
    sources = {"text": text, "question": question}
    size = 7 if asked else 5
    decoder = SpanDecoder(
        sources,
        of="text",
        query="question" if asked else None,
        first=make_score("general", size, 5),
        last=make_score("additive", size, 5),
        longest=longest,
    )
    return decoder, {"text": text(SOURCE), "question": question(TARGET)}


@pytest.mark.parametrize(("longest", "asked"), [(1, True), (2, True), (3, False), (20, True)])
def test_probabilities_are_those_of_all_spans_listed(longest: int, asked: bool) -> None:
    decoder, given = made(longest, asked)
    memory = given["text"]
    query = given["question"].summary if asked else decoder.query.expand(3, -1)
    first, last = (
        score(query.unsqueeze(1), score.keys(memory.values)).squeeze(1)
        for score in (decoder.first, decoder.last)
    )
    first, last, found = first.detach(), last.detach(), decoder.predict(given)
    for row, length in enumerate(memory.mask.sum(1).tolist()):
        spans = [(i, k) for i, k in itertools.product(range(length), repeat=2) if i <= k < i + longest]
        shares = {(i, k): math.exp(float(first[row, i] + last[row, k])) for i, k in spans}
        total = sum(shares.values())
        best = max(spans, key=lambda span: shares[span])
        assert tuple(found.value[row].tolist()) == best
        assert math.exp(float(found.scores[row])) == pytest.approx(shares[best] / total, rel=1e-4)
        assert float(found.log_spans[row].exp().sum()) == pytest.approx(1.0, abs=1e-5)
        marginals = span_marginals(found.log_spans[row, :length].exp().numpy())
        for word in range(length):
            expected = [
                sum(share for (i, _), share in shares.items() if i == word),
                sum(share for (_, k), share in shares.items() if k == word),
                sum(share for (i, k), share in shares.items() if i <= word <= k),
            ]
            np.testing.assert_allclose(marginals[:, word] * total, expected, rtol=1e-4)


def test_the_loss_is_that_of_the_true_spans_and_too_long_ones_are_impossible() -> None:
    decoder, given = made(2)
    target = torch.tensor([[0, 1], [0, 0], [1, 1]])
    loss, scored = decoder.loss(given, target), decoder.score(given, target)
    torch.testing.assert_close(loss.total, -scored.scores.sum())
    assert int(loss.count) == 3 == int(decoder.count(target))
    loss.total.backward()
    assert all(torch.isfinite(one.grad).all() for one in decoder.parameters())
    assert decoder.score(given, torch.tensor([[0, 2], [0, 0], [0, 0]])).scores[0] == -math.inf
