"""Labels."""

from __future__ import annotations

import numpy as np

from regard.data.columns import Column
from regard.model.answers.asked import Asked, predictions
from regard.nn.decoders import Labels
from regard.prediction import Prediction, Trace


@predictions.register(Labels)
def label_predictions(found: Labels, column: Column, asked: Asked) -> list[Prediction]:
    """The most probable class of each row."""
    logs = found.log_probabilities.cpu()
    values, scores = logs.argmax(-1).tolist(), logs.amax(-1).tolist()
    classes = [column.decode([number]) for number in range(logs.shape[-1])]
    looks = {name: weights.cpu().numpy() for name, weights in found.attention.items()}
    answers = []
    for row, (value, score) in enumerate(zip(values, scores, strict=True)):
        inputs = asked.inputs(row)
        seen = None
        if asked.trace:
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
