"""What decoders found → Predictions: ids become text again, looks become a Trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from regard.data.batch import UNKNOWN, Batch
from regard.data.columns import Column, TextColumn
from regard.nn.decoders import Labels, Tags
from regard.nn.search import Hypotheses
from regard.prediction import Alternative, Prediction, Trace

END_PIECE = "</s>"

Found = Hypotheses | Labels | Tags


@dataclass(frozen=True)
class Asked:
    """What a batch of predictions was made from.

    pieces   for each input the readable pieces of each row
    truth    {input: (B, T, S)} where the true attention is known
    """

    pieces: Mapping[str, Sequence[Sequence[str]]]
    truth: Mapping[str, Tensor]

    @classmethod
    def of(
        cls, batch: Batch, columns: Mapping[str, Column], inputs: Sequence[str], truths: Mapping[str, str]
    ) -> Asked:
        pieces = {}
        for name in inputs:
            tokens = batch[name]
            rows = zip(tokens.ids.tolist(), tokens.lengths.tolist(), strict=True)
            pieces[name] = [columns[name].tokens(ids[:length]) for ids, length in rows]
        truth = {name: batch[column].cpu() for name, column in truths.items() if column in batch}
        return cls(pieces, truth)


def predictions(
    found: Found, column: Column, asked: Asked, *, trace: bool = True, replace_unknown: bool = False
) -> list[Prediction]:
    """One Prediction for each row of the batch."""
    if isinstance(found, Hypotheses):
        assert isinstance(column, TextColumn)
        return _texts(found, column, asked, trace=trace, replace_unknown=replace_unknown)
    if isinstance(found, Labels):
        return _labels(found, column, asked, trace=trace)
    return _tags(found, column, asked, trace=trace)


def _texts(
    found: Hypotheses, column: TextColumn, asked: Asked, *, trace: bool, replace_unknown: bool
) -> list[Prediction]:
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
    inputs = {name: rows[row] for name, rows in asked.pieces.items()}
    attention = {name: weights[row, 0, :length, : len(inputs[name])] for name, weights in looks.items()}
    return Trace(
        input=inputs,
        output=pieces,
        attention=attention,
        scores=token_scores[:length],
        truth=_truth(asked, row, length, inputs, attention),
        hypotheses=[(other.text, other.score) for other in written],
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


def _labels(found: Labels, column: Column, asked: Asked, *, trace: bool) -> list[Prediction]:
    logs = found.log_probabilities.cpu()
    values, scores = logs.argmax(-1).tolist(), logs.amax(-1).tolist()
    classes = [column.decode([number]) for number in range(logs.shape[-1])]
    looks = {name: weights.cpu().numpy() for name, weights in found.attention.items()}
    answers = []
    for row, (value, score) in enumerate(zip(values, scores, strict=True)):
        inputs = {name: rows[row] for name, rows in asked.pieces.items()}
        seen = None
        if trace:
            attention = {name: weights[row, :, : len(inputs[name])] for name, weights in looks.items()}
            seen = Trace(
                input=inputs,
                output=[classes[value]],
                attention=attention,
                scores=np.array([score]),
                kind="label",
            )
        likely = dict(zip(classes, logs[row].exp().tolist(), strict=True))
        answers.append(Prediction(classes[value], classes[value], score, seen, probabilities=likely))
    return answers


def _tags(found: Tags, column: Column, asked: Asked, *, trace: bool) -> list[Prediction]:
    values, scores, lengths = found.value.tolist(), found.scores.tolist(), found.mask.sum(1).tolist()
    best = found.log_probabilities.amax(-1).cpu().numpy()
    answers = []
    for row, (ids, score, length) in enumerate(zip(values, scores, lengths, strict=True)):
        tags = column.tokens(ids[:length])
        inputs = {name: rows[row] for name, rows in asked.pieces.items()}
        seen = Trace(input=inputs, output=tags, scores=best[row, :length], kind="tags") if trace else None
        answers.append(Prediction(tags, column.decode(ids[:length]), score, seen))
    return answers
