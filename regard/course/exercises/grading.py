"""Grade an answer: run the student's file as a module in a separate process, with a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from regard.course.exercises.catalog import exercise
from regard.errors import RegardError

LOADING = 120.0
"""Seconds the child may take to start: it imports torch, perhaps on a busy machine."""
PRINTED, WIDTH = 20, 300
"""Maximum number of lines to show of the file's output, and of characters of a line."""
KEPT = 4 * PRINTED * WIDTH
"""Number of bytes to keep of the output: a file may print without end."""


@dataclass(frozen=True)
class Verdict:
    """The result of one question; if it is wrong, with `cause`, `place` (file and line) and a hint.

    open   not answered yet
    """

    title: str
    right: bool
    cause: str = ""
    place: str = ""
    hint: str = ""
    open: bool = False


@dataclass(frozen=True)
class Grade:
    """The results of all questions of an exercise, and the file's output."""

    marks: tuple[Verdict, ...]
    printed: str = ""

    @property
    def right(self) -> bool:
        return all(mark.right for mark in self.marks)


def grade(name: str, path: Path, *, seconds: float = 20.0) -> Grade:
    """Run a student's file and check its answers to an exercise."""
    asked = exercise(name)
    if path.is_dir():
        raise RegardError(
            "this is a folder, expected a file of Python.",
            where=str(path),
            fix=f"Name the file inside it: regard exercise {name} {path / name}.py",
        )
    if not path.is_file():
        raise RegardError(
            "no such file.",
            where=str(path),
            fix=f"`regard exercise {name} -o {path.with_suffix('.py')}` writes a template to fill in.",
        )
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        report, stuck = (Path(folder) / part for part in ("report.jsonl", "stuck.txt"))
        command = [
            sys.executable,
            "-P",  # the current folder may have a file named like a standard module
            "-m",
            "regard.course.exercises.child",
            name,
            str(path.resolve()),
            folder,
            str(seconds),
        ]
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=_surroundings(),
        )
        output = _Output(child)
        try:
            ended = _wait(child, Path(folder) / "begun", seconds)
        finally:
            if child.poll() is None:  # Ctrl-C does not reach the child, which has its own session
                _end(child)
        told = (
            [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
            if report.exists()
            else []
        )
        marks = [Verdict(**one) for one in told]
        if len(marks) < len(asked.questions):
            open_ = asked.questions[len(marks)]
            place, cause = "", f"the file ended the process itself (exit code {child.returncode})."
            if not ended:
                place, cause = _stuck_at(stuck, path), f"it ran for {seconds:g} seconds and was stopped."
            marks.append(
                Verdict(
                    open_.title,
                    False,
                    cause,
                    place,
                    "Is there a loop that never ends?" if not ended else open_.hint,
                )
            )
            marks += [
                Verdict(later.title, False, "not reached.", "", "") for later in asked.questions[len(marks) :]
            ]
        return Grade(tuple(marks), output.text())


def _surroundings() -> dict[str, str]:
    """The environment of the child, which lets it import this regard from any folder."""
    home = str(Path(__file__).parents[3])
    before = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": home if not before else f"{home}{os.pathsep}{before}",
        "OMP_NUM_THREADS": "1",
    }


def _wait(child: subprocess.Popen[bytes], begun: Path, seconds: float) -> bool:
    """Wait for the child; whether it ended within the time limit, which starts when it has loaded."""
    limit = time.monotonic() + LOADING
    started = False
    while child.poll() is None:
        if not started and begun.exists():
            started, limit = True, time.monotonic() + seconds + 2.0
        if time.monotonic() > limit:
            _end(child)
            return False
        time.sleep(0.02)
    return True


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and the processes it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    child.wait()


def _stuck_at(stuck: Path, path: Path) -> str:
    """The innermost line of the student's file at which it was stopped."""
    text = stuck.read_text(encoding="utf-8", errors="replace") if stuck.exists() else ""
    found = re.findall(rf'File "{re.escape(str(path.resolve()))}", line (\d+)', text)
    return f"{path.name}:{found[0]}" if found else path.name


class _Output:
    """The end of what a process prints, read while it runs."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._stream, self._end, self._more = child.stdout, b"", False
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._stream is not None
        with self._stream as stream:
            while found := os.read(stream.fileno(), 1 << 16):
                self._more = self._more or len(self._end) + len(found) > KEPT
                self._end = (self._end + found)[-KEPT:]

    def text(self) -> str:
        """The last lines, each cut to `WIDTH`."""
        self._reader.join(timeout=1.0)  # longer only if a process that the file has started still prints
        lines = self._end.decode("utf-8", errors="replace").splitlines()
        shown = [line if len(line) <= WIDTH else f"{line[:WIDTH]}…" for line in lines[-PRINTED:]]
        return "\n".join(["…", *shown] if self._more or len(lines) > PRINTED else shown)
