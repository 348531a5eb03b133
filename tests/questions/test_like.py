"""`like`: a training row finds itself, and rows that write the same letter in the same context are nearest."""

from __future__ import annotations

import pytest

import regard
from regard import Model, RegardError
from regard.questions.like import index_of
from regard.questions.states import StateIndex

from .reversing import rows, trained

DATA = rows()


@pytest.fixture(scope="module")
def known(reverser: Model) -> StateIndex:
    return index_of(reverser, "target", rows=DATA)


def test_a_training_row_finds_itself(reverser: Model, known: StateIndex) -> None:
    found = 0
    for number in range(0, 40, 4):
        row = DATA[number]
        if reverser.predict(row["source"]).text != row["target"]:
            continue
        found += 1
        for step in range(len(row["target"].split())):
            first = regard.like(reverser, row["source"], step, rows=known, count=1)[0]
            assert first.distance == pytest.approx(0.0, abs=1e-5)
            assert first.inputs["source"] == row["source"] and first.step == step
            assert first.piece == row["target"].split()[step]
    assert found >= 6


def test_neighbors_write_the_same_letter(reverser: Model, known: StateIndex) -> None:
    """What is written at a step is the letter that the model looks at: its neighbors write it too."""
    same = total = 0
    for word in ("abcde", "fade", "cab", "deed"):
        answer = reverser.predict(word).trace
        assert answer is not None
        for step, piece in enumerate(answer.output[:-1]):
            for one in regard.like(reverser, word, step, rows=known, count=5):
                total += 1
                same += one.piece == piece
                assert one.output[one.step] == one.piece
    assert same / total > 0.9


def test_neighbors_are_sorted_and_bounded(reverser: Model) -> None:
    told: list[tuple[int, int]] = []
    found = regard.like(
        reverser, "abcde", 1, rows=DATA, count=7, most=100, progress=lambda done, of: told.append((done, of))
    )
    assert [one.distance for one in found] == sorted(one.distance for one in found)
    assert len({one.row for one in found}) == 7 and {one.row for one in found} <= set(range(0, 700, 7))
    assert told[0] == (0, 100) and told[-1] == (100, 100)
    assert found[0].to_dict()["piece"] == found[0].piece and found[0].piece in str(found[0])

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        regard.like(reverser, "abcde", 1, rows=DATA, progress=stop)
    with pytest.raises(RegardError, match="count must be at least 1"):
        regard.like(reverser, "abcde", 1, rows=DATA, count=0)


def test_a_label_has_one_state() -> None:
    model = trained(epochs=2, outputs={"topic": {"type": "label"}}, decoder={"type": "label"})
    first = regard.like(model, DATA[3]["source"], rows=DATA, count=1)[0]
    assert first.distance == pytest.approx(0.0, abs=1e-5) and first.inputs["source"] == DATA[3]["source"]
    assert first.piece == DATA[3]["topic"]
