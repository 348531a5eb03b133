"""The multilabel decoder against torch's losses, thresholds against trying every one."""

from __future__ import annotations

import pytest
import torch

from regard.nn import Attention, Embedding, MeanEncoder, MultilabelDecoder
from regard.nn.thresholds import best_threshold_of

from .conftest import SOURCE, TARGET, VOCABULARY


def sources() -> tuple[dict, dict]:
    torch.manual_seed(0)
    left, right = MeanEncoder(Embedding(VOCABULARY, 5)), MeanEncoder(Embedding(VOCABULARY, 7))
    return {"left": left, "right": right}, {"left": left(SOURCE), "right": right(TARGET)}


WANTED = torch.tensor([[1.0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]])


def test_the_loss_is_that_of_torch_and_the_score_its_negative() -> None:
    readers, given = sources()
    weights = torch.tensor([1.0, 2.0, 0.5, 1.0])
    decoder = MultilabelDecoder(4, readers, class_weights=weights)
    features = torch.cat([given["left"].summary, given["right"].summary], 1)
    logits = features @ decoder.output.weight.T + decoder.output.bias
    loss = decoder.loss(given, WANTED)
    expected = -(weights * WANTED * logits.sigmoid().log() + (1 - WANTED) * (-logits).sigmoid().log()).sum()
    torch.testing.assert_close(loss.total, expected)
    assert int(loss.count) == 3 == int(decoder.count(WANTED))
    plain = MultilabelDecoder(4, readers)
    plain.load_state_dict(decoder.state_dict())
    torch.testing.assert_close(
        -plain.score(given, WANTED).scores.sum(), plain.loss(given, WANTED).total.detach()
    )


def test_each_label_reads_where_it_looks() -> None:
    readers, given = sources()
    attention = {"left": Attention(5, 5, score="dot")}
    decoder = MultilabelDecoder(4, readers, attention=attention)
    with torch.no_grad():
        decoder.query.copy_(torch.randn(4, 5))
    found = decoder.predict(given)
    memory, weight = given["left"], decoder.output.weight
    for row in range(3):
        for label in range(4):
            look = torch.softmax(
                (memory.values[row] @ decoder.query[label]).masked_fill(~memory.mask[row], -torch.inf), 0
            )
            torch.testing.assert_close(found.attention["left"][row, label], look.detach())
            read = torch.cat([look @ memory.values[row], given["right"].summary[row]])
            share = torch.sigmoid(weight[label] @ read + decoder.output.bias[label])
            torch.testing.assert_close(found.log_probabilities[row, label, 1].exp(), share.detach())
            assert bool(found.chosen[row, label]) == bool(share >= 0.5)


def f1(probabilities: torch.Tensor, true: torch.Tensor, threshold: float) -> float:
    taken = probabilities.double() >= threshold
    total = int(taken.sum() + true.sum())
    return 2 * int((taken & (true > 0)).sum()) / total if total else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_is_better(seed: int) -> None:
    torch.manual_seed(seed)
    probabilities = torch.rand(30).mul(10).round().div(10) if seed % 2 else torch.rand(30)
    true = (torch.rand(30) < probabilities).float()
    threshold, best = best_threshold_of(probabilities, true)
    tried = [f1(probabilities, true, one / 1000) for one in range(1, 1001)]
    assert f1(probabilities, true, threshold) == pytest.approx(best) and best >= max(tried) - 1e-9


def test_settling_stores_a_threshold_for_each_label_or_one_for_all() -> None:
    readers, given = sources()
    each, shared, fixed = (MultilabelDecoder(4, readers, threshold=one) for one in ("each", "shared", 0.3))
    rows = [(given, WANTED)]
    assert "3 rows of dev" in each.settle(rows) and fixed.settle(rows) == ""
    assert fixed.thresholds.tolist() == pytest.approx([0.3] * 4)
    shares = each.predict(given).log_probabilities[..., 1].exp()
    for label in range(4):
        expected = best_threshold_of(shares[:, label], WANTED[:, label])[0]
        assert float(each.thresholds[label]) == pytest.approx(expected)
    shared.settle(rows)
    assert len(set(shared.thresholds.tolist())) == 1
    assert best_threshold_of(torch.rand(4), torch.zeros(4)) == (0.5, 0.0)
