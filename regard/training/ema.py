"""The exponential moving average of the weights.

    ā_t = d_t · ā_{t−1} + (1 − d_t) · a_t,    d_t = min(decay, (1 + t) / (10 + t))

The smaller decay of the first steps reduces the influence of the random initial weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.private import move_all
from regard.training.checkpoint import copy_into


class MovingAverage:
    """Averages of the floating-point weights of `network` that are trained; `applied` loads them temporarily.

    The running statistics of batch normalization are averaged together with the weights.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        kept = network.state_dict().keys()
        remembered = {name: buffer for name, buffer in network.named_buffers() if name in kept}
        trained = {name: one for name, one in network.named_parameters() if one.requires_grad}
        self.weights = {
            name: tensor for name, tensor in {**trained, **remembered}.items() if tensor.is_floating_point()
        }
        self.averages = {name: parameter.detach().clone() for name, parameter in self.weights.items()}

    def share(self, step: int) -> float:
        """1 − d for update number `step` = 1, 2, …"""
        return 1 - min(self.decay, (1 + step) / (10 + step))

    @torch.no_grad()
    def update(self, step: int, names: Iterable[str] | None = None) -> None:
        """Update the averages of all weights, or of some, after update number `step`."""
        chosen = list(self.weights if names is None else names)
        if chosen:
            averages, weights = ([some[name] for name in chosen] for some in (self.averages, self.weights))
            move_all(averages, weights, self.share(step))

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Use the averaged weights inside the context, and restore the network's weights afterwards."""
        own = {name: weight.detach().clone() for name, weight in self.weights.items()}
        copy_into(self.weights, self.averages)
        try:
            yield
        finally:
            copy_into(self.weights, own)

    def state(self) -> dict[str, Tensor]:
        return dict(self.averages)

    @torch.no_grad()
    def restore(self, state: dict[str, Tensor]) -> None:
        copy_into(self.averages, state)
