"""Strange answers are found: each is planted among ordinary ones, by a model whose answers are written by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from regard import Model, Prediction, RegardError, Spec, Trace
from regard.questions import SIGNS, Sign, strangeness
from regard.questions.signs import Answered, Reason

SPEC = Spec.model_validate(
    {
        "inputs": {"source": {"type": "text", "unit": "char"}},
        "outputs": {"target": {"type": "text", "unit": "char"}},
        "encoder": {"type": "recurrent", "size": 4, "embedding": 4},
        "decoder": {"type": "recurrent", "size": 4, "embedding": 4},
        "data": {"train": ["none.tsv"]},
    }
)
LETTERS = "abcdefghijklmnopqrst"
WORDS = [LETTERS[start : start + 5] for start in range(16)]
ROWS = [{"source": word, "target": word[::-1]} for word in WORDS]
"""Words of five letters to be reversed, all different."""


def _looking(word: str, written: str, weights: np.ndarray | None = None, score: float = -0.1) -> Prediction:
    """An answer that looks at the letter it writes, from the right to the left."""
    steps = len(written) + 1
    if weights is None:
        weights = np.zeros((steps, len(word)))
        weights[np.arange(steps), [max(0, len(word) - 1 - step) for step in range(steps)]] = 1.0
    truth = np.zeros((steps, len(word)))
    truth[np.arange(min(steps - 1, 5)), [4 - step for step in range(min(steps - 1, 5))]] = 1.0
    trace = Trace({"source": list(word)}, [*written, "</s>"], {"source": weights}, truth={"source": truth})
    return Prediction(written, written, score * steps, trace)


class Written(Model):
    """A model that gives answers written by hand."""

    answers: dict[str, Prediction]

    def answer(self, batch, **options):  # type: ignore[no-untyped-def, override]
        return [self.answers[text] for text in batch.texts("source")]


@pytest.fixture(scope="module")
def model() -> Written:
    return Written.build(SPEC, rows=ROWS)


def _order(model: Written, planted: Prediction, rows: list[dict[str, str]] = ROWS) -> str:
    """The reasons of the planted answer to row 7, which must be the strangest, and the only strange one."""
    model.answers = {word: _looking(word, word[::-1]) for word in WORDS}
    model.answers[WORDS[7]] = planted
    found = strangeness(model, rows)
    assert [one.row for one in found[1:]] == [row for row in range(len(rows)) if row != 7]
    assert found[0].row == 7 and found[0].strangeness >= 2.0
    assert all(one.strangeness == 0.0 and not one.reasons for one in found[1:])
    assert found[0].prediction.trace is None
    return "; ".join(found[0].reasons)


def test_ordinary_answers_are_not_strange(model: Written) -> None:
    model.answers = {word: _looking(word, word[::-1]) for word in WORDS}
    found = strangeness(model, ROWS)
    assert [one.row for one in found] == list(range(16))
    assert {one.strangeness for one in found} == {0.0} and all(one.right for one in found)


def test_attention_spread_over_the_input(model: Written) -> None:
    told = _order(model, _looking(WORDS[7], WORDS[7][::-1], np.full((6, 5), 0.2)))
    assert "the attention is spread over much of the input (entropy 100% of uniform; usual 0%)" in told


def test_a_position_read_again_and_again(model: Written) -> None:
    weights = np.zeros((6, 5))
    weights[:, 2] = 1.0
    told = _order(model, _looking(WORDS[7], WORDS[7][::-1], weights))
    assert "position 3 of source, 'j', is attended to for 6.0 steps (usual 2.0)" in told
    assert "80% of the input is never attended to (usual 0%)" in told
    assert "80% of the looks are at the wrong place (usual 0%)" in told


def test_a_repeating_output(model: Written) -> None:
    told = _order(model, _looking(WORDS[7], "lkjih" + "ih" * 8))
    assert "the output repeats itself: 'i' 'h' 9 times" in told
    assert "the output is much longer than the true one: 21 pieces" in told
    told = _order(model, _looking(WORDS[7], "lkjih" + "ih" * 8), [{"source": word} for word in WORDS])
    assert "the output is much longer than usual: 21 pieces, where 5 are usual" in told


def test_a_short_output_and_an_empty_one(model: Written) -> None:
    assert "much shorter than the true one: 0 pieces" in _order(model, _looking(WORDS[7], ""))


def test_an_unlikely_answer(model: Written) -> None:
    told = _order(model, _looking(WORDS[7], WORDS[7][::-1], score=-2.0))
    assert f"unlikely (p = {math.exp(-2.0):.2g} per piece; usual {math.exp(-0.1):.2g})" in told
    never = replace(_looking(WORDS[7], WORDS[7][::-1]), score=-math.inf)
    assert "finds its own answer unlikely" in _order(model, never)


def test_wrong_and_sure_of_it(model: Written) -> None:
    told = _order(model, _looking(WORDS[7], "lkjii"))
    assert told == f"wrong, and sure of it (p = {math.exp(-0.1):.2g} per piece)"


def test_one_answer_to_many_inputs(model: Written) -> None:
    model.answers = {word: _looking(word, word[::-1]) for word in WORDS}
    model.answers |= {WORDS[row]: _looking(WORDS[row], "edcba") for row in range(1, 4)}
    first = strangeness(model, [{"source": word} for word in WORDS])[:4]
    assert sorted(one.row for one in first) == [0, 1, 2, 3]
    assert all("the same answer is given to 3 other inputs" in one.reasons for one in first)
    assert all(one.right is None and one.references == () for one in first)


def test_a_number_far_from_the_others_and_a_label_that_is_common_but_not_strange() -> None:
    far = [sign for sign in SIGNS if sign.name in ("far", "common")]
    trace = Trace({"x": ["a"]}, ["7"], kind="number")
    rows = [Answered(Prediction(value, str(value), 0.0, trace)) for value in (7.0, 99.5)]
    assert [sign.of(rows[1]).value for sign in far if sign.of(rows[1])] == [99.5]  # type: ignore[union-attr]
    labels = [Answered(Prediction("yes", "yes", 0.0, probabilities={"yes": 1.0})) for _ in range(9)]
    assert all(not sign.among(labels) for sign in far)


def test_a_sign_of_your_own_a_limit_and_progress(model: Written) -> None:
    class Vowels(Sign):
        name = "vowels"

        def of(self, answered: Answered) -> Reason:
            count = sum(piece in "aeiou" for piece in answered.pieces)
            return Reason(float(count), lambda usual: f"{count} vowels")

    model.answers = {word: _looking(word, word[::-1]) for word in WORDS}
    model.answers[WORDS[7]] = _looking(WORDS[7], "aeiou")
    steps: list[tuple[int, int]] = []
    found = strangeness(model, ROWS, signs=[Vowels()], most=10, progress=lambda *at: steps.append(at))
    assert found[0].row == 7 and found[0].reasons == ("5 vowels",) and len(found) == 10
    assert steps[-1] == (10, 10)
    assert found[0].to_dict()["references"] == ["lkjih"]

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        strangeness(model, ROWS, progress=stop)


def test_a_model_that_continues_a_text_is_refused() -> None:
    class Continuing:
        continues = True

    with pytest.raises(RegardError, match="no answers to compare"):
        strangeness(Continuing(), ROWS)  # type: ignore[arg-type]
