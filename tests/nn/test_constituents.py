"""The constituents decoder, against enumeration of all labeled trees."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.data import ConstituentsColumn, SpanLabels
from regard.data.batch import UNLABELED, UNSEEN
from regard.errors import RegardError
from regard.nn import Memory
from regard.nn.decoders import BatchView, ConstituentsDecoder
from regard.trace import Trace

WIDTH, LABELS = 5, 2
SOURCES = {"words": SimpleNamespace(value_size=WIDTH, summary_size=WIDTH)}
Spans = tuple[tuple[int, int, int], ...]


def memory(lengths: list[int], seed: int = 0) -> Memory:
    values = torch.randn(
        len(lengths), max(lengths), WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return Memory(values, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None], values[:, 0])


def made(decode: Any = "map") -> ConstituentsDecoder:
    torch.manual_seed(3)
    decoder = ConstituentsDecoder(LABELS, SOURCES, size=4, decode=decode)
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return decoder.double().eval()


def binary(first: int, last: int) -> list[list[tuple[int, int]]]:
    if first == last:
        return [[(first, last)]]
    return [
        [(first, last), *left, *right]
        for end in range(first, last)
        for left in binary(first, end)
        for right in binary(end + 1, last)
    ]


def span_scores(decoder: ConstituentsDecoder, values: Tensor) -> list[list[Tensor]]:
    """Dozat and Manning's formula, span by span."""
    f = torch.nn.functional.leaky_relu
    x, y = f(decoder.spans.heads(values), 0.1), f(decoder.spans.dependents(values), 0.1)
    one = torch.ones(1, dtype=values.dtype)
    return [
        [
            torch.stack([torch.cat([a, one]) @ u @ torch.cat([b, one]) for u in decoder.spans.weight])
            for b in y
        ]
        for a in x
    ]


def listed(decoder: ConstituentsDecoder, values: Tensor) -> dict[Spans, Tensor]:
    """p of every labeled binary tree, as spans with their labels; label 0: none."""
    scores, found = span_scores(decoder, values), dict[Spans, Tensor]()
    for tree in binary(0, len(values) - 1):
        for labels in product(range(LABELS + 1), repeat=len(tree)):
            spans = tuple((i, j, c) for (i, j), c in zip(tree, labels, strict=True))
            found[spans] = torch.stack([scores[i][j][c] for i, j, c in spans]).sum()
    total = torch.stack(list(found.values())).logsumexp(0)
    return {spans: (score - total).exp() for spans, score in found.items()}


def stands_for(spans: Spans) -> frozenset[tuple[int, int, int]]:
    return frozenset((i, j, c - 1) for i, j, c in spans if c)


def labels_of(*trees: frozenset[tuple[int, int, int]], size: int) -> Tensor:
    table = torch.full((len(trees), size, size), UNLABELED)
    for row, tree in enumerate(trees):
        for i, j, c in tree:
            table[row, i, j] = c
    return table


def test_the_likelihood_is_the_sum_over_all_binary_trees_that_stand_for_the_tree() -> None:
    decoder, seen = made(), memory([4, 2])
    shares = [listed(decoder, seen.values[0]), listed(decoder, seen.values[1, :2])]
    trees: list[dict[frozenset, Tensor]] = []
    for share in shares:
        summed: dict[frozenset, Any] = defaultdict(float)
        for spans, p in share.items():
            summed[stands_for(spans)] = summed[stands_for(spans)] + p
        trees.append(summed)
    flat = frozenset({(0, 3, 1), (0, 0, 0), (2, 2, 1)})  # five binary trees stand for it
    deep = frozenset({(0, 3, 0), (1, 3, 1), (2, 3, 0)})
    small = frozenset({(0, 1, 0), (1, 1, 1)})
    assert sum(stands_for(spans) == flat for spans in shares[0]) == 5
    for one in (flat, deep):
        decoder.zero_grad()
        target = SpanLabels(labels_of(one, small, size=4), torch.tensor([4, 2]))
        loss = decoder.loss({"words": seen}, target)
        truth = -(trees[0][one].log() + trees[1][small].log())
        assert loss.total.item() == pytest.approx(truth.item(), rel=1e-9) and int(loss.count) == 6
        loss.total.backward()
        found = decoder.spans.weight.grad.clone()
        decoder.zero_grad()
        truth.backward(retain_graph=True)
        torch.testing.assert_close(found, decoder.spans.weight.grad)
    assert sum(p.item() for p in trees[0].values()) == pytest.approx(1.0)


@pytest.mark.parametrize("decode", ["map", "marginal"])
@torch.no_grad()
def test_marginals_and_decoding(decode: str) -> None:
    decoder, seen = made(decode), memory([4, 2], 1)
    found = decoder.predict({"words": seen})
    for row, length in enumerate((4, 2)):
        shares = listed(decoder, seen.values[row, :length])
        marginals = torch.zeros(4, 4, LABELS + 1, dtype=torch.float64)
        for spans, p in shares.items():
            for i, j, c in spans:
                marginals[i, j, c] += p
        torch.testing.assert_close(found.distribution.marginals[row], marginals)
        expected = {spans: sum(float(marginals[part]) for part in spans) for spans in shares}
        worth = shares if decode == "map" else expected
        best = stands_for(max(worth, key=lambda spans: float(worth[spans])))
        assert torch.equal(found.labels[row], labels_of(best, size=4)[0])
        p = sum(float(p) for spans, p in shares.items() if stands_for(spans) == best)
        assert float(found.scores[row]) == pytest.approx(math.log(p))


@torch.no_grad()
def test_a_label_that_is_not_known_may_be_any() -> None:
    decoder, seen = made(), memory([3])
    trees = decoder.distribution(seen)

    def p(label: int) -> float:
        return float(
            decoder.log_prob(trees, labels_of(frozenset({(0, 2, label)}), size=3), torch.tensor([3])).exp()
        )

    assert p(UNSEEN) == pytest.approx(p(0) + p(1))
    with pytest.raises(RegardError, match="trees of 2 words and 3 positions"):
        decoder.loss({"words": seen}, SpanLabels(torch.full((1, 2, 2), UNLABELED), torch.tensor([2])))


def column() -> ConstituentsColumn:
    made = ConstituentsColumn("phrases", of="words")
    made.learn(["(S (NP (PRON it)) (VP (VERB is)))", "(S (NP (DET a) (N b) (N c)) (VP d))"])
    return made


def test_a_tree_becomes_labeled_spans_and_a_tree_again() -> None:
    phrases = column()
    assert phrases.classes == ["DET", "N", "NP", "NP PRON", "S", "VP", "VP VERB"]
    text = "(S (NP (PRON it)) (VP (VP (N a) b c) (X d)))"
    labels = phrases.collate([phrases.encode(text), phrases.encode("(S a b)")])
    assert labels.lengths.tolist() == [5, 2]
    assert {(i, j): int(labels.labels[0, i, j]) for i, j in np.argwhere(labels.labels[0].numpy() != UNLABELED)} == {
        (0, 0): 3, (1, 1): 1, (4, 4): UNSEEN, (1, 3): 5, (1, 4): 5, (0, 4): 4,
    }  # fmt: skip
    known = text.replace("(X d)", "(? d)")
    assert phrases.bracketed(["it", "a", "b", "c", "d"], labels.labels[0].numpy()).written() == known
    assert phrases.decode(phrases.encode("(S (NP (DET a) b) c)")) == "(S (NP (DET XX) XX) XX)"
    assert phrases.check_value("(S (NP a)") == "has a bracket that is not closed (character 1)"
    assert (
        phrases.check_beside(phrases.encode("(S a b)"), {"words": np.zeros(3)})
        == "has 2 words for 3 tokens of words"
    )


@torch.no_grad()
def test_an_answer_is_a_tree_with_its_probabilities_and_samples() -> None:
    phrases = column()
    torch.manual_seed(0)
    decoder = ConstituentsDecoder(phrases.size, SOURCES, size=4).double().eval()
    torch.nn.init.normal_(decoder.spans.weight)
    seen = memory([3, 1])
    found = decoder.predict({"words": seen})
    target = phrases.collate([phrases.encode("(S (NP (DET a) b) c)"), phrases.encode("(NP b)")])
    view = BatchView({"words": [["a", "b", "c"], ["b"]]}, {}, target=target)
    answers = decoder.predictions(found, phrases, view)
    answers = decoder.with_structures(answers, found, dict, samples=4, seed=0)
    for answer, words in zip(answers, (3, 1), strict=True):
        tree = answer.trace.structures["words"]
        assert len(tree.marginals) == words and tree.samples.shape == (4, words, words)
        assert phrases.check_value(answer.text) is None
        assert ((tree.probabilities > 0) & (tree.probabilities <= 1)).all()
        again = Trace.from_dict(answer.trace.to_dict())
        assert again.structures["words"].to_dict() == tree.to_dict()
    assert answers[0].trace.structures["words"].true_labels == ("DET", "", "NP", "", "S")


def test_a_drawing_shows_labels_probabilities_and_errors() -> None:
    from regard.inspect import figure
    from regard.trace import Constituents

    spans = [(0, 0), (1, 1), (0, 1), (2, 2), (0, 2)]
    tree = Constituents(
        spans, ["DET", "N", "NP", "V", "S"], [0.9, 0.8, 0.25, 1.0, 1.0], np.eye(3),
        [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2)], ["DET", "V", "V", "VP", "S"],
    )  # fmt: skip
    trace = Trace({"words": ["the", "dog", "barks"]}, ["(S)"], structures={"words": tree}, kind="tree")
    drawn = figure(trace).svg()
    assert "N≠V" in drawn and "NP≠∅" in drawn and "probability 0.250" in drawn
    with pytest.raises(RegardError, match="expected a label for each"):
        Constituents(spans, ["S"])
