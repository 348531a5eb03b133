"""Labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from regard.data.columns import Column
from regard.model.answers.asked import Asked, predictions
from regard.nn.decoders import Labels
from regard.nn.decoders.label import wanted
from regard.prediction import Prediction
from regard.trace import Glimpses, Trace


@predictions.register(Labels)
def label_predictions(found: Labels, column: Column, asked: Asked) -> list[Prediction]:
    """The most probable class of each row."""
    logs = found.log_probabilities.cpu()
    values, scores = logs.argmax(-1).tolist(), logs.amax(-1).tolist()
    classes = [column.decode([number]) for number in range(logs.shape[-1])]
    looks = {name: weights.cpu() for name, weights in found.attention.items()}
    together = {name: weights.mean(1, keepdim=True).numpy() for name, weights in looks.items()}
    answers = []
    for row, (value, score) in enumerate(zip(values, scores, strict=True)):
        inputs = asked.inputs(row)
        seen = None
        if asked.trace:
            attention = {name: weights[row, :, : len(inputs[name])] for name, weights in together.items()}
            seen = Trace(
                input=inputs,
                output=[classes[value]],
                attention=attention,
                truth=_truth(asked, row, attention),
                scores=np.array([score]),
                kind="label",
                told=asked.told,
                glimpses={
                    name: _glimpses(weights, asked.truth.get(name), row, len(inputs[name]))
                    for name, weights in looks.items()
                    if weights.shape[1] > 1
                },
            )
        likely = dict(zip(classes, logs[row].exp().tolist(), strict=True))
        answers.append(Prediction(classes[value], classes[value], score, seen, probabilities=likely))
    return answers


def _glimpses(weights: Tensor, truth: Any, row: int, positions: int) -> Glimpses:
    """The looks of one row, each beside where it should have been."""
    known = None
    if isinstance(truth, Tensor) and truth.shape[1]:
        known = wanted(truth[row : row + 1], weights.shape[1])[0, :, :positions].numpy()
    return Glimpses(weights[row, :, :positions].numpy(), known)


def _truth(asked: Asked, row: int, attention: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Where the label should have looked, all glimpses in one row, as if it were a text of one token."""
    found = {}
    for name, known in asked.truth.items():
        if name in attention and isinstance(known, Tensor) and known.shape[1]:
            rows = known[row, :, : attention[name].shape[1]].numpy()
            found[name] = rows.sum(0, keepdims=True) / max(int((rows > 0).any(-1).sum()), 1)
    return found
