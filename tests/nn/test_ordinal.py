"""The ordinal decoder against differences of sigmoids; its column and metrics by hand."""

from __future__ import annotations

import pytest
import torch

from regard.data.columns import OrdinalColumn
from regard.errors import RegardError
from regard.metrics import output_metric
from regard.nn import Embedding, MeanEncoder, OrdinalDecoder

from .conftest import SOURCE, VOCABULARY


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_probabilities_are_differences_of_cumulative_ones(classes: int) -> None:
    torch.manual_seed(classes)
    encoder = MeanEncoder(Embedding(VOCABULARY, 5)).double()
    decoder = OrdinalDecoder(classes, {"source": encoder}).double()
    with torch.no_grad():
        for one in decoder.parameters():
            one.normal_()
    memory = {"source": encoder(SOURCE)}
    number = memory["source"].summary @ decoder.output.weight[0]
    assert len(decoder.thresholds) == classes - 1 and (decoder.thresholds.diff() > 0).all()
    below = torch.sigmoid(decoder.thresholds - number[:, None])
    edges = torch.cat([torch.zeros(3, 1), below, torch.ones(3, 1)], 1)
    found = decoder.predict(memory).log_probabilities
    torch.testing.assert_close(found.exp(), edges.diff(dim=1).detach())
    target = torch.tensor([0, classes - 1, 1])
    loss = decoder.loss(memory, target)
    torch.testing.assert_close(loss.total, -edges.diff(dim=1)[torch.arange(3), target].log().sum())
    far = OrdinalDecoder(classes, {"source": encoder}).double()
    with torch.no_grad():
        far.output.weight.fill_(1e4)
    assert torch.isfinite(far.loss(memory, target).total)


def test_classes_have_the_order_of_numbers_or_a_given_one() -> None:
    column = OrdinalColumn("stars")
    column.learn(["10", "2", "1", "2"])
    assert column.classes == ["1", "2", "10"] and column.counts == [1, 2, 1]
    with pytest.raises(RegardError, match=r"'low' is not a number.*classes: \[low, middle, high\]"):
        OrdinalColumn("size").learn(["low", "high"])
    given = OrdinalColumn("size", classes=["low", "high"])
    given.learn(["high", "low"])
    assert given.classes == ["low", "high"] and "label" in given.types()
    with pytest.raises(RegardError, match="at least two classes"):
        OrdinalColumn("stars").learn(["1", "1"])


def test_rank_error_and_kappa_by_hand() -> None:
    truth, mine = ["1", "2", "10", "1"], ["1", "10", "10", "2"]  # ranks 0 1 2 0 and 0 2 2 1
    assert output_metric("rank_error")(mine, truth).value == pytest.approx(2 / 4)
    true, predicted = [0, 1, 2, 0], [0, 2, 2, 1]
    chance = sum((a - b) ** 2 for a in true for b in predicted) / 4
    assert output_metric("kappa")(mine, truth).value == pytest.approx(1 - 2 / chance)
    assert output_metric("kappa")(truth, truth).value == 1.0
