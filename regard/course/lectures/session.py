"""The commands that show an entry: the trainings it needs, then its own commands, each with its duration."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from functools import cache

from regard import zoo
from regard.course.lectures.catalog import FOLDER, answered_by, command, entry
from regard.spec.document import parse

RUNS = "runs/"
MINUTE = 60


@dataclass(frozen=True)
class SessionCommand:
    """A command.

    first    whether it must run before the entry's own commands
    remark   its duration and requirements; "" if it is quick
    """

    text: str
    first: bool = False
    remark: str = ""

    def __str__(self) -> str:
        return f"{self.text}    # {self.remark}" if self.remark else self.text


def session(name: str) -> list[SessionCommand]:
    """All commands of an entry; an empty list if it has none."""
    line, own, source = command(name), entry(name), answered_by(name)
    if not line:
        return []
    lines = (line, *(own.also or source.also))
    needed = dict.fromkeys(run for one in lines for run in _runs(one))
    made = own.before or source.before or tuple(f"regard train {run}" for run in needed)
    return [
        *(SessionCommand(one, True, remark(one)) for one in made if one not in lines),
        *(SessionCommand(one, False, remark(one)) for one in lines),
    ]


def remark(line: str) -> str:
    """The duration and requirements of a command that is not quick: "once, about 7 minutes"."""
    words = shlex.split(line)
    if words[0] == "python":
        return str(_times().get(words[1], ""))
    if words[:2] != ["regard", "train"]:
        return ""
    given = words[2 : words.index("-o") if "-o" in words else None]
    known = _times().get(" ".join(given), _times().get(words[2], "up to ten minutes"))
    return f"once, {_minutes(known) if isinstance(known, int) else known}"


def _minutes(seconds: int) -> str:
    if seconds <= MINUTE:
        return "about a minute"
    return f"about {math.ceil(seconds / MINUTE)} minutes"


def _runs(line: str) -> list[str]:
    """The systems of the zoo whose runs a command reads."""
    folders = [word.removeprefix(RUNS) for word in shlex.split(line) if word.startswith(RUNS)]
    return [folder for folder in folders if folder in zoo.names()]


@cache
def _times() -> dict[str, int | str]:
    path = FOLDER / "times.yaml"
    return dict(parse(path.read_text(encoding="utf-8"), path.name).data)
