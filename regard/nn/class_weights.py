"""The loss of a classifier, and the weights of its classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import UNSEEN
from regard.errors import RegardError


def class_cost(logits: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    """logits (N, C), target (N) → the weighted sum of −log p(target).

    Targets whose class is absent from the training data are ignored.
    """
    return nn.functional.cross_entropy(logits, target, weight=weights, reduction="sum", ignore_index=UNSEEN)


def class_count(target: Tensor, weights: Tensor | None = None) -> Tensor:
    """target (…) → the sum of the weights of its classes, () floating point."""
    known = target != UNSEEN
    count = known.sum() if weights is None else (weights[target.clamp(min=0)] * known).sum()
    return count.float()


def class_weights(wanted: Mapping[str, float] | str | None, column: Any) -> Tensor | None:
    """(C,) weights of a column's classes, default 1; balanced: rows / (classes · rows of the class)."""
    if isinstance(wanted, str):
        total = torch.tensor(column.counts, dtype=torch.float32).clamp(min=1)
        return total.sum() / (len(column.classes) * total)
    return given_weights(wanted, column)


def given_weights(wanted: Mapping[str, float] | None, column: Any) -> Tensor | None:
    """(C,) the given weights of a column's classes, default 1."""
    if wanted is None:
        return None
    classes, name = column.classes, column.name
    unknown = [label for label in wanted if label not in classes]
    if unknown:
        raise RegardError(
            f"{unknown[0]!r} is not a class of {name}.",
            where=f"decoder.{name}.class_weights",
            fix=f"The classes are {', '.join(classes)}.",
        )
    return torch.tensor([float(wanted.get(label, 1.0)) for label in classes])
