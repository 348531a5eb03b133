"""From a file of pairs to a spec: what its two columns are, and a model of sensible size for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data import read_rows
from regard.errors import RegardError
from regard.spec import Spec

ENDINGS = (".tsv", ".csv", ".jsonl", ".json", ".ndjson", ".parquet", ".tab")
COMPRESSED = (".gz", ".xz", ".zst")
SAMPLE = 5000
MANY_WORDS = 20000
SOURCE, TARGET = "source", "target"


def is_data_file(name: str) -> bool:
    """Whether this names data rather than a spec or a system of the zoo: words.tsv, train.en+train.de, hf:…"""
    path = Path(name)
    bare = path.with_suffix("") if path.suffix in COMPRESSED else path
    return bare.suffix in ENDINGS or "+" in path.name or name.startswith("hf:")


def pairs_spec(path: str, overrides: Sequence[str] = ()) -> Spec:
    """A spec for a file whose rows are pairs.

    A side without spaces is read by characters, one with spaces by words, or by subwords where it has very many
    different ones; a right side of few different values that repeat is a label.
    """
    rows = list(islice(read_rows(path, fields=[SOURCE, TARGET], bad_rows="skip"), SAMPLE))
    if len(rows) < 10:
        raise RegardError(
            f"only {len(rows)} rows could be read as pairs; a model needs more to learn from.",
            where=path,
            fix="Each line holds a source, a tab and a target; with a header, name the columns source and target.",
        )
    sources, targets = ([row[side] for row in rows] for side in (SOURCE, TARGET))
    document: dict[str, Any] = {
        "name": Path(path.split("+")[0]).name.split(".")[0].replace(":", "-"),
        "inputs": {SOURCE: _text(sources)},
        "outputs": {TARGET: {"type": "label"} if _is_label(targets) else _text(targets)},
        "encoder": {"type": "recurrent", "cell": "gru", "size": 128, "embedding": 128, "dropout": 0.2},
        "attention": {"score": "additive", "select": "softmax"},
        "data": {"train": path},
    }
    # few rows want many small steps
    training: dict[str, Any] = {"epochs": 20, "batch_rows": 64 if len(rows) == SAMPLE else 16, "patience": 5}
    if document["inputs"][SOURCE]["unit"] == "char":
        training["bucket"] = 1
    document["training"] = training
    if _is_label(targets):
        document["decoder"] = {"type": "label", "dropout": 0.2}
        training["metric"] = "accuracy"
    else:
        document["decoder"] = {
            "type": "recurrent",
            "cell": "gru",
            "size": 256,
            "embedding": 128,
            "dropout": 0.2,
        }
        document["search"] = {"method": "beam", "beam": 5}
        training["schedule"] = {"type": "plateau"}
        document["metrics"] = _metrics(targets, document["outputs"][TARGET]["unit"])
    return Spec.parse(document, overrides)


def _metrics(targets: Sequence[str], unit: str) -> list[str]:
    if unit == "char":
        return ["cer", "exact"]
    return ["per", "word_error"] if _is_code(targets) else ["bleu", "chrf"]


def _text(values: Sequence[str]) -> dict[str, Any]:
    if _words(values) < 1.5:
        return {"type": "text", "unit": "char"}
    distinct = {word for value in values for word in value.split()}
    if len(distinct) > MANY_WORDS * len(values) / SAMPLE and len(distinct) > 8000:
        return {"type": "text", "unit": "subword", "vocabulary": 8000}
    return {"type": "text", "unit": "word"}


def _words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / max(len(values), 1)


def _is_label(values: Sequence[str]) -> bool:
    return len(set(values)) <= min(100, len(values) // 10)


def _is_code(values: Sequence[str]) -> bool:
    """Symbols rather than words: phonemes, tags, with few different ones."""
    return len({word for value in values for word in value.split()}) <= 100
