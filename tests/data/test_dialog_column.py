"""Dialogs: turns with speakers, in both forms, and invalid dialogs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard import zoo
from regard.data import Row, read_rows
from regard.data.columns import DialogColumn, EvidenceColumn, FactsColumn, column_from_state
from regard.data.dataset import Dataset
from regard.data.readers.dialog_json import DialogJsonReader
from regard.data.turns import Turn, read_turns, write_turns
from regard.errors import RegardError

FILM = "U: Can you name a good film? | B: Sure, see Logan. | U: And who is the lead?"
TURNS = [
    Turn("U", "Can you name a good film?"),
    Turn("B", "Sure, see Logan."),
    Turn("U", "And who is the lead?"),
]


@pytest.mark.parametrize(
    "text",
    [
        FILM,
        FILM.replace(" | ", "\n"),
        FILM.replace(" | ", "\r\n\n "),
        FILM.replace("who is", "who\x00\x1b \t is"),
        json.dumps([list(turn) for turn in TURNS]),
        json.dumps([turn._asdict() for turn in TURNS]),
    ],
    ids=["marks", "lines", "blank lines", "controls", "pairs", "objects"],
)
def test_both_forms_give_the_same_turns(text: str) -> None:
    assert read_turns(text) == TURNS


@pytest.mark.parametrize(
    "turns",
    [
        TURNS,
        [Turn("U", "a | b"), Turn("B", "a|b:c")],
        [Turn("a speaker", "hi")],
        [Turn("U", "[1]")],
        [Turn("[U", "hi")],
        [Turn("U", "B: he said so")],
    ],
)
def test_turns_that_are_written_are_read_back(turns: list[Turn]) -> None:
    assert read_turns(write_turns(turns)) == turns


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("U: hi | hello there | U: so", "turn without a speaker, turn 2: 'hello there'"),
        ("see www.a.b:80 now", "turn without a speaker, turn 1"),
        ("U: hi | B: | U: so", "has a turn without a text, turn 2 of 'B'"),
        ("|", "has no turn"),
        ("  ", "is empty"),
        ("[]", "has no turn"),
        ('[["U", "hi"], ["B"]]', "not a pair of speaker and text, turn 2"),
        ('[{"text": "hi"}]', "turn without a speaker, turn 1"),
        ('[{"speaker": "U"}]', "turn without a text, turn 1"),
        ("[1, 2]", "not a pair of speaker and text, turn 1"),
        ('["U", ', "not valid JSON"),
        ("U: a | " * 501 + "U: b", "502 turns, more than max_turns 500"),
        ("U: " + "a " * 500, "a turn of 501 words, more than max_length 500"),
    ],
)
def test_what_is_no_dialog_is_refused_with_its_place(value: str, problem: str) -> None:
    column = DialogColumn("dialog", max_turns=500, max_length=500)
    column.learn([FILM, "U: a b"])
    rows = [Row({"dialog": FILM}, file="talk.tsv", line=1), Row({"dialog": value}, file="talk.tsv", line=2)]
    with pytest.raises(RegardError) as refused:
        Dataset.build(rows, [column])
    assert problem in refused.value.what
    assert refused.value.where == "talk.tsv:2"


def test_speakers_are_the_first_words_of_turns_or_are_left_out() -> None:
    for speakers, first in ((True, "U: Can you"), (False, "Can you")):
        column = DialogColumn("dialog", speakers=speakers)
        column.learn([FILM])
        restored = column_from_state(json.loads(json.dumps(column.state())))
        for one in (column, restored):
            assert one.tokens(FILM)[0].startswith(first)
            assert one.tokens(one.encode(FILM).tolist()) == one.tokens(FILM)
    assert column.decode(column.encode(FILM).tolist()) == " | ".join(turn.text for turn in TURNS)


def test_a_dialog_may_be_given_as_a_list() -> None:
    column = DialogColumn("dialog")
    assert column.written([("U", "hi"), {"speaker": "B", "text": "ho"}]) == "U: hi | B: ho"
    for wrong in ([], [("U",)], 3, ["hi"]):
        with pytest.raises(RegardError, match="the dialog"):
            column.written(wrong)


MULTIWOZ = {
    "SNG01.json": {
        "goal": {},
        "log": [
            {"text": "a cheap  hotel", "metadata": {}},
            {"text": "where ?"},
            {"text": "north"},
            {"text": "ok"},
        ],
    },
    "SNG02.json": {"log": [{"text": "hi"}, {"metadata": {}}]},
}


def test_dialogs_of_multiwoz(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(MULTIWOZ), encoding="utf-8")
    fields = ["dialog", "utterance", "response", "conversation"]
    rows = list(read_rows(path, fields=fields, format="dialog-json").with_problems())
    assert [tuple(row.values()) for row in rows[:2]] == [
        ("U: a cheap hotel", "a cheap hotel", "where ?", "SNG01.json"),
        ("U: a cheap hotel | B: where ? | U: north", "north", "ok", "SNG01.json"),
    ]
    assert (rows[2].line, rows[2].problem) == (2, "has a turn without the text 'text', turn 2")


def test_dialogs_of_multiwoz_2_2_in_a_list_or_line_by_line(tmp_path: Path) -> None:
    turns = [{"speaker": "SYSTEM", "utterance": "welcome"}, {"speaker": "USER", "utterance": "hi"}]
    turns += [{"speaker": "SYSTEM", "utterance": "yes ?"}, {"speaker": "other", "utterance": "hm"}]
    dialogs = [{"dialogue_id": "A", "turns": turns}, {"dialogue_id": "B", "turns": [{"utterance": "x"}]}]
    reader = DialogJsonReader(turns="turns", text="utterance", speaker="speaker")
    for number, text in enumerate((json.dumps(dialogs), "\n".join(map(json.dumps, dialogs)))):
        path = tmp_path / f"{number}.json"
        path.write_text(text, encoding="utf-8")
        rows = list(read_rows(path, fields=["dialog"], format=reader).with_problems())
        assert dict(rows[0]) == {
            "dialog": "B: welcome | U: hi",
            "utterance": "hi",
            "response": "yes ?",
            "conversation": "A",
        }
        assert rows[1].problem == "has a turn without the speaker 'speaker', turn 1"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(RegardError, match="not valid JSON"):
        list(read_rows(path, fields=["dialog"], format=reader))


def test_a_line_of_the_knowledge_base_is_no_turn(tmp_path: Path) -> None:
    path = tmp_path / "kb.txt"
    path.write_text("1 resto_1 R_cuisine\tkorean\n1 hi\t\n", encoding="utf-8")
    problems = [
        row.problem or "" for row in read_rows(path, fields=["dialog"], format="dialog").with_problems()
    ]
    assert "knowledge base" in problems[0]
    assert problems[1] == "has nothing after the tab"


def test_evidence_and_facts_may_be_of_a_dialog() -> None:
    dialog = DialogColumn("dialog")
    dialog.learn([FILM])
    evidence, facts = EvidenceColumn("evidence", of="dialog"), FactsColumn("facts", of="dialog")
    row = Row({"dialog": FILM, "evidence": "1:3", "facts": "2 1"})
    batch = Dataset.build([row], [dialog, evidence, facts]).batch([0])
    assert batch["evidence"].sentences.tolist() == [[[0.0, 1.0, 0.0]]]
    assert batch["facts"].ids.tolist() == [[2, 1]]
    for field, wrong in (("evidence", "3:0"), ("facts", "0 3")):
        bad = Row({"dialog": FILM, "evidence": "", "facts": "", field: wrong}, file="a.tsv", line=2)
        with pytest.raises(RegardError, match=r"names sentence 3, but dialog has 3 sentences \(0 to 2\)"):
            Dataset.build([bad], [dialog, evidence, facts])


@pytest.mark.parametrize("type", ["evidence", "facts"])
@pytest.mark.parametrize(("system", "source"), [("dialog-context", "dialog"), ("document-class", "document")])
def test_a_spec_takes_the_input_that_has_sentences(system: str, source: str, type: str) -> None:
    spec = zoo.find(system, [f"truth={{known: {{type: {type}}}}}"])
    assert spec.truth["known"].part.between(spec.truth["known"], spec)[0] == source
