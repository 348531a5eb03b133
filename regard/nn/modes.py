"""Training and evaluation mode of networks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from torch import nn

from regard.private.onednn import without_onednn


class HasNetwork(Protocol):
    @property
    def network(self) -> nn.Module: ...


@contextmanager
def answering(*models: HasNetwork) -> Iterator[None]:
    """Networks in evaluation mode, `without_onednn`; afterwards every module returns to its previous mode."""
    training = [part for model in models for part in model.network.modules() if part.training]
    for model in models:
        if training:
            model.network.eval()
    try:
        with without_onednn():
            yield
    finally:
        for part in training:
            part.training = True
