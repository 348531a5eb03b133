"""A learning-rate finder (Smith 2017): updates with a rate that rises from one to the next, on a copy of the network.

    rate_i = lowest · (highest / lowest)^{i / (n − 1)}

The loss falls while the rate is useful, and rises when it is too high. The suggestion is a tenth of the rate at which
the smoothed loss, a mean over the neighboring updates, is lowest.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from torch import nn

from regard.data.batch import Batch
from regard.errors import RegardError
from regard.spec.sections import TrainingSpec
from regard.training.machine import make_accelerator
from regard.training.objective import Updater
from regard.training.optimizers.optimizer import make_optimizer

LOWEST, HIGHEST = 1e-6, 1.0
UPDATES = 100
NEIGHBORS = 4
"""Updates before and after one whose losses are averaged."""
RISEN = 4.0
"""The sweep ends when a loss is this many times the first."""


@dataclass(frozen=True)
class RateCurve:
    """The rates that were tried, the loss of each update, and the smoothed loss."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    smoothed: tuple[float, ...]

    @property
    def lowest(self) -> float:
        """The rate at which the smoothed loss is lowest."""
        return self.rates[min(range(len(self.smoothed)), key=lambda one: self.smoothed[one])]

    @property
    def suggestion(self) -> float:
        """A tenth of that rate, with two digits."""
        return float(f"{self.lowest / 10:.1e}")


def find_rate(
    network: nn.Module,
    epoch: Callable[[int], Iterator[Batch]],
    *,
    options: TrainingSpec,
    device: str | None = None,
    updates: int = UPDATES,
) -> RateCurve:
    """Try rates on a copy of the network, which stays as it is. `epoch` gives the batches of an epoch."""
    accelerator = make_accelerator(options.precision, device)
    probed = copy.deepcopy(network).to(accelerator.device).train()
    update = Updater(accelerator, probed, make_optimizer(probed, options.optimizer, LOWEST), options.clip)
    rates: list[float] = []
    losses: list[float] = []
    batches = _endless(epoch)
    for number in range(updates):
        rate = LOWEST * (HIGHEST / LOWEST) ** (number / (updates - 1))
        figures = update([next(batches)], rate, number + 1).tolist()
        outputs = update.objective.outputs
        totals, counts = figures[: len(outputs)], figures[len(outputs) : 2 * len(outputs)]
        loss = sum(
            weight * total / max(many, 1.0)
            for weight, total, many in zip(outputs.values(), totals, counts, strict=True)
        )
        if not math.isfinite(loss):
            break
        rates.append(rate)
        losses.append(loss)
        if loss > RISEN * losses[0]:
            break
    if not rates:
        raise RegardError("the loss of the first update is not a finite number.", where="training")
    near = [losses[max(0, one - NEIGHBORS) : one + NEIGHBORS + 1] for one in range(len(losses))]
    return RateCurve(tuple(rates), tuple(losses), tuple(sum(some) / len(some) for some in near))


def _endless(epoch: Callable[[int], Iterator[Batch]]) -> Iterator[Batch]:
    for number in count():
        one = None
        for one in epoch(number):
            yield one
        if one is None:
            raise RegardError("the training data contain no batch.", where="data.train")
