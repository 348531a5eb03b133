"""`regard chat`: a dialog through a pipe, the chat commands, and refused input."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import regard as package
from regard.data.turns import read_turns
from regard.spec import Spec

Run = Callable[..., tuple[int, str, str]]
FACTS = ("Logan", "Heat", "Jaws", "Ghost")
ROWS = [
    {"dialog": f"U: {ask} | B: see {film} | U: {who}", "utterance": who, "response": f"{who} {film}"}
    for film in FACTS
    for ask in ("hi", "a film please")
    for who in ("who is in", "who made")
]
SPEC = {
    "inputs": {
        "dialog": {"type": "dialog", "max_turns": 6},
        "utterance": {"type": "text", "shared": "dialog"},
    },
    "outputs": {"response": {"type": "candidate"}},
    "encoder": {
        "dialog": {"type": "story", "embedding": 16},
        "utterance": {"type": "bag", "embedding": 16, "like": "dialog"},
    },
    "attention": {"score": "dot"},
    "decoder": {"type": "memory-retrieval", "hops": 1, "read": "sum"},
    "training": {"epochs": 40, "batch_rows": 8, "lr": 0.02, "seed": 1},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("chat") / "run"
    package.fit(ROWS, spec=Spec.parse(SPEC), dev=ROWS, run=folder, device="cpu", quiet=True)
    return str(folder)


@pytest.fixture
def piped(regard: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    def run(typed: str | bytes, *arguments: str) -> tuple[int, str, str]:
        content = typed if isinstance(typed, bytes) else typed.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return regard("chat", *arguments)

    return run


def test_a_fact_told_before_is_used_and_can_be_taken_back(trained: str, piped: Run, tmp_path: Path) -> None:
    file = tmp_path / "talk.txt"
    lines = [
        "/turn U: hi",
        "/turn B: see Logan",
        "who is in",
        "/undo",
        "/undo",
        "/turn B: see Jaws",
        "who made",
        "",
    ]
    code, out, err = piped("\n".join([*lines, "/history", "/quit", "ignored"]), trained, "-o", str(file))
    assert code == 0
    told = ["U: hi", "B: see Jaws", "U: who made", "B: who made Jaws"]
    assert out.splitlines() == ["who is in Logan", "who made Jaws", *told]
    assert "undone; the last turn is now: B: see Logan" in err
    assert file.read_text().splitlines() == told
    code, out, err = piped("who is in", trained, "--history", str(file))
    assert (code, out) == (0, "who is in Jaws\n")


def test_the_trace_follows_the_answer(trained: str, piped: Run) -> None:
    code, out, _ = piped("/turn B: see Heat\nwho made\n/trace\nwho is in\n", trained, "--trace")
    assert code == 0
    assert out.startswith("who made Heat\n")
    assert "B  see Heat" in out
    assert out.endswith("who is in Heat\n")  # the attention is hidden again


def test_a_long_dialog_is_read_from_its_end(trained: str, piped: Run, tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps([["U", "hi"], ["B", "hi"]] * 2000 + [["B", "see Heat"]]), encoding="utf-8")
    code, out, _ = piped("who made", trained, "--history", str(file), "-o", str(tmp_path / "out.txt"))
    assert (code, out) == (0, "who made Heat\n")
    assert len(read_turns((tmp_path / "out.txt").read_text())) == 4003


@pytest.mark.parametrize(
    ("typed", "arguments", "told"),
    [
        ("/undo\n", (), "standard input:1: there is nothing to undo"),
        ("who\n/hisory\n", (), "standard input:2: there is no command '/hisory'"),
        ("/turn nobody says this\n", (), "a turn without a speaker"),
        ("/undo all\n", (), "/undo takes no argument"),
        ("a " * 501, (), "more than max_length 500"),
        (b"who \xff\n", (), "standard input:1: the line is not UTF-8"),
        ("who\n", ("--user", "a b"), "--user: 'a b' is not the name of a speaker"),
        ("who\n", ("--history", "none.txt"), "no such file"),
        ("who\n", ("--of", "answer"), "answer"),
    ],
)
def test_mistakes_are_told_in_one_line(
    trained: str, piped: Run, typed: str, arguments: tuple[str, ...], told: str
) -> None:
    code, _, err = piped(typed, trained, *arguments)
    assert code == 2
    assert told in " ".join(err.split())


def test_controls_are_blanks_and_two_slashes_are_one(trained: str, piped: Run) -> None:
    code, out, err = piped("//undo \x1b[31m\x07who\n/history\n", trained)
    assert code == 0
    assert out.splitlines()[1] == "U: /undo [31m who"
    assert "\x1b" not in out + err


def test_a_model_that_reads_something_else_is_refused(piped: Run, tmp_path: Path) -> None:
    rows = [{"utterance": "so", "offered": "a | b", "response": "a"}] * 4
    spec = {
        "inputs": {"utterance": {"type": "text"}, "offered": {"type": "candidates"}},
        "outputs": {"response": {"type": "candidate", "of": "offered"}},
        "encoder": {
            "utterance": {"type": "bag", "embedding": 4},
            "offered": {"type": "candidates", "embedding": 4},
        },
        "decoder": {"type": "retrieval"},
        "training": {"steps": 1, "batch_rows": 4},
    }
    package.fit(rows, spec=Spec.parse(spec), dev=rows, run=tmp_path / "run", device="cpu", quiet=True)
    code, _, err = piped("hi\n", str(tmp_path / "run"))
    assert code == 2
    assert "only dialogs and texts can be typed" in " ".join(err.split())
