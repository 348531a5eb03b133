"""The type of a column, inferred from its values: units of texts, labels, numbers, series, tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from regard.data import Row
from regard.data.columns import TextColumn
from regard.data.columns.number import NumberColumn, is_decimal_comma
from regard.data.columns.spans import scheme_of
from regard.errors import Message, RegardError, Setting
from regard.fitting.pair_columns import SAMPLE
from regard.parts import part

MANY_WORDS = 20000
COMMON, FAR = 0.95, 10
"""A text is too long if it is FAR times as long as the share COMMON of all texts."""
CODE_LENGTH = 3.0
"""Average length below which the symbols of a text are a code (phonemes, tags) and not words."""
PROSE = 0.2
"""Minimum share of texts with punctuation at words, from which it is split off."""
SYMBOLS = 1000
"""Maximum number of different whole numbers in lists that are symbols, not measurements."""
SEPARATORS = (";", "|", ",", "/", "+", "&")
MOST_PARTS = 4.0
"""Maximum average number of parts of a value that names several classes; more are a sequence."""

STRANGE = {"\ufeff": "a byte order mark (U+FEFF)", "\0": "NUL (U+0000)"}

_ATTACHED = re.compile(r""".*\w['’")\]]*[.,;:!?…]['’")\]]*|[(\["“„«]\w.*|.*\w[)\]"”“»]""")


def text_column(values: Sequence[str], unit: str = "") -> dict[str, Any]:
    """A column of text; without spaces by characters, with spaces by words, or by subwords if these are very many.

    unit   the unit that the user wants, if any
    """
    if _words(values) < 1.5:
        return {"type": "text", "unit": "char", **_length([len(value) for value in values])}
    distinct = {word for value in values for word in value.split()}
    length = _length([len(value.split()) for value in values])
    if len(distinct) > MANY_WORDS * len(values) / SAMPLE and len(distinct) > 8000:
        return {"type": "text", "unit": "subword", "vocabulary": 8000, **length}
    split = {"split": "punctuation"} if unit in ("", "word") and is_prose(values) else {}
    return {"type": "text", "unit": "word", **split, **length}


def is_prose(values: Sequence[str]) -> bool:
    """Whether punctuation is attached to words, as in `a nice, quiet place.`; not in a code such as `K AE1 T`."""
    attached = sum(any(_ATTACHED.fullmatch(word[-40:]) for word in value.split()) for value in values)
    return attached > PROSE * len(values) and not is_code(values)


def target_column(values: Sequence[str], place: str, unit: str = "") -> dict[str, Any]:
    """A column of outputs: a label if few values repeat, a number, or text.

    place   the setting of its type, for messages
    unit    the unit that the user wants, if any
    """
    commas = any(is_decimal_comma(one) and not is_thousands(one) for one in values)
    reader = NumberColumn("target", decimal="comma" if commas else "point")
    numbers = all(reader.check_value(value) is None for value in values)
    whole = all(value.strip().lstrip("+-").isdecimal() for value in values)
    if not numbers:
        _refuse_several(values, place)
    if _is_label(values) and (whole or not numbers):
        return {"type": "label"}
    if numbers:
        return {"type": "number", **({"decimal": "comma"} if commas else {})}
    return text_column(values, unit)


def series_or_symbols(values: Sequence[str]) -> dict[str, Any]:
    """A column of lists of numbers: whole numbers that repeat are symbols, others are measurements in time."""
    flat = not any(";" in value for value in values)
    numbers = {number for value in values for number in value.split()} if flat else set()
    symbols = flat and len(numbers) <= SYMBOLS and all(one.lstrip("+-").isdecimal() for one in numbers)
    return {**text_column(values), "unit": "word"} if symbols else {"type": "series"}


def of_type(name: str, source: str) -> dict[str, Any]:
    """A column of this type; if it must refer to another column, such as tags to words, it refers to the source."""
    column = part("column", name)
    of = column.Options.model_fields.get("of") if column is not None else None
    return {"type": name, "of": source} if of is not None and of.is_required() else {"type": name}


def with_spans(column: dict[str, Any], values: Sequence[str]) -> dict[str, Any]:
    """A column of tags, with the scheme of the spans that they mark, if they do."""
    known = part("column", column["type"])
    if known is None or "scheme" not in known.Options.model_fields:
        return column
    scheme = scheme_of([value.split() for value in values])
    return column if scheme is None else {**column, "scheme": scheme}


def is_thousands(value: str) -> bool:
    """Whether a number may have commas between thousands: 1,234."""
    return re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", value.strip()) is not None


def is_code(values: Sequence[str]) -> bool:
    """Whether the values consist of symbols (phonemes, tags): few different ones, and short."""
    written = [word for value in values for word in value.split()]
    return len(set(written)) <= 100 and sum(map(len, written)) < CODE_LENGTH * len(written)


def alike_labels(values: Sequence[str]) -> str | None:
    """A warning of classes that differ only in case or in blanks within them."""
    known: dict[str, str] = {}
    for value in dict.fromkeys(value.strip() for value in values):
        first = known.setdefault(" ".join(value.casefold().split()), value)
        if first != value:
            return (
                f"The classes {first!r} and {value!r} differ only in case or in blanks and are separate classes. "
                "Write them alike if they are the same."
            )
    return None


def strange_characters(rows: Sequence[Row], fields: Sequence[str]) -> str | None:
    """A warning of characters that are part of no text: a byte order mark within a file, NUL."""
    for row in rows:
        found = next((sign for field in fields for sign in STRANGE if sign in row[field]), None)
        if found is not None:
            return (
                f"{row.where} contains {STRANGE[found]}, which makes words unlike others that look the same. "
                "Remove it from the file."
            )
    return None


def _refuse_several(values: Sequence[str], place: str) -> None:
    """Refuse values that name several classes at once: `sports;politics`."""
    counts = Counter(value.strip() for value in values)
    for sign in SEPARATORS:
        parts = {value: [one.strip() for one in value.split(sign)] for value in counts}
        several = {value: found for value, found in parts.items() if len(found) > 1}
        shortest = 1 if sign in (";", "|") else 2  # other signs also occur within names, as in R&D
        if several and _are_classes(parts, several, len(values), shortest):
            shown = next(iter(several))
            raise RegardError(
                f"the targets seem to name several classes at once, such as {shown!r} (separated by {sign!r}). "
                "There is no decoder for several classes yet.",
                where="target",
                fix=Message(
                    "Keep one class for each row. To take each combination as a class of its own: ",
                    Setting(place, "label"),
                    "; to write it as text: ",
                    Setting(place, "text"),
                ),
            )


def _are_classes(
    parts: dict[str, list[str]], several: dict[str, list[str]], rows: int, shortest: int
) -> bool:
    """Whether the parts of some values are classes: few, words, without repetition, and used in several values."""
    uses = Counter(one for found in parts.values() for one in set(found))
    names = {one for found in several.values() for one in found}
    if any("" in found or len(set(found)) < len(found) for found in several.values()):
        return False
    if any(len(name) < shortest or not any(map(str.isalpha, name)) for name in names):
        return False
    if sum(map(len, several.values())) > MOST_PARTS * len(several) or len(uses) > min(
        100, max(rows // 5, 10)
    ):
        return False
    combined = [all(uses[one] > 1 for one in found) for found in several.values()]
    return sum(combined) > len(combined) / 2 and len(uses) <= len(parts)


def _length(lengths: Sequence[int]) -> dict[str, int]:
    """A larger limit for long texts, so that documents are read whole, also in rows beyond the sample.

    A text that is far longer than nearly all others is not meant: a whole file in one cell is a bad row.
    """
    usual = TextColumn.Options.model_fields["max_length"].default
    longest, common = max(lengths), sorted(lengths)[int(COMMON * (len(lengths) - 1))]
    limit = min(4 * longest, FAR * common)
    return {} if 2 * longest <= usual or limit <= usual else {"max_length": limit}


def _words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / max(len(values), 1)


def _is_label(values: Sequence[str]) -> bool:
    return len(set(values)) <= min(100, len(values) // 10)
