"""Readers of dialogs and labeled trees in their published formats, without a conversion script."""

from __future__ import annotations

import time
from pathlib import Path

from regard.data import read_rows
from regard.data.readers.sst import TreesReader

DIALOGS = """1 hi\thello there
2 a table in rome\ti'm on it
3 resto_1 R_phone 555.1
4 <SILENCE>\tapi_call rome

1 good day\thello there
2
x nothing\there
"""


def test_dialogs(tmp_path: Path) -> None:
    path = tmp_path / "dialogs.txt"
    path.write_text(DIALOGS, encoding="utf-8")
    rows = list(read_rows(path, fields=["dialog", "utterance", "response"], format="dialog").with_problems())
    assert [tuple(row.values()) for row in rows[:4]] == [
        ("U: hi", "hi", "hello there", "1"),
        ("U: hi | B: hello there | U: a table in rome", "a table in rome", "i'm on it", "1"),
        (
            "U: hi | B: hello there | U: a table in rome | B: i'm on it | KB: resto_1 R_phone 555.1 | U: <SILENCE>",
            "<SILENCE>",
            "api_call rome",
            "1",
        ),
        ("U: good day", "good day", "hello there", "2"),
    ]
    assert [row.group for row in rows[:4]] == ["the dialog of line 1"] * 3 + ["the dialog of line 6"]
    assert [(row.line, row.problem) for row in rows[4:]] == [
        (7, "has a number and nothing after it"),
        (8, "begins with 'x', expected the number of the turn in its dialog"),
    ]


def test_trees(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    lines = [
        "(3 (2 It) (4 (2 's) (4 (3 lovely\\/fine) (2 -LRB-film-RRB-))))",
        "",
        "(1 (2 bad)",
        "(1 bad) (2 good)",
        "(1 bad))",
        "bad",
        "(4 (3 ))",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = list(read_rows(path, fields=["text", "label"], format="sst").with_problems())
    assert dict(rows[0]) == {
        "text": "It 's lovely/fine (film)",
        "label": "3",
        "tree": "(3 (2 It) (4 (2 's) (4 (3 lovely/fine) (2 -LRB-film-RRB-))))",
        "parse": "(3 XX (4 XX (4 XX XX )4 )4 )3",
    }
    assert [(row.line, row.problem) for row in rows[1:]] == [
        (3, "has a bracket that is not closed (character 1)"),
        (4, "has more than one tree (character 9)"),
        (5, "has a closing bracket without an opening one (character 8)"),
        (6, "has 'bad' outside of all brackets (character 1)"),
        (7, "has brackets with no word in them (character 4)"),
    ]
    phrases = read_rows(path, fields=["text", "label"], format=TreesReader(phrases=True), bad_rows="skip")
    assert [(row["text"], row["label"]) for row in phrases] == [
        ("It 's lovely/fine (film)", "3"),
        ("'s lovely/fine (film)", "4"),
        ("lovely/fine (film)", "4"),
        ("(film)", "2"),
        ("lovely/fine", "3"),
        ("'s", "2"),
        ("It", "2"),
    ]


def test_each_turn_of_a_long_dialog_is_looked_at_once(tmp_path: Path) -> None:
    """Each row holds all previous turns: 1,000 rows of up to 2,000 turns."""
    file = tmp_path / "long.txt"
    file.write_text("".join(f"{n} say {n}\tsaid {n}\n" for n in range(1, 1001)), encoding="utf-8")
    began = time.process_time()
    rows = list(read_rows(file, fields=["dialog", "response"], format="dialog"))
    assert time.process_time() - began < 5
    assert len(rows) == 1000 and rows[2]["dialog"] == "U: say 1 | B: said 1 | U: say 2 | B: said 2 | U: say 3"
