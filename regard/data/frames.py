"""Data in Python (data frames, columns, arrays, lists of pairs) as records: field → value.

Tables are recognized by their methods, so that no library is imported: pandas and Polars data frames, pyarrow tables,
Hugging Face data sets, structured arrays, mappings from names to columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from regard.data.readers.layout import ends
from regard.errors import RegardError

Record = dict[str, Any]
SOURCE, TARGET = "source", "target"


def is_file(data: object) -> bool:
    """Whether `data` names a file or a system of the zoo, as opposed to holding the data itself."""
    return isinstance(data, str | PathLike)


def splits_of(data: object) -> dict[str, Any]:
    """{train, dev, test: table} if `data` maps splits to tables, as `datasets.DatasetDict` does; otherwise empty."""
    if not isinstance(data, Mapping) or "train" not in data or not all(map(_is_table, data.values())):
        return {}
    names = {"train": ("train",), "dev": ("dev", "validation", "valid"), "test": ("test",)}
    return {split: data[name] for split, known in names.items() for name in known if name in data}


def records(
    data: object,
    targets: object = None,
    *,
    source: str | None = None,
    target: str | None = None,
    fields: Sequence[str] = (SOURCE, TARGET),
    where: str = "data",
) -> list[Record]:
    """One mapping per row.

    targets          the targets, one per input, as in `fit(X, y)`
    source, target   the columns to read; a.b is the field b of a mapping a
    fields           names of the fields in the records, for pairs and for tables of two columns
    """
    table = columns_of(data)
    rows = _rows(data, fields, where, pairs=targets is None) if table is None else _of_columns(table, where)
    if targets is not None:
        rows = _with_targets(rows, values_of(targets, "y"), source, target, fields)
        source = target = None
    if source is not None or target is not None:
        return [_chosen(row, (source, target), fields, f"{where}, row {n}") for n, row in enumerate(rows, 1)]
    if rows and not set(fields) & rows[0].keys() and len(rows[0]) == len(fields) == 2:
        return [dict(zip(fields, row.values(), strict=True)) for row in rows]
    return rows


def pair_records(
    data: object, targets: object, sources: Sequence[str], target: str | None, *, where: str = "data"
) -> tuple[list[Record], list[str], str]:
    """One mapping per row with the columns of inputs and output under their own names, and these names.

    sources   the columns of inputs; empty: the one named `source`, or the only one
    """
    if len(sources) > 1:
        table = columns_of(data)
        rows = _rows(data, sources, where, pairs=True) if table is None else _of_columns(table, where)
        chosen = [
            {name: _value(row, name, f"{where}, row {n}") for name in sources}
            for n, row in enumerate(rows, 1)
        ]
        if targets is not None:
            return (
                _with_targets(chosen, values_of(targets, "y"), None, target, [sources[0], TARGET]),
                [*sources],
                TARGET,
            )
        named = target or TARGET
        for n, (row, found) in enumerate(zip(rows, chosen, strict=True), 1):
            found[named] = _value(row, named, f"{where}, row {n}")
        return chosen, [*sources], named
    source = sources[0] if sources else None
    made = records(data, targets, source=source, target=target, where=where)
    if not made or SOURCE not in made[0] or TARGET not in made[0]:
        return made, [SOURCE], TARGET
    first, last = _own_names(data, targets, source, target)
    return [{first: row[SOURCE], last: row[TARGET]} for row in made], [first], last


def _own_names(data: object, targets: object, source: str | None, target: str | None) -> tuple[str, str]:
    """The names that the columns of a pair have in the data; `source` and `target` if they have none."""
    names = [str(name) for name in _names(data) or ()]
    if not names and isinstance(data, Sequence) and data and isinstance(data[0], Mapping):
        names = [str(name) for name in data[0]]
    own = [name for name in names if name not in (SOURCE, TARGET)]
    if source is None and SOURCE not in names and len(own) == (2 if targets is None else 1):
        source = own[0]
    if target is None and targets is None and TARGET not in names and len(own) == 2:
        target = own[1]
    first, last = source or SOURCE, target or TARGET
    return (first, last) if first != last else (SOURCE, TARGET)


def cell(value: object, where: str) -> Any:
    """A value as JSON: a text, number or boolean as text, a list or array of numbers as a list."""
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(listed, list | tuple) and listed:
        return [_number(one, where) for one in listed]
    return scalar(value, where)


def _number(value: object, where: str) -> Any:
    if isinstance(value, list | tuple | np.ndarray):
        return [_number(one, where) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RegardError(f"expected a list of numbers, it contains {_kind(value)}.", where=where)
    if value != value or value in (float("inf"), float("-inf")):
        raise RegardError(f"a list of numbers contains {value}.", where=where, fix="Leave the row out.")
    return value


def values_of(values: object, where: str) -> list[Any]:
    """A column as a list, from a Series, an array, a list or any other iterable."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    table = columns_of(values)
    if table is not None and len(table) == 1:
        return next(iter(table.values()))
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise RegardError(f"expected a list or an array, received {_kind(values)}.", where=where)
    return list(values)


def columns_of(data: object) -> dict[str, list[Any]] | None:
    """The columns of a table by name; None if `data` is not a table."""
    names = _names(data)
    if names is None:
        return None
    listed = [str(name) for name in names]
    twice = next((name for name in listed if listed.count(name) > 1), None)
    if twice is not None:
        raise RegardError(f"the column {twice!r} is there twice.", where="data", fix="Rename one of them.")
    held: Any = data
    return {str(name): values_of(held[name], str(name)) for name in names}


def scalar(value: object, where: str) -> str:
    """A text, number or boolean as the text of a row; missing values and other types are refused."""
    if is_missing(value):
        raise RegardError("the value is missing.", where=where, fix="Leave the row out.")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool | int | float):
        return str(value)
    raise RegardError(f"expected a text or a number, received {_kind(value)}.", where=where)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or the missing value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Records of texts as JSON lines."""
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)


def _names(data: object) -> list[Any] | None:
    dtype = getattr(data, "dtype", None)
    if isinstance(data, np.ndarray) and dtype is not None and dtype.names:
        return list(dtype.names)
    if isinstance(data, Mapping):
        return list(data)
    names = getattr(data, "column_names", None)  # pyarrow and Hugging Face
    if names is None and hasattr(data, "columns") and hasattr(data, "__getitem__"):  # pandas and Polars
        names = data.columns
    return list(names) if isinstance(names, Iterable) and not isinstance(names, Mapping) else None


def _is_table(data: object) -> bool:
    return not isinstance(data, Mapping) and _names(data) is not None


def _of_columns(columns: Mapping[str, list[Any]], where: str) -> list[Record]:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise RegardError(f"the columns have different lengths: {told}.", where=where)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _rows(data: object, fields: Sequence[str], where: str, *, pairs: bool) -> list[Record]:
    if isinstance(data, str | bytes) or not (isinstance(data, Iterable) or hasattr(data, "tolist")):
        raise RegardError(
            f"received {_kind(data)}, which holds no rows.",
            where=where,
            fix="Pass a file, a frame, a mapping of columns, or a list of pairs.",
        )
    made = []
    for number, row in enumerate(values_of(data, where), 1):
        if isinstance(row, Mapping):
            made.append({str(name): value for name, value in row.items()})
        elif not pairs:
            made.append({fields[0]: row})
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) == len(fields):
            made.append(dict(zip(fields, row, strict=True)))
        else:
            wanted = f"({', '.join(fields)})"
            raise RegardError(
                f"expected a pair {wanted} or a mapping, received {row!r}."
                if len(fields) == 2
                else f"expected a mapping with {', '.join(fields)}, received {row!r}.",
                where=f"{where}, row {number}",
            )
    return made


def _with_targets(
    rows: list[Record], targets: list[Any], source: str | None, target: str | None, fields: Sequence[str]
) -> list[Record]:
    if len(rows) != len(targets):
        raise RegardError(f"there are {len(rows):,} inputs and {len(targets):,} targets.", where="y")
    if target is not None:
        raise RegardError("the targets are given as y already.", where="target", fix="Leave out target=.")
    first = rows[0] if rows else {}
    if source is None and fields[0] not in first and len(first) == 1:
        source = next(iter(first))
    if source is not None:
        rows = [
            _chosen(row, (source, None), fields[:1], f"data, row {number}")
            for number, row in enumerate(rows, 1)
        ]
    elif first and fields[0] not in first:
        raise RegardError(
            f"X has the columns {', '.join(first)}.",
            where="X",
            fix=f"Choose one: source={next(iter(first))!r}.",
        )
    return [{**row, fields[-1]: value} for row, value in zip(rows, targets, strict=True)]


def _chosen(row: Record, names: Sequence[str | None], fields: Sequence[str], where: str) -> Record:
    wanted = {field: name or field for field, name in zip(fields, names, strict=False)}
    return {field: _value(row, name, where) for field, name in wanted.items()}


def value_in(row: Mapping[str, Any], name: str) -> Any:
    """A value of a row: row["a"], row["a"]["b"] for a.b, a list for a range a1..a9; None if there is none."""
    try:
        return _value(row, name, "")
    except RegardError:
        return None


def _value(row: Mapping[str, Any], name: str, where: str) -> Any:
    if name in row:
        return row[name]
    both = ends(name, list(row))
    if both is not None and all(end in row for end in both):
        keys = list(row)
        return [row[key] for key in keys[keys.index(both[0]) : keys.index(both[1]) + 1]]
    outer, _, inner = name.partition(".")
    if inner and isinstance(row.get(outer), Mapping):
        return _value(row[outer], inner, where)
    raise RegardError(f"there is no column {name!r}.", where=where, fix=f"There are {', '.join(row)}.")


def _kind(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
