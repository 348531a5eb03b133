"""Written texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from regard.data.batch import UNKNOWN
from regard.data.columns import Column, TextColumn
from regard.model.answers.asked import Asked, predictions
from regard.nn.search import Hypotheses
from regard.prediction import Alternative, Prediction
from regard.trace import Trace

END_PIECE = "</s>"


@predictions.register(Hypotheses)
def _texts(found: Hypotheses, column: Column, asked: Asked) -> list[Prediction]:
    assert isinstance(column, TextColumn)
    trace, replace_unknown = asked.trace, asked.replace_unknown
    tokens, lengths, scores = found.tokens.tolist(), found.lengths.tolist(), found.scores.tolist()
    token_scores = found.token_scores.cpu().numpy() if trace else None
    looks = (
        {name: weights.cpu().numpy() for name, weights in found.attention.items()}
        if trace or replace_unknown
        else {}
    )
    answers = []
    for row, ranks in enumerate(tokens):
        written = []
        for rank, ids in enumerate(ranks):
            if lengths[row][rank] == 0:
                continue  # no such hypothesis
            pieces = column.spell(ids[: lengths[row][rank]])
            if replace_unknown:
                here = {name: weights[row, rank] for name, weights in looks.items()}
                pieces = _known(pieces, ids, here, asked, row)
            written.append(Alternative(column.join(pieces), scores[row][rank]))
        seen = None
        if trace and token_scores is not None:
            seen = _text_trace(found, column, asked, looks, token_scores[row, 0], row, written)
        best = written[0]
        answers.append(
            Prediction(best.text, best.text, best.score, seen, written if len(written) > 1 else ())
        )
    return answers


def _known(
    pieces: list[str], ids: Sequence[int], looks: Mapping[str, np.ndarray], asked: Asked, row: int
) -> list[str]:
    """The pieces, with the most attended source piece where the unknown one was written."""
    if not looks:
        return pieces
    name = next(iter(looks))
    source = asked.pieces[name][row]
    return [
        source[int(looks[name][step, : len(source)].argmax())] if ids[step] == UNKNOWN else piece
        for step, piece in enumerate(pieces)
    ]


def _text_trace(
    found: Hypotheses,
    column: TextColumn,
    asked: Asked,
    looks: Mapping[str, np.ndarray],
    token_scores: np.ndarray,
    row: int,
    written: Sequence[Alternative],
) -> Trace:
    content = found.content(row)
    length = int(found.lengths[row, 0])
    pieces = column.tokens(content) + [END_PIECE] * (length - len(content))
    inputs = asked.inputs(row)
    attention = {name: weights[row, 0, :length, : len(inputs[name])] for name, weights in looks.items()}
    return Trace(
        input=inputs,
        output=pieces,
        attention=attention,
        scores=token_scores[:length],
        truth=_truth(asked, row, length, inputs, attention),
        hypotheses=[(other.text, other.score) for other in written],
        told=asked.told,
    )


def _truth(
    asked: Asked,
    row: int,
    length: int,
    inputs: Mapping[str, Sequence[str]],
    attention: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The true rows beside the written ones; rows beyond the true output are empty."""
    found = {}
    for name, truth in asked.truth.items():
        if name in attention:
            known = truth[row].numpy()
            rows = np.zeros((length, len(inputs[name])))
            height, width = min(length, known.shape[0]), min(len(inputs[name]), known.shape[1])
            rows[:height, :width] = known[:height, :width]
            found[name] = rows
    return found
