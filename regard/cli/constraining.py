"""Constraints of the command line as a change of the spec."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.reporting.terminal import printable

CHANGE = "search.constraint="


def constraint_change(constraints: list[dict[str, Any]]) -> str:
    """`search.constraint=…`"""
    return f"{CHANGE}{json.dumps(constraints)}"


def given_constraints(
    must: list[str] | None,
    never: list[str] | None,
    prefix: str | None,
    regex: str | None,
    grammar: Path | None,
    answers: Path | None,
) -> list[dict[str, Any]]:
    """The constraints of the options that were given."""
    found: list[dict[str, Any]] = []
    if must:
        found.append({"type": "must", "phrases": must})
    if never:
        found.append({"type": "never", "phrases": never})
    if prefix:
        found.append({"type": "prefix", "text": prefix})
    if regex:
        found.append({"type": "regex", "pattern": regex})
    if grammar is not None:
        found.append({"type": "grammar", "rules": _read(grammar, "--grammar")})
    if answers is not None:
        lines = [line.strip() for line in _read(answers, "--answers").splitlines()]
        known = [line for line in lines if line]
        if not known:
            raise RegardError(
                "the file has no line.", where=f"--answers {answers}", fix="Write one answer in each."
            )
        found.append({"type": "answers", "answers": known})
    return found


def typed_constraints(change: str) -> str:
    """The options that made a change: `--regex 'a+' --never b`; a file is not named."""
    words: list[str] = []
    for one in json.loads(change.removeprefix(CHANGE)):
        option, value = f"--{one['type']}", one.get("phrases") or one.get("text") or one.get("pattern")
        for text in value if isinstance(value, list) else [value]:
            words += [option] if text is None else [option, shlex.quote(text)]
    return " ".join(words)


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise RegardError(
            f"the file cannot be read: {reason}.",
            where=f"{option} {printable(str(path))}",
            fix="Name a text file.",
        ) from None
