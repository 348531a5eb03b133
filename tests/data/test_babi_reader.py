"""bAbI files: questions are separated from the story, and facts are renumbered without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import read_rows
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.spec import Spec

FIELDS = ["story", "question", "answer", "facts"]
TASK = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Mary got the milk .
5 Mary went to the kitchen.
6 What is Mary carrying? \tmilk,apple\t4
7 Where is the milk?\tkitchen\t4 5
1 Sandra slept.
2 Who slept?\tSandra\t1
"""


def rows(tmp_path: Path, text: str, bad_rows: str = "stop"):
    path = tmp_path / "qa2_train.txt"
    path.write_text(text, encoding="utf-8")
    return read_rows(path, fields=FIELDS, format="babi", bad_rows=bad_rows)


def test_each_question_is_a_row_with_the_sentences_before_it(tmp_path: Path) -> None:
    first, second, third, fourth = rows(tmp_path, TASK)
    assert first == {
        "story": "Mary moved to the bathroom. John went to the hallway.",
        "question": "Where is Mary",
        "answer": "bathroom",
        "facts": "0",
    }
    assert second["answer"] == "milk,apple"
    assert second["facts"] == "2"
    assert third["story"].endswith("John went to the hallway. Mary got the milk. Mary went to the kitchen.")
    assert third["facts"] == "2 3"  # lines 4 and 5, counted from 0 without the question before them
    assert fourth == {"story": "Sandra slept.", "question": "Who slept", "answer": "Sandra", "facts": "0"}
    assert third.where.endswith("qa2_train.txt:7")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x Mary slept.", "begins with 'x', expected the number of the line"),
        ("2", "has a number and nothing after it"),
        ("2 Where?\tkitchen", "has 2 cells, expected question, answer and supporting facts"),
        ("2 Where?\tkitchen\t7", "names '7' as a supporting fact"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    text = f"1 Mary slept.\n{line}\n3 Who?\tMary\t1\n"
    with pytest.raises(RegardError, match=f"qa2_train.txt:2.*{words}"):
        list(rows(tmp_path, text))
    assert [row["answer"] for row in rows(tmp_path, text, bad_rows="skip")] == ["Mary"]


def test_a_field_the_format_has_not(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TASK)
    with pytest.raises(
        RegardError, match="a bAbI file has the fields story, question, answer, facts, but no text"
    ):
        list(read_rows(path, fields=["text"], format="babi"))


def test_the_questions_of_a_story_are_held_out_together(tmp_path: Path) -> None:
    lines = []
    for story in range(40):
        for place in range(3):
            lines += [
                f"{2 * place + 1} Mary went to room {story}.",
                f"{2 * place + 2} Where is Mary?\t{place}\t1",
            ]
    (tmp_path / "stories.txt").write_text("\n".join(lines) + "\n")
    spec = Spec.parse(
        {
            "inputs": {"story": {"type": "story"}, "question": {"type": "text", "shared": "story"}},
            "outputs": {"answer": {"type": "label"}},
            "truth": {"facts": {"type": "facts"}},
            "encoder": {"story": {"type": "story"}, "question": {"type": "bag", "like": "story"}},
            "decoder": {"type": "memory-network", "hops": 2},
            "data": {"format": "babi", "train": str(tmp_path / "stories.txt"), "hold_out": 0.3},
        }
    )
    splits = open_splits(spec)
    rooms = {name: {row["story"].split(".")[0] for row in rows} for name, rows in splits.items()}
    assert rooms["train"] and rooms["dev"] and not rooms["train"] & rooms["dev"]
    assert sum(len(list(rows)) for rows in splits.values()) == 120
