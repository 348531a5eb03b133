"""The notation of a lecture: the lines of our own board, with each symbol renamed as in the lecture.

Lectures write one bias where a cell has two, W for the matrix of the state and U for that of the input, and enc, dec,
attn for the module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from regard.course.notations.applications import Application, application
from regard.course.notations.letters import NAMES, TWO, Letters
from regard.course.notations.lines import Lettering
from regard.course.notations.weights import Weights
from regard.describe import answers
from regard.describe.notations import Lettered, Notation
from regard.spec import Spec


class DeckNotation(Notation):
    """The notation of one lecture.

    deck   the number of the lecture
    """

    deck: ClassVar[str]
    letters: ClassVar[Letters]

    @classmethod
    def write(cls, spec: Spec, columns_file: Path | None = None) -> Lettered:
        told = application(spec, cls.letters, cls.deck)
        letters, found = cls.letters, answers(spec)
        lettering = Lettering(spec, letters, told)
        found["encoder"] = lettering.encoder_lines(found["encoder"])
        found["decoder"] = lettering.decoder_lines(found["decoder"])
        found["loss"] = lettering.loss_lines(found["loss"])
        weights = Weights(spec, lettering, columns_file).found()
        printed = letters.parameters.get((told.kind, told.writes), "")
        return Lettered(found, weights, _remarks(lettering, told), printed)


def _remarks(lettering: Lettering, told: Application) -> list[str]:
    """The deviations of this model from the slides."""
    decoder, encoder, letters = lettering.decoder, lettering.encoder, lettering.letters
    levels = [encoder.words, encoder.sentences] if lettering.levels else [encoder]
    cells: list[Any] = [getattr(one, "cell", None) for one in (*levels, decoder)]
    found = list(letters.remarks)
    types = {cell.type for cell in cells if cell is not None}
    found += [
        f"the lecture writes no equation of {NAMES.get(one, one)}"
        for one in sorted(types - set(letters.written))
    ]
    types &= set(letters.written)
    if "gru" in types and any(getattr(cell, "reset", "") == "after" for cell in cells):
        found.append("the slide resets before the product W h, as `cell: {type: gru, reset: before}` does")
    if told.kind == "language" and getattr(decoder, "first", "zero") == "zero":
        found.append(
            "the slide learns s_0, as `first: random` does; here it is zero at the beginning of a text"
        )
    if told.kind == "language" or (letters.condition and not told.at_once):
        found.append("the slide sums −log P over the words; here it is their mean")
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
    if types:
        found.append(TWO + ("none" if types <= set(letters.unbiased) else "one, their sum"))
    return found
