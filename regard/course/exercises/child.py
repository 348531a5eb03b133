"""The process that runs a student's file: `python -m regard.course.exercises.child NAME FILE FOLDER SECONDS`.

It writes one line of JSON per question to FOLDER/report.jsonl. Every error of the file is reported with its
line, and the grader itself prints nothing.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from regard.course.exercises.catalog import exercise
from regard.course.exercises.exercise import GradedQuestion, Unanswered, Wrong


def main(name: str, path: Path, folder: Path, seconds: float) -> None:
    """Load the file and check its answer to each question."""
    asked = exercise(name)
    report = folder / "report.jsonl"
    with (folder / "stuck.txt").open("w", encoding="utf-8") as stuck:
        faulthandler.dump_traceback_later(seconds, file=stuck)
        (folder / "begun").touch()
        module, mistake = _loaded(path)
        for question in asked.questions:
            mark = mistake | {"title": question.title} if mistake else _asked(module, question, path)
            with report.open("a", encoding="utf-8") as file:
                file.write(json.dumps(mark, ensure_ascii=False) + "\n")
        faulthandler.cancel_dump_traceback_later()


def _loaded(path: Path) -> tuple[ModuleType, dict[str, Any]]:
    """The file as a module, and the error if it cannot be loaded."""
    sys.path.append(str(path.parent))  # last, so that a file named like a standard module does not replace it
    spec = importlib.util.spec_from_file_location("answer", path)
    if spec is None or spec.loader is None:
        raise SystemExit(3)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        cause = f"this is not Python: {error.msg}."
        if error.filename and Path(error.filename) != path:
            return module, _wrong(cause, Path(error.filename).name, "Correct the file that is imported.")
        return module, _wrong(
            cause, f"{path.name}:{error.lineno}", "Check this line and the end of the line before it."
        )
    except BaseException as error:  # a file may raise anything, also KeyboardInterrupt and SystemExit
        return module, _wrong(
            f"the file cannot be run: {_said(error)}", _place(error, path), "Correct this line first."
        )
    return module, {}


def _asked(module: ModuleType, question: GradedQuestion, path: Path) -> dict[str, Any]:
    missing = [name for name in question.needs if not hasattr(module, name)]
    if missing:
        return _wrong(
            f"the file does not define {', '.join(missing)}.", path.name, question.hint, title=question.title
        )
    try:
        question.check(module)
    except Unanswered as error:  # without a hint: the student has not tried yet
        return {**_wrong(str(error), "", "", title=question.title), "open": True}
    except Wrong as error:
        return _wrong(str(error), "", question.hint, title=question.title)
    except BaseException as error:  # raised by the student's function or by its result
        place = _place(error, path)
        cause = _said(error) if ":" in place else f"what it returned cannot be used: {_said(error)}"
        return _wrong(cause, place, question.hint, title=question.title)
    return {"title": question.title, "right": True}


def _wrong(cause: str, place: str, hint: str, title: str = "") -> dict[str, Any]:
    return {"title": title, "right": False, "cause": cause, "place": place, "hint": hint}


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {text}' if text else ''}"[:300]


def _place(error: BaseException, path: Path) -> str:
    """The innermost line of the student's file in the traceback."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path
    ]
    return f"{path.name}:{lines[-1]}" if lines else path.name


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
