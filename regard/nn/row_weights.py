"""The loss of rows with weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import select_rows
from regard.nn.decoders.output import Distilled
from regard.nn.loss import Loss
from regard.nn.memory import Memory


def weighted_loss(
    loss: Callable[..., Loss],
    memories: Mapping[str, Memory],
    target: Any,
    weights: Tensor,
    truth: Mapping[str, Any] | None = None,
    distilled: Distilled | None = None,
) -> Loss:
    """Σ_n w_n loss_n over Σ_n w_n count_n, from the loss of each group of rows that share a weight.

    A decoder sums over its rows, so that rows of one weight can be computed together. Rows of weight 0 are left out.

    target      of the rows, as their column collates it (`select_rows`)
    distilled   the distributions of other models over each word of the rows
    """
    nothing = sum(memory.values.sum() + memory.summary.sum() for memory in memories.values()) * 0.0
    total, count, parts = torch.as_tensor(nothing), weights.new_zeros(()), dict[str, Tensor]()
    for weight, rows in groups(weights):
        given: dict[str, Any] = {}
        if truth is not None:
            given["truth"] = {name: select_rows(one, rows) for name, one in truth.items()}
        if distilled is not None:
            given["distilled"] = distilled.select(target, rows)
        mine = {name: one.select(rows) for name, one in memories.items()}
        found = loss(mine, select_rows(target, rows), **given)
        total, count = total + weight * found.total, count + weight * found.count
        for name, part in found.parts.items():
            parts[name] = parts.get(name, torch.zeros_like(part)) + weight * part
    return Loss(total, count, parts or {"likelihood": total.detach()})


def groups(weights: Tensor) -> Iterator[tuple[float, Tensor]]:
    """Each weight above 0, with the rows that have it."""
    for weight in weights.unique().tolist():
        if weight > 0:
            yield weight, (weights == weight).nonzero().flatten()
