"""Checks of worlds, data packages and readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError

from regard.data import Row, read_rows
from regard.errors import RegardError
from regard.parts import find, names
from regard.testing.report import PartReport, Stop


def check_provider(report: PartReport, options: Any) -> None:
    """A world or a package."""
    with report.calling("splits", "the rows of each split"):
        splits, again = options.splits(), options.splits()
    if not isinstance(splits, Mapping) or "train" not in splits:
        report.add("splits", "a mapping with the split train", _named(splits))
        raise Stop
    for split, rows in splits.items():
        held = list(rows)
        for row in held:
            if not isinstance(row, Row):
                report.add("splits", f"rows of the class Row in {split}", type(row).__name__)
                raise Stop
            reason = _wrong_row(row, held[0], options.fields)
            if reason:
                words = f"some of {', '.join(options.fields)} as texts, the same in every row"
                report.add("splits", words, f"a row with {', '.join(row) or 'nothing'}: {reason}")
                raise Stop
        same = [dict(one) for one in held] == [dict(one) for one in again[split]]
        if not same:
            report.add("splits", "the same rows in every call", f"others in {split}")
            raise Stop
    if report.is_true("splits", bool(len(splits["train"])), "rows in the split train", "none"):
        found = _fields(splits)
        unused = [field for field in options.fields if field not in found]
        for other in _others(options) if unused else ():
            found |= _fields(other.splits())
        unused = [field for field in unused if field not in found]
        told = f"no row with {', '.join(unused)}"
        report.is_true("fields", not unused, "fields that some row has", told)


def _wrong_row(row: Row, first: Row, fields: Sequence[str]) -> str:
    """What is wrong with a row of a world; empty if nothing is."""
    values: Mapping[str, Any] = row
    for field, value in values.items():
        if field not in fields:
            return f"{field} is not one of its fields"
        if not isinstance(value, str):
            return f"{field} is of the type {type(value).__name__}"
    lacks = [field for field in first if field not in row]
    return f"it lacks {', '.join(lacks)}" if lacks else "" if row else "it is empty"


def _fields(splits: Mapping[str, Any]) -> set[str]:
    return {field for rows in splits.values() for row in rows for field in row}


def _others(options: Any) -> Iterator[Any]:
    """The same options with each other choice of one of them, on which the fields of its rows may depend."""
    held = {name: getattr(options, name) for name in options.model_fields_set}
    for name, field in type(options).model_fields.items():
        for value in get_args(field.annotation) if get_origin(field.annotation) is Literal else ():
            try:
                yield type(options)(**{**held, name: value})
            except (ValidationError, RegardError):
                continue  # a choice that does not go with the others


def _named(found: Any) -> str:
    return ", ".join(map(str, found)) if isinstance(found, Mapping) else type(found).__name__


def check_reader(report: PartReport, options: Any, file: str | Path | None) -> None:
    """file: a file of the format; without one only its declarations are checked."""
    declared = bool(options.suffixes or options.prefix or options.folder or options.type)
    report.is_true("suffixes", declared, "an extension, a prefix or a folder", "none")
    for other in names("reader"):
        shared = [one for one in options.suffixes if one in find("reader", other).suffixes]
        if other != options.type:
            told = f"{', '.join(map(repr, shared))}, which the reader {other} takes"
            report.is_true("suffixes", not shared, "extensions that no other reader takes", told)
    if file is None:
        return
    with report.calling("files", "the files of a path"):
        files = options.files(str(file))
    with report.calling("read", "rows"):
        rows, again = (list(options.read(files, options.fields)) for _ in range(2))
    for row in rows:
        if not isinstance(row, Row):
            report.add("read", "rows of the class Row", type(row).__name__)
            raise Stop
        wrong = [field for field, value in row.items() if not isinstance(value, str)]
        report.is_true("read", not wrong, "texts as values", f"{', '.join(wrong)} that is not a text")
        report.is_true("read", bool(row.file), "the file of every row", "none")
        unknown = [field for field in row if options.fields and field not in options.fields]
        report.is_true("fields", not unknown, f"only {', '.join(options.fields)}", ", ".join(unknown))
    report.is_true("read", bool(rows), "rows in the file", "none")
    report.is_true("read", rows == again, "the same rows in every call", "others")
    with report.calling("content", "the bytes that determine the rows"):
        content = b"".join(options.content(files, options.fields))
    report.is_true("content", bool(content), "the bytes that determine the rows", "none")
    with report.calling("read", "rows, by `regard.data.read_rows`"):
        fields = tuple(options.fields) or tuple(rows[0] if rows else ())
        through = list(read_rows(str(file), fields=fields, format=options))
    report.is_true("read", len(through) == len(rows), f"{len(rows)} rows by read_rows", len(through))
