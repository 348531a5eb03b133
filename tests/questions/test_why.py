"""`why`: the least change of attention, against a search over single positions and over a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import regard
from regard import Model, RegardError
from regard.model.edits import PinEdit, WeightsEdit

from .reversing import trained

WORDS = ["abcde", "fed", "cafe"]


@pytest.fixture(scope="module")
def topics(learning_seed: int) -> Model:
    """A label that hangs on one look."""
    return trained(
        seed=learning_seed,
        outputs={"topic": {"type": "label"}},
        decoder={"type": "label"},
        epochs=4,
    )


Asked = tuple[str, int, int, str]


@pytest.fixture(scope="module")
def reachable(reverser: Model) -> list[Asked]:
    """(word, step, position, piece): another piece that the model says if it looks at one position alone."""
    found: list[Asked] = []
    for word in WORDS:
        own = reverser.predict(word).trace
        assert own is not None
        for step in range(len(own.output)):
            looks = [[PinEdit(step=step, position=position)] for position in range(len(word))]
            pinned = decoded(reverser, word, looks, own.output[:step])
            found += [
                (word, step, position, said)
                for position, said in enumerate(pinned)
                if said != own.output[step]
            ]
    return found


def decoded(model: Model, word: str, looks: list[Any], before: Sequence[str]) -> list[str]:
    """What the model says with each look after some pieces."""
    answers = model.predict([word] * len(looks), look=looks, prefix=" ".join(before) or None, method="greedy")
    return [one.trace.output[len(before)] for one in answers if one.trace is not None]


def test_it_finds_every_word_that_some_single_position_makes_likeliest(
    reverser: Model, reachable: list[Asked]
) -> None:
    assert len(reachable) >= 15
    for word, step, position, said in reachable[::2]:
        result = regard.why(reverser, word, said, step)
        assert result.found, (word, step, said)
        assert result.distance <= 1 - result.own[position] + 1e-4  # the way to this position alone


def test_the_row_is_checked_by_decoding_with_it(reverser: Model, reachable: list[Asked]) -> None:
    word, step, _, said = reachable[-1]
    result = regard.why(reverser, word, said, step)
    own = reverser.predict(word).trace
    assert own is not None and result.changed is not None and result.changed.trace is not None
    assert result.changed.trace.output[: step + 1] == [*own.output[:step], said]
    before = " ".join(own.output[:step]) or None
    by_hand = reverser.predict(word, look=result.look, prefix=before, method="greedy").trace
    assert by_hand is not None and by_hand.output[step] == said and by_hand.probabilities is not None
    np.testing.assert_allclose(by_hand.attention["source"][step], result.row, atol=1e-5)
    assert by_hand.probabilities[step] == pytest.approx(result.after, abs=1e-4)
    assert result.before < result.after and result.row.sum() == pytest.approx(1.0)
    assert result.distance == pytest.approx(0.5 * np.abs(result.row - result.own).sum(), abs=1e-6)
    assert isinstance(result.edits[0], WeightsEdit) and result.to_dict()["found"] is True


def test_no_row_of_a_fine_grid_is_much_nearer(reverser: Model, reachable: list[Asked]) -> None:
    """All rows of a word of three letters in steps of 1/40, each decoded."""
    word, step, _, said = next(one for one in reachable if len(one[0]) == 3)
    result, own = regard.why(reverser, word, said, step), reverser.predict(word).trace
    assert result.found and own is not None
    grid = [(i / 40, j / 40, (40 - i - j) / 40) for i in range(41) for j in range(41 - i)]
    rows = [row for row in grid if 0.5 * np.abs(np.array(row) - result.own).sum() < result.distance - 0.03]
    looks = [[WeightsEdit(step=step, weights=dict(enumerate(row)))] for row in rows]
    assert len(rows) > 10 and said not in decoded(reverser, word, looks, own.output[:step])


def test_the_step_with_the_least_change_is_chosen(reverser: Model) -> None:
    result = regard.why(reverser, "abcde", "A")
    assert result.distance == 0 and result.step == 4 and "already says 'A'" in str(result)
    every = [regard.why(reverser, "cafe", "D", step) for step in range(4)]
    best = regard.why(reverser, "cafe", "D")
    known = [one.distance for one in every if one.found]
    assert best.found == bool(known) and (not known or best.distance <= min(known) + 0.05)


def test_a_label_changes_with_its_look(topics: Model) -> None:
    assert topics.predict("bcdaf").text == "yes"
    result = regard.why(topics, "bcdaf", "no")
    assert result.found and result.step == 0 and result.changed is not None and result.changed.text == "no"
    assert result.row[3] < result.own[3]


def test_what_no_look_says_is_told(reverser: Model) -> None:
    """A word of one letter repeated: wherever the model looks, it sees that letter."""
    result = regard.why(reverser, "bb", "F", 0)
    assert not result.found and result.changed is None and "No look was found" in str(result)


@pytest.mark.parametrize(
    ("word", "step", "says"),
    [
        ("Q", 0, "not in its vocabulary"),
        ("A B", 0, "'A B' is 2 pieces of the output"),
        ("A", 9, "no step 9; the pieces of the output are 0 to"),
    ],
)
def test_questions_that_have_no_answer_are_refused(reverser: Model, word: str, step: int, says: str) -> None:
    with pytest.raises(RegardError, match=says):
        regard.why(reverser, "abcde", word, step)
