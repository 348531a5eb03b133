"""Rows of the right shape for any spec: a value for each column by its type."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np

from regard import Spec
from regard.data.arrays import array_uri
from regard.testing.rows import REPLIES, rows

FIELDS = {
    "alignment": "alignment",
    "audio": "sound",
    "bits": "signals",
    "brackets": "brackets",
    "candidate": "reply",
    "candidates": "offered",
    "constituents": "phrases",
    "dialog": "dialog",
    "document": "document",
    "evidence": "evidence",
    "facts": "facts",
    "graph": "map",
    "group": "level",
    "image": "image",
    "label": "topic",
    "label_words": "reasons",
    "multilabel": "topics",
    "number": "value",
    "ordinal": "grade",
    "places": "places",
    "pointers": "corners",
    "points": "points",
    "series": "series",
    "story": "story",
    "span": "part",
    "stream": "running",
    "table": "record",
    "tags": "tags",
    "text": "source",
    "tree": "tree",
    "video": "film",
    "weight": "share",
}
"""{type of a column: the field of the sample rows that suits it}"""


def samples(spec: Spec) -> list[dict[str, Any]]:
    """Rows with every field that the spec reads."""
    made = []
    for number, row in enumerate(rows()):
        values: dict[str, Any] = {}
        for name, column in {**spec.inputs, **spec.outputs, **spec.truth}.items():
            field = "bits" if column.type == "bits" and name in spec.outputs else FIELDS[column.type]
            values[column.field or name] = row[field]
            if column.type == "series" and getattr(column, "points", None):
                values[column.field or name] = skeleton(number)
        made.append(values)
    return made


def skeleton(number: int) -> str:
    """Twenty points of three coordinates, step by step."""
    steps = np.random.default_rng(number).normal(size=(6 + number, 60))
    return array_uri(steps.astype(np.float32))


def asked(spec: Spec, row: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a row, by the names of the columns."""
    return {name: row[column.field or name] for name, column in spec.inputs.items()}


def write_candidates(path: str) -> None:
    """A file of candidates for a spec that names one."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"1 {reply}\n" for reply in REPLIES)
    Path(path).write_bytes(lzma.compress(lines.encode()))
