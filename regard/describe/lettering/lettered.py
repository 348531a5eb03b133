"""A model in the notation of a lecture, with the location of each weight and the deviations from the slide."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.describe.lettering.applications import Application, application
from regard.describe.lettering.letters import LECTURES, ONE
from regard.describe.lettering.lines import Lettering
from regard.describe.lettering.weights import Weight, Weights
from regard.describe.six_answers import answers
from regard.errors import RegardError
from regard.spec import Spec


@dataclass(frozen=True)
class Lettered:
    """The answers in the notation of a lecture, the location of each weight, and deviations from the lecture.

    parameters   the parameters as the slide of this application prints them; empty if it prints none
    """

    answers: dict[str, list[str]]
    weights: list[Weight]
    remarks: list[str] = field(default_factory=list)
    parameters: str = ""


def lettered(spec: Spec, deck: str, columns_file: Path | None = None) -> Lettered:
    """A model in the notation of a lecture; a RegardError names anything for which the lecture has no letters."""
    told = application(spec, deck)
    letters, found = LECTURES[deck], answers(spec)
    lettering = Lettering(spec, letters, told)
    found["encoder"] = lettering.encoder_lines(found["encoder"])
    found["decoder"] = lettering.decoder_lines(found["decoder"])
    found["loss"] = lettering.loss_lines(found["loss"])
    weights = Weights(spec, lettering, columns_file).found()
    printed = told.parameters if letters.condition else ""
    return Lettered(found, weights, _remarks(lettering, told), printed)


def has_letters(spec: Spec, deck: str) -> bool:
    """Whether a lecture has letters for every part of a model."""
    try:
        application(spec, deck)
    except RegardError:
        return False
    return True


def _remarks(lettering: Lettering, told: Application) -> list[str]:
    """The deviations of this model from the slides."""
    decoder, encoder, letters = lettering.decoder, lettering.encoder, lettering.letters
    levels = [encoder.words, encoder.sentences] if lettering.levels else [encoder]
    cells: list[Any] = [getattr(one, "cell", None) for one in (*levels, decoder)]
    found = list(letters.remarks)
    if any(cell is not None and cell.type == "gru" and cell.reset == "after" for cell in cells):
        found.append("the slide resets before the product W h, as `cell: {type: gru, reset: before}` does")
    if letters.condition and decoder.type == "recurrent":
        if "start" in decoder.ways and decoder.bridge != "copy":
            found.append(
                "the slide sets s_0 = h_T, as `bridge: copy` does; here s_0 is a tanh layer with W_init over h_T"
            )
        if any(one.state == "previous" for one in decoder.attention):
            found.append("the slide scores with s_t, which depends on c_t; here the score uses s_{t−1}")
        if told.writes == "attention" and told.kind == "recurrent":
            found.append("the slide's parameters lack W_attn, the matrix of the state in the score")
    if letters.condition and any(getattr(one, "bidirectional", False) for one in levels):
        found.append("the slide reads in one direction, as `bidirectional: false` does")
    if any(cell is not None for cell in cells):
        found.append(ONE)
    return found
