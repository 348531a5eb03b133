"""Convert values of JSON, Parquet and hub data to text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from regard.data.image_values import stored_picture
from regard.data.readers.reader import Field
from regard.data.readers.row import LISTED, Row, listed_texts, listed_turns, object_text


def dig(record: Mapping[str, Any], field: str) -> Any:
    """record[field], or for "a.b" record["a"]["b"]; None if it does not exist."""
    if field in record:
        return record[field]
    head, dot, rest = field.partition(".")
    inner = record.get(head) if dot else None
    return dig(inner, rest) if isinstance(inner, Mapping) else None


def fields_of(records: Iterable[Mapping[str, Any]]) -> list[Field]:
    """The fields of some records, named as for `dig`, without bytes; null is ""."""
    fields: dict[str, Field] = {}
    for record in records:
        for name, value in _flat(record):
            text = as_text(value)
            numbers = text is None and listed_numbers(value) is not None
            text = listed_numbers(value) if text is None else text
            listed = bool(value) and text is None
            if listed:
                text = " ".join((listed_texts(value) or "").replace(LISTED, " ").split())
            known = fields.get(name, Field(name, ""))
            example = known.example or text or ""
            fields[name] = Field(name, example, known.listed or listed, known.numbers or numbers)
    return list(fields.values())


def _flat(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a record, and of the records in it, named as for `dig`."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif value is None or as_text(value) is not None or isinstance(value, list):
            yield before + name, value


def as_text(value: Any) -> str | None:
    """Numbers and booleans in JSON notation; None for anything but a single value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def listed_numbers(value: Any) -> str | None:
    """[1, 4, 2] as "1 4 2", [[0.1, 0.2], [0.3, 0.4]] as "0.1 0.2; 0.3 0.4"; None for other lists."""
    if not _is_list(value):
        return None
    if not all(map(_is_list, value)):
        return _line(value)
    rows = [_line(one) for one in value]
    return None if None in rows else "; ".join(map(str, rows))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) > 0


def _line(values: Sequence[Any]) -> str | None:
    """[1, 4, 2] as "1 4 2"; None for other lists."""
    words = [as_text(one) for one in values]
    return " ".join(map(str, words)) if all(map(_is_number, words)) else None


def _is_number(word: str | None) -> bool:
    try:
        return word is not None and float(word) == float(word)
    except ValueError:
        return False


def has_half_pair(text: str) -> bool:
    """Whether a text contains half of a surrogate pair, which is not a character and cannot be written to a file."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def row_of(
    record: Mapping[str, Any], fields: Sequence[str], *, file: str, line: int, source: str = ""
) -> Row:
    """The fields of a record as text; null is missing. Bytes other than images, and lists other than of numbers, texts
    or objects make a bad row. An object is JSON, which only the columns of `objects` accept."""
    values: dict[str, str] = {}
    for field in fields:
        value = dig(record, field)
        if value is None:
            continue
        text = as_text(value)
        text = listed_numbers(value) if text is None else text
        text = listed_texts(value) if text is None else text
        text = listed_turns(value) if text is None else text
        text = stored_picture(value) if text is None else text
        text = object_text(value) if text is None else text
        problem = None
        if text is None:
            kind = "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"
            problem = f"has {kind} in {field}, expected text"
        elif has_half_pair(text):
            problem = f"has an unpaired surrogate in {field}, which is not a character"
        if text is None or problem:
            return Row(file=file, line=line, problem=problem, source=source or repr(dict(record)))
        values[field] = text
    return Row(values, file=file, line=line)
