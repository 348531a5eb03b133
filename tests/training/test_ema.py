"""The moving average of weights and of normalization statistics."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.training.ema import MovingAverage


def test_weights_and_remembered_statistics_are_averaged_by_hand():
    network = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2))
    average = MovingAverage(network, decay=0.5)
    first = {name: tensor.detach().clone() for name, tensor in average.weights.items()}
    with torch.no_grad():
        network[0].weight.add_(1.0)
        network[1].running_mean.add_(2.0)
    average.update(step=100)  # (1 + 100) / (10 + 100) is above the decay
    torch.testing.assert_close(average.averages["0.weight"], first["0.weight"] + 0.5)
    torch.testing.assert_close(average.averages["1.running_mean"], first["1.running_mean"] + 1.0)
    own = network[1].running_mean.clone()
    with torch.no_grad(), average.applied():
        torch.testing.assert_close(network[1].running_mean, torch.ones(2))
    assert torch.equal(network[1].running_mean, own)
    assert int(network[1].num_batches_tracked) == 0 and "1.num_batches_tracked" not in average.averages


@pytest.mark.parametrize("tied", [False, True])
def test_a_tied_weight_is_averaged_once(tied: bool):
    network = nn.ModuleDict({"one": nn.Linear(2, 2), "two": nn.Linear(2, 2)})
    if tied:
        network["two"].weight = network["one"].weight
    assert len(MovingAverage(network, decay=0.9).weights) == (3 if tied else 4)


def test_weights_that_are_not_trained_have_no_average() -> None:
    network = nn.Sequential(nn.Linear(2, 3).requires_grad_(False), nn.BatchNorm1d(3), nn.Linear(3, 1))
    average = MovingAverage(network, 0.9)
    assert set(average.state()) == {
        *(f"1.{name}" for name in ("weight", "bias", "running_mean", "running_var")),
        *("2.weight", "2.bias"),
    }
    average.update(1)
    average.restore({"0.weight": torch.ones(3, 2), **average.state()})  # as checkpoints had it before
