"""Trees."""

from __future__ import annotations

import torch

from regard.data.columns import Column, TreeColumn
from regard.model.answers.asked import Asked, predictions
from regard.nn.decoders import ParsedTrees
from regard.prediction import Prediction, Trace
from regard.structure_trace import Arcs


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
            names = [column.classes[number] for number in ids[1 : 2 * length : 2]] if column.classes else []
            table = marginals[row, : length + 1, : length + 1]
            drawn = Arcs(heads=ids[: 2 * length : 2], marginals=table, relations=names)
            inputs = asked.inputs(row)
            seen = Trace(input=inputs, output=arcs, structures={column.of[0]: drawn}, kind="tree")
        answers.append(Prediction(arcs, " ".join(arcs), score, seen))
    return answers
