"""Answers with their supporting facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.data.columns import Column
from regard.model.answers.asked import Asked, predictions
from regard.model.answers.labels import label_predictions
from regard.nn.decoders import Supported
from regard.prediction import Prediction
from regard.trace import Hops


@predictions.register(Supported)
def _supported(found: Supported, column: Column, asked: Asked) -> list[Prediction]:
    answers = label_predictions(found, column, asked)
    if not asked.trace:
        return answers
    weights, facts = found.hops.cpu().numpy(), found.facts.cpu().numpy()
    shown = []
    for row, answer in enumerate(answers):
        assert answer.trace is not None
        sentences = asked.pieces[found.over][row]
        hops = Hops(
            weights=weights[row, :, : len(sentences)],
            best=facts[row],
            truth=_truth(asked, found.over, row),
            positions=sentences,
        )
        trace = replace(answer.trace, layout={found.over: "sentences"}, structures={found.over: hops})
        shown.append(replace(answer, trace=trace))
    return shown


def _truth(asked: Asked, story: str, row: int) -> np.ndarray | None:
    truth = asked.truth.get(story)
    return None if truth is None else truth.ids[row, : int(truth.lengths[row])].numpy()


def chosen_facts(answers: Sequence[Prediction], story: str) -> list[list[int]]:
    """The facts each answer stands on, as the decoder chose them, repeats included."""
    chosen = []
    for answer in answers:
        hops = answer.trace.structures.get(story) if answer.trace is not None else None
        chosen.append(hops.best.tolist() if isinstance(hops, Hops) and hops.best is not None else [])
    return chosen
