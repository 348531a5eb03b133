"""Tags."""

from __future__ import annotations

from regard.data.columns import Column
from regard.model.answers.asked import Asked, predictions
from regard.nn.decoders import ChainTags, Tags
from regard.prediction import Prediction
from regard.trace import Trace


@predictions.register(Tags)
@predictions.register(ChainTags)
def _tags(found: Tags | ChainTags, column: Column, asked: Asked) -> list[Prediction]:
    values, scores, lengths = found.value.tolist(), found.scores.tolist(), found.mask.sum(1).tolist()
    best = found.token_scores.cpu().numpy() if asked.trace else None
    answers = []
    for row, (ids, score, length) in enumerate(zip(values, scores, lengths, strict=True)):
        tags = column.tokens(ids[:length])
        inputs = asked.inputs(row)
        seen = None
        if best is not None:
            seen = Trace(input=inputs, output=tags, scores=best[row, :length], kind="tags")
        answers.append(Prediction(tags, column.decode(ids[:length]), score, seen))
    return answers
