"""Trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from regard.data.batch import Trees
from regard.data.columns import Column, TreeColumn
from regard.model.answers.asked import Asked, predictions
from regard.nn.decoders import ParsedTrees
from regard.prediction import Prediction
from regard.trace import Arcs, Trace


@predictions.register(ParsedTrees)
def _trees(found: ParsedTrees, column: Column, asked: Asked) -> list[Prediction]:
    assert isinstance(column, TreeColumn)
    relations = torch.zeros_like(found.heads) if found.relations is None else found.relations
    pairs = torch.stack([found.heads, relations], -1).flatten(1).tolist()  # (B, 2N)
    scores, lengths = found.scores.tolist(), found.mask.sum(1).tolist()
    marginals = found.distribution.marginals.cpu().numpy() if asked.trace else None  # (B, N+1, N+1)
    answers = []
    for row, (ids, score, length) in enumerate(zip(pairs, scores, lengths, strict=True)):
        arcs = column.tokens(ids[: 2 * length])
        seen = None
        if marginals is not None:
            names = _named(column, ids[1 : 2 * length : 2])
            table = marginals[row, : length + 1, : length + 1]
            drawn = Arcs(ids[: 2 * length : 2], table, names, *_truth(asked, column, row))
            inputs = asked.inputs(row)
            seen = Trace(input=inputs, output=arcs, structures={column.of[0]: drawn}, kind="tree")
        answers.append(Prediction(arcs, " ".join(arcs), score, seen))
    return answers


def _named(column: TreeColumn, relations: Sequence[int]) -> list[str]:
    """Names of relations, "?" for one that training did not have; none where arcs have none."""
    return [column.classes[number] if number >= 0 else "?" for number in relations] if column.classes else []


def _truth(asked: Asked, column: TreeColumn, row: int) -> tuple[np.ndarray | None, list[str]]:
    """The true heads and relations, where the batch came with them."""
    if not isinstance(asked.target, Trees):
        return None, []
    length = int(asked.target.lengths[row])
    relations = asked.target.relations[row, :length].tolist()
    return asked.target.heads[row, :length].numpy(), _named(column, relations)
