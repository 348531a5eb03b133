"""The trace of an answer that was found by glimpses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from regard.nn.decoders.decoder import BatchView
from regard.nn.decoders.glimpsing import wanted
from regard.trace import Glimpses, Trace


def glimpsed(
    view: BatchView,
    row: int,
    looks: Mapping[str, Tensor],
    answer: str,
    score: float,
    kind: str,
    asking: str = "",
) -> Trace:
    """The trace of one row: the mean of all glimpses (B, K, S), and each glimpse alone if there are several.

    asking   the input whose words have a glimpse each
    """
    inputs = view.inputs(row)
    names = tuple(inputs[asking]) if asking else ()
    looks = {name: weights[row : row + 1, : len(names) or None] for name, weights in looks.items()}
    attention = {
        name: weights[0].mean(0, keepdim=True)[:, : len(inputs[name])].numpy()
        for name, weights in looks.items()
    }
    return Trace(
        input=inputs,
        output=[answer],
        attention=attention,
        truth=_truth(view, row, attention),
        scores=np.array([score]),
        kind=kind,
        overridden=view.overridden,
        glimpses={
            name: _glimpses(weights[0], view.truth.get(name), row, len(inputs[name]), names)
            for name, weights in looks.items()
            if weights.shape[1] > 1 or names
        },
    )


def _glimpses(weights: Tensor, truth: Any, row: int, positions: int, names: tuple[str, ...]) -> Glimpses:
    """The glimpses (K, S) of one row, and the true ones if they are known."""
    known = None
    if isinstance(truth, Tensor) and 0 < truth.shape[1] <= len(weights):
        known = wanted(truth[row : row + 1], len(weights))[0, :, :positions].numpy()
    return Glimpses(weights[:, :positions].numpy(), known, names)


def _truth(view: BatchView, row: int, attention: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The true attention of the label, averaged over all glimpses, as if it were a text of one token."""
    found = {}
    for name, known in view.truth.items():
        if name in attention and isinstance(known, Tensor) and known.shape[1]:
            rows = known[row, :, : attention[name].shape[1]].numpy()
            found[name] = rows.sum(0, keepdims=True) / max(int((rows > 0).any(-1).sum()), 1)
    return found
