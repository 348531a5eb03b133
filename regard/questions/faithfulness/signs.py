"""The effects of one answer's positions, for the signs on its map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from regard.model import Model
from regard.questions.faithfulness.ranking import each_alone
from regard.questions.faithfulness.removal import Removal, Remove
from regard.questions.faithfulness.rows import Examined
from regard.trace.prediction import Prediction

LARGEST = 1e3
"""Bound of an effect, which is infinite if a piece becomes impossible."""


def with_effects(
    model: Model, given: Any, answer: Prediction, *, output: str | None = None, remove: Remove | None = None
) -> Prediction:
    """The answer to one input, with the effect of each attended position in its trace (`Trace.effects`). Figures then
    have a sign on each weight ≥ 0.2 without which log p changes by less than 0.01.

    given    the input, as for `model.predict`
    remove   as for `faithful`
    """
    trace = answer.trace
    if trace is None or not trace.attention:
        return answer
    stepwise = model.network.decoders[model.output_name(output)].stepwise
    examined = Examined.of(model, [given], output, targets=[answer.text] if stepwise else None)
    removal = Removal(examined, remove)
    looked = list(removal.looked.values())
    removal.need((one, kept) for one in looked for kept in each_alone(one.positions))
    effects = {}
    for one in looked:
        alone = [one.scores - removal[one, kept] for kept in each_alone(one.positions)]
        found = np.clip(np.nan_to_num(np.stack(alone, 1), posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)
        if found.shape == (len(trace.output), len(trace.input[one.input])):
            effects[one.input] = found
    return replace(answer, trace=replace(trace, effects=effects))
