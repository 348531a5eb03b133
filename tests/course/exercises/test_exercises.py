"""Exercises: right answers pass; wrong and broken ones get location, cause and hint; files are kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from regard.course import lectures
from regard.course.exercises import Wrong, exercise, grade, names, write_template
from regard.course.exercising import grade_answer
from regard.errors import RegardError
from tests.course.exercises import answers

ROOT = Path(__file__).parents[3]


def module(code: str) -> Any:
    """A file as the grader loads it, without a separate process."""
    found: dict[str, Any] = {}
    exec(code, found)
    return SimpleNamespace(**found)


def marks(name: str, code: str) -> list[str]:
    """The remark on each question; "" if the answer is right."""
    said = []
    for question in exercise(name).questions:
        try:
            question.check(module(code))
            said.append("")
        except Wrong as error:
            said.append(str(error))
    return said


@pytest.mark.parametrize("name", names())
def test_right_answers_are_right(name: str) -> None:
    assert not any(marks(name, answers.RIGHT[name]))


@pytest.mark.parametrize("name", names())
def test_a_template_is_python_without_a_solution(name: str) -> None:
    said = marks(name, exercise(name).template)
    assert all("not answered yet" in one for one in said)


@pytest.mark.parametrize("name", names())
def test_exercises_belong_to_lectures(name: str) -> None:
    for entry in exercise(name).entries:
        assert lectures.entry(entry)


@pytest.mark.parametrize(
    ("name", "right", "wrong", "told"),
    [
        ("summing", '"U": 1, "b": 0, "V": 1,', '"U": 0.9, "b": 0, "V": 1,', "the sum of [-0.75, -0.75]"),
        ("summing", '"b": 0, "V": 1', '"b": 0.001, "V": 1', "the sum of"),
        ("summing", "[2, -2]", "[2, -1.9]", "total is larger"),
        ("summing", "[2, -2]", "[2, -2, 1]", "has the shape (3,), expected (2,)"),
        ("carousel", "(1 - np.tanh(c_t) ** 2)", "np.tanh(c_t)", "against finite differences"),
        ("carousel", "+ f_next * c_bar_next", "", "against finite differences"),
        ("carousel", "return 1, 0, 0", "return 1, 0, 1", "with f = 1 and o = 1"),
        ("carousel", "return 1, 0, 0", "return 1, 1, 0", "with f = 1 and i = 1"),
        ("carousel", "return 1, 0, 0", "return 1, 0", "has the shape (2,)"),
        ("attention", "np.where(mask, e, -np.inf)", "e", "where the mask is False"),
        ("attention", "h @ W.T + U @ s", "h @ U.T + W @ s", "the weights: expected"),
        ("attention", "e - e.max()", "e", "not finite"),
        ("attention", "a / a.sum()", "a", "the sum of the weights: expected 1"),
        ("attention", "alpha @ h", "h.mean(0)", "the context: expected"),
        ("attention", "2 * D * D + D", "D * D + D", "new_parameters(2): expected 10, received 6"),
        ("mistakes", "% 10 * 10**k for", "* 10**k for", "the network answers"),
        ("mistakes", "b % 100", "a % 100", "the network answers"),
        ("mistakes", "1 if digits > 9", "1 if digits + carry > 9", "the network answers"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_wrong_answers_are_told_why(name: str, right: str, wrong: str, told: str) -> None:
    code = answers.RIGHT[name]
    assert right in code
    assert any(told in one for one in marks(name, code.replace(right, wrong)))


def test_the_ways_of_the_lecture_are_recognized() -> None:
    assert marks("condition", answers.START)[2].endswith("option 1.")
    assert marks("condition", answers.EVERY_STEP)[2].endswith("option 2.")
    assert not any(marks("condition", answers.GATING))
    assert "two images give the same scores" in marks("condition", answers.decoder())[1]
    deaf = answers.decoder(STEP="p['W'] @ state + p['b']")
    assert "does not read them" in marks("condition", deaf)[0]


def test_an_answer_is_run_in_its_own_process(tmp_path: Path) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text("print('thinking')\n" + answers.MISTAKES)
    found = grade("mistakes", answer)
    assert found.right and found.printed == "thinking"
    assert not (tmp_path / "__pycache__").exists()


BROKEN = {
    "def first(a, b):\n    return a +\n": ("answer.py:2", "this is not Python"),
    "import numpy\nx = 1 / 0\n": ("answer.py:2", "ZeroDivisionError"),
    "def first(a, b):\n    c = a\n    return unknown(c)\n": ("answer.py:3", "NameError"),
    "raise SystemExit(4)\n": ("answer.py:1", "SystemExit"),
    "def second(a, b): return 1\n": ("answer.py", "does not define first"),
    "def first(a, b): return 'x'\n": ("", "is a str; expected a whole number"),
}


@pytest.mark.parametrize("code", BROKEN, ids=[cause for _, cause in BROKEN.values()])
def test_a_broken_answer_gets_its_place_and_a_hint(code: str, tmp_path: Path) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text(code)
    mark = grade("mistakes", answer).marks[0]
    place, cause = BROKEN[code]
    assert mark.place == place and cause in mark.cause and mark.hint and not mark.right


def test_what_is_not_answered_yet_is_open_and_gets_no_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text(
        exercise("summing").template.replace(
            '"W": ..., "U": ..., "b": ..., "V": ..., "c": ...', '"W": 2, "U": 1, "b": 0, "V": 1, "c": 0', 1
        )
    )
    sums, compares = grade("summing", answer).marks
    assert not sums.open and sums.hint and not sums.right
    assert compares.open and not compares.hint and not compares.right
    with pytest.raises(typer.Exit):
        grade_answer("summing", answer, output=None, hint=False, seconds=20)
    said = capsys.readouterr().out
    assert (
        "1. wrong  SUM" in said and "2. open   COMPARE" in said and "regard exercise summing --hint" in said
    )


def test_an_answer_that_never_ends_is_stopped_at_its_line(tmp_path: Path) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text(
        answers.MISTAKES.replace("def second(a, b):\n", "def second(a, b):\n    while True: pass\n")
    )
    began = time.monotonic()
    found = grade("mistakes", answer, seconds=1)
    line = answer.read_text().splitlines().index("    while True: pass") + 1
    assert [mark.right for mark in found.marks] == [True, False, False]
    assert found.marks[1].place == f"answer.py:{line}" and "1 seconds" in found.marks[1].cause
    assert time.monotonic() - began < 60


def test_an_answer_that_prints_without_end_is_stopped_too(tmp_path: Path) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text('while True: print("x" * 1_000_000)\n')
    found = grade("mistakes", answer, seconds=1)
    assert found.marks[0].place == "answer.py:1" and "1 seconds" in found.marks[0].cause
    assert found.printed.startswith("…\n") and "xxx" in found.printed and len(found.printed) < 10_000


def test_the_last_lines_of_a_long_output_are_shown(tmp_path: Path) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text("for i in range(10_000): print(f'line {i}')\n" + answers.MISTAKES)
    found = grade("mistakes", answer)
    assert found.right
    assert found.printed.splitlines() == ["…", *(f"line {i}" for i in range(9_980, 10_000))]


def test_files_named_like_standard_modules_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("random", "statistics", "regard"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('mine')\n")
    (tmp_path / "beside.py").write_text("VALUE = 3\n")
    answer = tmp_path / "answer.py"
    answer.write_text("import random, statistics, beside\nprint(beside.VALUE)\n" + answers.MISTAKES)
    found = grade("mistakes", answer)
    assert found.right and found.printed == "3"


def test_an_answer_that_ends_the_process_is_told_so(tmp_path: Path) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text("import os\nos._exit(7)\n")
    assert "exit code 7" in grade("mistakes", answer).marks[0].cause


def test_the_work_of_a_student_is_kept(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("my work")
    with pytest.raises(RegardError, match="may contain your work"):
        write_template("summing", mine)
    assert mine.read_text() == "my work"
    write_template("summing", tmp_path / "new.py")
    assert (tmp_path / "new.py").read_text() == exercise("summing").template


def test_a_folder_is_told_from_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="this is a folder") as caught:
        grade("summing", tmp_path)
    assert caught.value.fix.endswith(f"regard exercise summing {tmp_path / 'summing.py'}")
    with pytest.raises(RegardError, match="this is a folder") as caught:
        write_template("summing", tmp_path)
    assert caught.value.fix.endswith(f"regard exercise summing -o {tmp_path / 'summing.py'}")
    with pytest.raises(RegardError, match=r"no such file.*-o .*/mine\.py` writes a template"):
        grade("summing", tmp_path / "mine")


def test_the_command(tmp_path: Path) -> None:
    """The command as a student uses it: a template, an answer, a mistake."""

    def regard(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "regard", "exercise", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment())
        return done.returncode, done.stdout + done.stderr

    code, out = regard("mistakes", "-o", "answer.py")
    assert code == 0 and (tmp_path / "answer.py").exists()
    code, out = regard("mistakes", "answer.py")
    assert code == 1 and "0 of 3 right" in out and "Traceback" not in out
    code, out = regard("mistakes", "nothing.py")
    assert code == 2 and "no such file" in out


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def test_names_that_are_nearly_right() -> None:
    with pytest.raises(RegardError, match="Did you mean carousel"):
        exercise("carrousel")
