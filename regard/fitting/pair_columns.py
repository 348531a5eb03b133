"""The columns of a file of pairs: which are the source and the target, their first rows, and their types."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from regard.data import Row, read_rows
from regard.data.columns import TextColumn
from regard.data.columns.number import NumberColumn, is_decimal_comma
from regard.data.columns.spans import scheme_of
from regard.data.readers import FileRows
from regard.data.readers.layout import RANGE
from regard.data.readers.reader import Field
from regard.errors import NAME, Message, Option, RegardError, Setting, ShellCommand, Together, Words
from regard.fitting.pair_suggestions import suggested, wide_sides
from regard.parts import part

SAMPLE = 5000
"""Number of rows that are read to infer the settings."""
FEWEST = 10
"""Minimum number of complete rows of a file."""
SOURCE, TARGET = "source", "target"
Sources = str | Sequence[str] | None
"""The columns of inputs that a user names: one, several, or none."""
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
_SHARES = re.compile(r"\S+:\d*\.?\d+(\s+\S+:\d*\.?\d+)*")
_ATTACHED = re.compile(r""".*\w['’")\]]*[.,;:!?…]['’")\]]*|[(\["“„«]\w.*|.*\w[)\]"”“»]""")


class Chosen(NamedTuple):
    """The fields of the inputs and of the output by column name, the types that the format or the field determines, and
    additional columns of truth."""

    inputs: dict[str, str]
    target: str
    columns: Mapping[str, Mapping[str, Any]]
    truth: Mapping[str, Mapping[str, Any]]
    numbers: frozenset[str] = frozenset()
    """Fields that hold lists of numbers."""
    lists: frozenset[str] = frozenset()
    """Fields that hold lists of texts."""

    @property
    def fields(self) -> list[str]:
        return [*self.inputs.values(), self.target]


def choose_columns(path: str, format: Any, source: Sources, target: str | None) -> Chosen:
    """The fields of the sides: those that the user names, or that the format or the file determines."""
    opened = read_rows(path, fields=[SOURCE, TARGET], format=format)
    assert isinstance(opened, FileRows)
    sides, found = opened.reader.sides(opened.files), opened.found()
    given = [source] if isinstance(source, str) else list(source or ())
    if sides is not None:
        known = [field.name for field in found]
        fields = [_named(name, known, path) for name in given] or [sides.source]
        field = sides.target if target is None else _named(target, known, path)
        _refuse_twice([*fields, field], path)
        return Chosen(_input_names(fields), field, sides.columns, sides.truth)
    fields, field = _choice(path, format, found, given, target, table=opened.reader.delimited)
    for one in found:
        if one.listed and one.name in fields:
            raise lists_refused(one.name, one.example, path, of_targets=False)
    numbers = frozenset(one.name for one in found if one.numbers)
    series = {
        name: {"type": "series"} for name in fields if RANGE in name and name not in {f.name for f in found}
    }
    lists = frozenset(one.name for one in found if one.listed)
    return Chosen(_input_names(fields), field, series, {}, numbers, lists)


def _input_names(fields: Sequence[str]) -> dict[str, str]:
    """The name of each input: `source` if there is one, else made of its field."""
    if len(fields) == 1:
        return {SOURCE: fields[0]}
    made: dict[str, str] = {}
    for number, field in enumerate(fields, 1):
        name = "_".join("".join(sign if sign.isalnum() else " " for sign in field).split())
        name = name if name and not name[0].isdecimal() else f"{SOURCE}{number}"
        made[name if name not in made and name != TARGET else f"{SOURCE}{number}"] = field
    return made


def lists_refused(field: str, example: str, path: str, *, of_targets: bool) -> RegardError:
    """The error for lists of texts, whose meaning is not known: a sequence, sentences, or several classes."""
    shown = f", such as {example[:40]!r}" if example else ""
    join = f"Join each list into one text{shown}."
    several = Setting(f"outputs.{TARGET}.type", "multilabel")
    other: tuple[Words, ...] = (" In a spec, an input of type document reads lists.",)
    if of_targets:
        other = (" If they name the classes of a row: ", several)
    return RegardError(
        f"the column {field!r} contains lists, expected texts or numbers.",
        where=path,
        fix=Message(join, *other),
    )


def _choice(
    path: str, format: Any, found: Sequence[Field], sources: Sequence[str], target: str | None, *, table: bool
) -> tuple[list[str], str]:
    """The fields of the sources and of the target, among those of the file."""
    known = [field.name for field in found]
    numbered = known == [str(number) for number in range(1, len(known) + 1)]
    fields = [_named(name, known, path) for name in sources]
    field = None if target is None else _named(target, known, path)
    _refuse_twice([*fields, *([] if field is None else [field])], path)
    if not known:
        return fields or [SOURCE], field or TARGET
    missing = [side for side, given in ((SOURCE, fields), (TARGET, field)) if not given]
    rest = [name for name in known if name not in fields and name != field]
    if not missing:
        assert field is not None
        return fields, field
    if len(missing) == 1:
        if missing[0] not in rest and len(rest) != 1:
            raise _which(path, format, found, missing, numbered=numbered, table=table)
        other = missing[0] if missing[0] in rest else rest[0]
        return (fields, other) if field is None else ([other], field)
    if all(side in known for side in (SOURCE, TARGET)) or (numbered and len(known) == 2):
        return [SOURCE], TARGET
    if len(known) == 2:
        return [known[0]], known[1]
    wide = wide_sides(found) if table else None
    if wide is not None:
        return [wide[0]], wide[1]
    raise _which(path, format, found, [SOURCE, TARGET], numbered=numbered, table=table)


def _refuse_twice(fields: Sequence[str], path: str) -> None:
    twice = next((field for field in fields if fields.count(field) > 1), None)
    if twice is not None:
        sides = "source and target are" if len(fields) == 2 else "two of the named columns are"
        raise RegardError(f"{sides} the same column, {twice!r}.", where=path)


def _named(name: str, known: Sequence[str], path: str) -> str:
    """The name of a column that is given by its name or number; FIRST..LAST names a range of columns."""
    if not known or name in known:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(known):
        return known[int(name) - 1]
    first, dots, last = name.partition(RANGE)
    if dots and first and last:
        return RANGE.join((_named(first, known, path), _named(last, known, path)))
    raise RegardError(
        f"there is no column {name!r}.",
        where=path,
        fix=f"The columns are {', '.join(known)}; a number counts them from 1.",
    )


def _which(
    path: str, format: Any, found: Sequence[Field], missing: Sequence[str], *, numbered: bool, table: bool
) -> RegardError:
    shown = [
        f"{field.name} ({' '.join(field.example.split())[:30]})"
        if numbered
        else f"{field.name}{' (lists)' * field.listed}"
        for field in found
    ]
    count = f"{len(found)} column{'' if len(found) == 1 else 's'}"
    if len(found) < 2:
        return RegardError(
            f"the file has {count}, and a pair needs two: {', '.join(shown)}.",
            where=path,
            fix="Put a tab, comma, semicolon or pipe between source and target."
            if table
            else "Add a column with the other side of the pairs.",
        )
    likely = suggested(path, format, found, missing)
    named = {side: likely.get(side, NAME) for side in missing}
    sides = Together(*(Option(side, name) for side, name in named.items()))
    train = ShellCommand(
        "train",
        (path,),
        {side: shlex.quote(name) for side, name in named.items()},
        python=f"regard.fit({path!r}, {sides})",
    )
    return RegardError(
        f"the file has {count}; which are used? There are {', '.join(shown)}.",
        where=path,
        fix=Message("For example  " if len(likely) == len(missing) else "Choose:  ", train),
    )


def first_rows(
    path: str, format: Any, fields: Sequence[str], *, empty: bool = False
) -> tuple[list[Row], FileRows]:
    """The first rows with both sides, and their reader.

    empty   whether the last field, the target, may be empty or absent
    """
    opened = read_rows(path, fields=list(fields), format=format, bad_rows="skip")
    assert isinstance(opened, FileRows)
    rows = list(islice(opened, SAMPLE))
    needed = fields[:-1] if empty else fields
    whole = [
        Row({fields[-1]: "", **row}, file=row.file, line=row.line)
        for row in rows
        if all(row.get(field, "").strip() for field in needed)
    ]
    if len(whole) < FEWEST:
        lacking = next((field for field in fields if rows and not any(_has(rows, field))), None)
        if lacking is not None:
            known = ", ".join(field.name for field in opened.found())
            raise RegardError(
                f"the field {lacking!r} is empty in every row.", where=path, fix=f"The fields are {known}."
            )
        for _ in read_rows(path, fields=list(fields), format=format):
            pass  # raises an error for the first bad row, with its line and the reason
        raise _too_few(rows, whole, fields, path)
    return whole, opened


def _too_few(rows: Sequence[Row], whole: Sequence[Row], fields: Sequence[str], path: str) -> RegardError:
    """The error for a file with fewer complete rows than are needed."""
    count = f"{len(whole)} complete row{'' if len(whole) == 1 else 's'}"
    without = sum(
        all(row.get(field, "").strip() for field in fields[:-1]) and not row.get(fields[-1], "").strip()
        for row in rows
    )
    if without:
        also = f" and {without} without a value of {fields[-1]!r}"
        none = Setting(f"outputs.{TARGET}.type", "multilabel")
        fix = Message("If an empty value means that a row has no label:  ", none)
    else:
        also = ""
        fix = Message(
            "Each line holds a source and a target, with a tab, comma, semicolon or pipe between them; `",
            Together(Option(SOURCE, NAME), Option(TARGET, NAME)),
            "` choose among more columns.",
        )
    return RegardError(
        f"the file has {count}{also}; `train FILE` needs at least {FEWEST}.", where=path, fix=fix
    )


def _has(rows: Sequence[Row], field: str) -> list[bool]:
    """Whether each row has a nonempty value in a field."""
    return [bool(row.get(field, "").strip()) for row in rows]


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


def target_column(values: Sequence[str], unit: str = "") -> dict[str, Any]:
    """A column of outputs: a label if few values repeat, several labels if values combine a few, a number, or text.

    unit   the unit that the user wants, if any
    """
    digits = all(any(map(str.isdigit, value)) for value in values)
    commas = digits and any(is_decimal_comma(one) and not is_thousands(one) for one in values)
    reader = NumberColumn("target", decimal="comma" if commas else "point") if digits else None
    numbers = reader is not None and all(reader.check_value(value) is None for value in values)
    whole = all(value.strip().lstrip("+-").isdecimal() for value in values)
    if are_shares(values):
        return {"type": "soft-label"}
    if not numbers and (sign := separator_of(values)):
        return {"type": "multilabel", **({} if sign == "|" else {"separator": sign})}
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


def separator_of(values: Sequence[str]) -> str:
    """The sign between the classes of values that name several at once: `sports;politics`; empty if they do not."""
    counts = Counter(value.strip() for value in values)
    for sign in SEPARATORS:
        parts = {value: [one.strip() for one in value.split(sign)] for value in counts}
        several = {value: found for value, found in parts.items() if len(found) > 1}
        shortest = 1 if sign in (";", "|") else 2  # other signs also occur within names, as in R&D
        if several and _are_classes(parts, several, len(values), shortest):
            return sign
    return ""


def are_shares(values: Sequence[str]) -> bool:
    """Whether the values are distributions over a few classes: `pos:0.7 neg:0.3`, or votes: `pos:7 neg:3`."""
    if not all(map(_SHARES.fullmatch, values)):
        return False
    pairs = [[one.rpartition(":") for one in value.split()] for value in values]
    sums = [sum(float(share) for _, _, share in one) for one in pairs]
    names = [{name for name, _, _ in one} for one in pairs]
    votes = all(share.isdecimal() for one in pairs for _, _, share in one) and min(sums) > 1
    same = len(set(sums)) == 1 or all(one == names[0] for one in names)
    few = len(set().union(*names)) <= 100
    whole = all(abs(one - 1) < 0.02 for one in sums) or (votes and same)
    return few and any(" " in value for value in values) and whole


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
