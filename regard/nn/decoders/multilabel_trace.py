"""The trace of several labels, each with a look of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.nn.decoders.decoder import BatchView
from regard.trace import Glimpses, Trace

MOST = 12
"""Number of labels up to which a trace has them all; of more, those of the answer and of the truth, and the most
probable others."""
NONE = "(none)"


def several_traced(
    view: BatchView,
    row: int,
    looks: Mapping[str, Tensor],
    classes: Sequence[str],
    likely: Tensor,
    chosen: Tensor,
    answer: str,
    score: float,
) -> Trace:
    """The trace of one row: a glimpse for each label, and as attention the mean of those of the given labels.

    looks    (B, C, S) by input
    likely   (C) the probability of each label; `chosen`: whether it is given
    """
    inputs = view.inputs(row)
    kept = _kept(likely, chosen, None if view.target is None else view.target[row] > 0)
    names = tuple(classes[number] for number in kept.tolist())
    attention, glimpses, truth = {}, {}, {}
    for name, weights in looks.items():
        mine = weights[row, :, : len(inputs[name])]
        attention[name] = (mine[chosen] if bool(chosen.any()) else mine).mean(0, keepdim=True).numpy()
        known = view.truth.get(name)
        true = None
        if isinstance(known, Tensor) and known.shape[1] == len(classes):
            table = known[row, :, : len(inputs[name])]
            true = table[kept].numpy()
            marked = table[(table > 0).any(-1)]
            truth[name] = (marked.sum(0, keepdim=True) / max(len(marked), 1)).numpy()
        glimpses[name] = Glimpses(mine[kept].numpy(), true, names, likely[kept].numpy())
    return Trace(
        input=inputs,
        output=[answer or NONE],
        attention=attention,
        truth=truth,
        scores=np.array([score]),
        kind="labels",
        overridden=view.overridden,
        glimpses=glimpses,
    )


def _kept(likely: Tensor, chosen: Tensor, true: Tensor | None) -> Tensor:
    """The numbers of the labels to show, in ascending order."""
    if len(likely) <= MOST:
        return torch.arange(len(likely))
    wanted = chosen if true is None else chosen | true
    order = (likely + 2.0 * wanted).argsort(descending=True)
    return order[: max(MOST, int(wanted.sum()))].sort().values
