"""Answers as the bytes of a file: JSON lines, a table with tabs, or Parquet; one row for each of the input, in order.

A row that was rejected is `null` in JSON lines, `\\N` in every cell of a table (as in PostgreSQL; a tab, line end or
backslash within a text is written `\\t`, `\\n`, `\\\\`), and null in every column of Parquet but that of the input.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, Literal, get_args

from regard.errors import MissingExtra, Option, RegardError
from regard.shards.predictor import Answer
from regard.shards.reading import InputRow
from regard.trace.prediction import Prediction

Format = Literal["jsonl", "tsv", "parquet"]
NULL = "\\N"
_ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def check_format(format: str, *, trace: bool) -> None:
    """Refuse a format that cannot hold what is asked for, before anything is computed."""
    if format not in get_args(Format):
        raise RegardError(f"{format!r} is not one of {', '.join(get_args(Format))}.", where=Option("format"))
    if format == "tsv" and trace:
        raise RegardError(
            "a table holds no attention.", where=Option("trace"), fix="Use the format jsonl or parquet."
        )
    if format == "parquet":
        _arrow()


def written(
    rows: Sequence[InputRow], answers: Sequence[Answer], outputs: Sequence[str], format: str, n_best: int
) -> bytes:
    """The bytes of a part."""
    if format == "jsonl":
        lines = (_json_line(row, answer, outputs) for row, answer in zip(rows, answers, strict=True))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    if format == "tsv":
        cells = (_cells(answer, outputs, n_best) for answer in answers)
        return "".join("\t".join(one) + "\n" for one in cells).encode("utf-8", "surrogatepass")
    return _parquet(rows, answers, outputs)


def rejected_lines(rows: Sequence[InputRow], answers: Sequence[Answer], first: int) -> bytes:
    """The rejected rows as JSON lines: file, row from 1, line, reason."""
    lines = []
    for number, (row, answer) in enumerate(zip(rows, answers, strict=True), first):
        if answer.reason:
            told = {"file": row.file, "row": number, "line": row.line, "reason": answer.reason}
            lines.append(json.dumps(told, ensure_ascii=False) + "\n")
    return "".join(lines).encode("utf-8", "surrogatepass")


def _shown(row: InputRow) -> Any:
    values = row.values or {}
    return next(iter(values.values())) if len(values) == 1 else values


def _json_line(row: InputRow, answer: Answer, outputs: Sequence[str]) -> str:
    if answer.reason:
        return "null"
    found = {name: answer.predictions[name].to_dict() for name in outputs}
    told = found[outputs[0]] if len(outputs) == 1 else {"outputs": found}
    return json.dumps({"input": _shown(row), **told}, ensure_ascii=False)


def _cells(answer: Answer, outputs: Sequence[str], n_best: int) -> list[str]:
    cells: list[str] = []
    for name in outputs:
        found = answer.predictions.get(name)
        given = [] if found is None else _several(found, n_best)
        cells += [cell for text, score in given for cell in (text.translate(_ESCAPED), repr(score))]
        cells += [NULL, NULL] * (n_best - len(given))
    return cells


def _several(found: Prediction, n_best: int) -> list[tuple[str, Any]]:
    if n_best > 1 and found.alternatives:
        return [(other.text, other.score) for other in found.alternatives[:n_best]]
    return [(found.text, found.score)]


def _parquet(rows: Sequence[InputRow], answers: Sequence[Answer], outputs: Sequence[str]) -> bytes:
    pyarrow = _arrow()
    from pyarrow import parquet

    text, number = pyarrow.string(), pyarrow.float64()
    alternatives = pyarrow.list_(pyarrow.struct([("text", text), ("score", number)]))
    inputs = [_shown(row) if row.values is not None else None for row in rows]
    inputs = [
        one if one is None or isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in inputs
    ]
    columns = {"input": pyarrow.array(inputs, text)}
    for name in outputs:
        start = f"{name}." if len(outputs) > 1 else ""
        found = [answer.predictions.get(name) for answer in answers]
        columns[f"{start}text"] = pyarrow.array([None if one is None else one.text for one in found], text)
        columns[f"{start}score"] = pyarrow.array(
            [None if one is None else one.score for one in found], number
        )
        some = [None if one is None else _alternatives(one) for one in found]
        columns[f"{start}alternatives"] = pyarrow.array(some, alternatives)
        for key in ("probabilities", "trace"):
            given = [None if one is None else one.to_dict().get(key) for one in found]
            held = [None if one is None else json.dumps(one, ensure_ascii=False) for one in given]
            columns[f"{start}{key}"] = pyarrow.array(held, text)
    columns["rejected"] = pyarrow.array([answer.reason or None for answer in answers], text)
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


def _alternatives(found: Prediction) -> list[dict[str, Any]] | None:
    return [{"text": one.text, "score": one.score} for one in found.alternatives] or None


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "Writing Parquet") from None
    return pyarrow
