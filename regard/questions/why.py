"""Why not another word: the least change of attention that makes the model say it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.model import Model
from regard.model.edits import WeightsEdit, written
from regard.questions.least_change import LeastChange, least_change
from regard.questions.probe import Probe
from regard.trace.prediction import Prediction

ROUNDED = ((0.0, 5e-3, 3), (0.01, 5e-3, 3), (0.03, 5e-3, 3), (0.0, 1e-4, 6))
"""How much further the row may go to have few digits, the smallest weights that are kept, and their digits; the first
with which the word is still the likeliest."""


@dataclass(frozen=True)
class Why:
    """The answer of `why`.

    word        the word that was asked for; `step`: the output piece, glimpse or hop
    said        what the model itself says there
    input       the attended input, and `positions`, the names of its positions
    own, row    (S) the model's own weights there, and the nearest ones after which the word is the likeliest
    distance    how much weight moves: ½ Σ |row − own|, from 0 to 1
    before, after   p(word) with either of them
    found       whether the row makes the word the likeliest; if not, no look was found that does, and the row is the
                one that makes it most probable
    prediction  the model's own answer
    changed     the answer that is written with this row, from this step on; None if the row was not found
    edits       the edit that imposes the row
    """

    word: str
    step: int
    said: str
    input: str
    positions: tuple[str, ...]
    own: np.ndarray
    row: np.ndarray
    distance: float
    before: float
    after: float
    found: bool
    prediction: Prediction
    changed: Prediction | None
    edits: tuple[WeightsEdit, ...]

    @property
    def look(self) -> str:
        """The edit as a text for `regard show --look`."""
        return written(self.edits)

    @property
    def moved(self) -> list[tuple[str, int, float]]:
        """(name, position, change of weight) of the positions whose weight changes, largest changes first."""
        change = self.row - self.own
        order = np.argsort(-np.abs(change), kind="stable")
        return [
            (self.positions[place], int(place), float(change[place]))
            for place in order
            if abs(change[place]) >= 0.005
        ]

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON."""
        return {
            "word": self.word,
            "step": self.step,
            "said": self.said,
            "input": self.input,
            "positions": list(self.positions),
            "own": [round(float(one), 6) for one in self.own],
            "row": [round(float(one), 6) for one in self.row],
            "distance": self.distance,
            "before": self.before,
            "after": self.after,
            "found": self.found,
            "text": self.prediction.text,
            "changed": None if self.changed is None else self.changed.text,
            "edits": [one.to_dict() for one in self.edits],
        }

    def __str__(self) -> str:
        place = (
            f"piece {self.step}"
            if self.prediction.trace and not self.prediction.trace.single
            else "the answer"
        )
        if self.distance == 0 and self.found:
            return f"The model already says {self.word!r} at {place}: p {self.after:.2f}."
        if not self.found:
            return (
                f"No look was found that makes {self.word!r} the likeliest at {place}; "
                f"p {_p(self.before)} can rise to {_p(self.after)}. The model says {self.said!r}."
            )
        moves = ", ".join(f"{name} {change:+.2f}" for name, _, change in self.moved[:6])
        return (
            f"{self.word!r} instead of {self.said!r} at {place}: move {self.distance:.2f} of the weight ({moves}); "
            f"p {_p(self.before)} → {_p(self.after)}."
        )


def why(
    model: Model,
    value: Any,
    word: str,
    step: int | None = None,
    *,
    output: str | None = None,
    over: str | None = None,
) -> Why:
    """The least change of attention after which the model says `word`.

        regard.why(model, "knight", "K", 0)

    value   one input, as in `model.predict`
    word    a piece of the output: a word of its vocabulary, a label, or "</s>", its end
    step    the output piece, counted from 0; for a label the glimpse; default: where the change is least
    output  the name of the output, if the model has several
    over    the attended input, if there are several

    Before the step, the model's own answer stays as it is. The row of attention is searched by gradient, from many
    starts, so a smaller change may exist. A found row is checked: with it, the word is the likeliest.
    """
    probe = Probe(model, value, output=output, over=over)
    choice = probe.choice(word)
    if step is None:
        step = _least_step(probe, choice)
    step = probe.check_step(step)
    return _answer(probe, word, choice, step, _search(probe, choice, step))


def _search(probe: Probe, choice: int, step: int, *, refine: bool = True) -> LeastChange:
    own, logs = probe.own(step)
    if int(logs.argmax()) == choice:
        return LeastChange(own, 0.0, True)
    return least_change(lambda rows: probe.logs(step, rows), own, choice, probe.places, refine=refine)


def _least_step(probe: Probe, choice: int) -> int:
    """The step with the least change on the lines to single positions; the most probable one if there is none."""
    ranked = []
    for step in range(probe.steps):
        found = _search(probe, choice, step, refine=False)
        likely = float(probe.own(step)[1][choice])
        ranked.append((not found.found, found.distance if found.found else -likely, step))
    return min(ranked)[2]


def _answer(probe: Probe, word: str, choice: int, step: int, found: LeastChange) -> Why:
    own, logs = probe.own(step)
    weights = row = found.row
    after = logs
    for further, smallest, digits in ROUNDED if found.distance > 0 else ():
        weights = _rounded(own.lerp(found.row, 1 + further), smallest, digits)
        row = weights / weights.sum()
        with torch.no_grad():
            after = probe.logs(step, row.unsqueeze(0))[0]
        if int(after.argmax()) == choice or not found.found:
            break
    edit = WeightsEdit(
        input=probe.over if len(probe.decoder.attended) > 1 else None,
        step=step,
        weights={int(place): round(float(weights[place]), 6) for place in weights.nonzero()},
    )
    likeliest = int(after.argmax()) == choice
    changed = probe.rewritten([edit], step, choice) if likeliest and found.distance > 0 else None
    single = not probe.stepwise
    names = probe.trace.input[probe.over]
    return Why(
        word=word,
        step=step,
        said=probe.pieces[0] if single else probe.pieces[step],
        input=probe.over,
        positions=tuple(names),
        own=own.double().cpu().numpy()[: len(names)],
        row=row.double().cpu().numpy()[: len(names)],
        distance=float(0.5 * (row - own).abs().sum()),
        before=math.exp(float(logs[choice])),
        after=math.exp(float(after[choice])),
        found=likeliest,
        prediction=probe.prediction,
        changed=changed,
        edits=() if found.distance == 0 else (edit,),
    )


def _rounded(row: Tensor, smallest: float, digits: int) -> Tensor:
    """The row without its smallest weights, rounded."""
    kept = torch.where(row < smallest, 0.0, row.clamp(min=0.0))
    return (kept / kept.sum()).round(decimals=digits)


def _p(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else f"{value:.0e}"
