"""The values of a JSON file with their lines: one value per line, or one list of values over any number of lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.readers.files import BLANK, Line, read_lines, without_last_blank_lines

_BLANK = re.compile(r"[ \t\r\n]*")


class JsonValue(NamedTuple):
    """A value and the line where it begins; or the problem, to follow the location in a message.

    source   the text of a value on a line of its own
    """

    line: int
    value: Any
    problem: str | None = None
    source: str = ""


def json_values(path: Path) -> Iterator[JsonValue]:
    """The values of a file. Numbers keep their notation, as texts; NaN and duplicate keys are problems."""
    lines = without_last_blank_lines(read_lines(path))
    before: list[Line] = []
    for line in lines:
        before.append(line)
        if line.text.strip():
            break
    following = next(lines, None) if before else None
    every = chain(before, [] if following is None else [following], lines)
    first = before[-1].text if before else ""
    if following is not None and parsed(first)[0] is None:
        yield from map(_of_line, every)  # a value per line
    elif first.lstrip().startswith("[") or (following is not None and first.strip() == "{"):
        yield from _of_document(list(every))
    else:
        yield from map(_of_line, every)


def _of_line(line: Line) -> JsonValue:
    if line.problem is not None:
        return JsonValue(line.number, None, line.problem, line.text)
    problem, value = parsed(line.text)
    return JsonValue(line.number, value, problem, line.text)


def parsed(text: str) -> tuple[str | None, Any]:
    """The problem of a text, or its value."""
    if not text.strip():
        return BLANK, None
    try:
        return None, DECODER.decode(text)
    except json.JSONDecodeError as error:
        return f"is not valid JSON: {error.msg} at character {error.pos + 1}", None
    except (ValueError, RecursionError) as error:
        return f"is not valid JSON: {error}", None


def _of_document(lines: list[Line]) -> Iterator[JsonValue]:
    """The values of a list that spans lines; or the single value."""
    damaged = next((line for line in lines if line.problem), None)
    if damaged is not None:
        yield JsonValue(damaged.number, None, damaged.problem, damaged.text)
        return
    text, number, counted = "\n".join(line.text for line in lines), 1, 0
    at = _after_blanks(text, 0)
    listed = text.startswith("[", at)
    at = _after_blanks(text, at + 1) if listed else at
    while not (listed and text.startswith("]", at)):
        number, counted = number + text.count("\n", counted, at), at
        try:
            value, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", str(error))
            line = getattr(error, "lineno", number)
            yield JsonValue(line, None, f"is not valid JSON: {reason}", lines[line - 1].text)
            return
        yield JsonValue(number, value)
        at = _after_blanks(text, at)
        if not listed:
            break
        if text.startswith(",", at):
            at = _after_blanks(text, at + 1)
        elif not text.startswith("]", at):
            line = number + text.count("\n", counted, at)
            yield JsonValue(line, None, "is not valid JSON: expected , or ]", lines[line - 1].text)
            return


def _after_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _without_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} comes twice")
    return record


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


DECODER = json.JSONDecoder(
    object_pairs_hook=_without_twice, parse_int=str, parse_float=str, parse_constant=refuse_constant
)
