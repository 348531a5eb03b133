"""The data of a run in numbers: lengths, vocabularies, rejected rows, rows in two splits, unknown words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.data import Dataset
from regard.data.batch import UNKNOWN
from regard.data.readers.row import readable
from regard.data.sources import build_dataset, open_splits
from regard.model import AnyModel

BLANKS = b" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"
"""What `str.strip` takes from a text of ASCII."""
ANY: Any = {"encoding": "utf-8", "errors": "surrogatepass"}
MOST = 5
"""Maximum number of examples of a kind."""
MOST_ROWS = 20_000
"""Rows of a split whose words are counted."""


@dataclass(frozen=True)
class Lengths:
    """The lengths of a column, in its units."""

    least: int
    median: float
    most: int
    counts: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, lengths: Iterable[int]) -> Lengths:
        numbers = np.asarray(list(lengths), dtype=np.int64)
        if not len(numbers):
            return cls(0, 0.0, 0)
        found = {
            int(one): int(count) for one, count in zip(*np.unique(numbers, return_counts=True), strict=True)
        }
        return cls(int(numbers.min()), float(np.median(numbers)), int(numbers.max()), found)


@dataclass(frozen=True)
class Unknown:
    """Units of a column that are outside its vocabulary: how many, of how many, and the most frequent."""

    count: int
    of: int
    most: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class RepeatedRows:
    """Rows of a split whose input the model was trained on.

    inputs     number of rows of the split whose inputs are in train
    rows       number of those whose output is the same in train too
    of         number of rows of the split
    examples   some of the inputs
    """

    inputs: int
    rows: int
    of: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class SplitSummary:
    """One split.

    rows       number of rows that are used
    rejected   {reason: number of rows that were left out}
    lengths    {column: its lengths}
    unknown    {column: what its vocabulary lacks}; of inputs and outputs with a vocabulary
    repeated   the rows that are in train too; None for train itself
    """

    rows: int
    rejected: Mapping[str, int]
    lengths: Mapping[str, Lengths]
    unknown: Mapping[str, Unknown]
    repeated: RepeatedRows | None = None


@dataclass(frozen=True)
class DataSummary:
    """splits: by name; vocabularies: {column: size}."""

    splits: Mapping[str, SplitSummary]
    vocabularies: Mapping[str, int]


def summary_of_spec(model: AnyModel, progress: Callable[[int, int], None] | None = None) -> DataSummary:
    """The data that the spec names, read again."""
    columns = [model.columns[name] for name in (*model.spec.inputs, *model.spec.outputs)]
    rows = open_splits(model.spec)
    datasets = {}
    for done, split in enumerate(rows):
        if progress is not None:
            progress(done, len(rows))
        datasets[split] = build_dataset(
            rows[split], model.spec, columns, gather=split != "train", rejected=None
        )
    return summary_of_datasets(model, datasets)


def summary_of_datasets(model: AnyModel, datasets: Mapping[str, Dataset]) -> DataSummary:
    """The data in numbers; `train` is the split that others are compared with."""
    train = datasets.get("train")
    others = [dataset for split, dataset in datasets.items() if split != "train"]
    seen = None if train is None or model.continues else _pairs(model, train, others)
    splits = {}
    for split, dataset in datasets.items():
        repeated = None if split == "train" or seen is None else _repeated(model, dataset, seen)
        splits[split] = SplitSummary(
            rows=len(dataset),
            rejected=dict(dataset.rejections.reasons),
            lengths=_lengths(model, dataset),
            unknown={} if split == "train" else _unknown(model, dataset),
            repeated=repeated,
        )
    sizes = {name: int(column.size) for name, column in model.columns.items() if hasattr(column, "size")}
    return DataSummary(splits, sizes)


def _lengths(model: AnyModel, dataset: Dataset) -> dict[str, Lengths]:
    """The lengths of inputs and outputs that are sequences of units."""
    found = {}
    for name in (*model.spec.inputs, *model.spec.outputs):
        column = dataset.columns[name]
        if column.cached and not column.scalar:
            found[name] = Lengths.of(dataset.lengths(name).tolist())
    return found


def _unknown(model: AnyModel, dataset: Dataset) -> dict[str, Unknown]:
    found = {}
    for name in (*model.spec.inputs, *model.spec.outputs):
        column: Any = dataset.columns[name]
        if not column.is_text or not column.cached or not hasattr(column, "size"):
            continue
        of, words = 0, Counter[str]()
        for row in range(min(len(dataset), MOST_ROWS)):
            ids = dataset[row][name]
            of += len(ids)
            if (ids == UNKNOWN).any():
                units = column.tokens(dataset.text(row, name))
                if len(units) == len(ids):
                    words.update(
                        unit for unit, number in zip(units, ids.tolist(), strict=True) if number == UNKNOWN
                    )
                else:
                    words.update({"…": int((ids == UNKNOWN).sum())})
        found[name] = Unknown(words.total(), of, tuple(words.most_common(MOST)))
    return found


def _keys(model: AnyModel, dataset: Dataset, row: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    inputs = tuple(dataset.text(row, name).strip() for name in model.spec.inputs)
    return inputs, tuple(dataset.text(row, name).strip() for name in model.spec.outputs)


def _pairs(model: AnyModel, train: Dataset, others: Sequence[Dataset]) -> dict[int, set[int]]:
    """{hash of the inputs of a training row: hashes of its outputs}, for inputs that other splits have too. Memory does
    not grow with the training rows."""
    found: dict[int, set[int]] = {
        hash(_keys(model, other, row)[0]): set() for other in others for row in range(len(other))
    }
    first = next(iter(model.spec.inputs))
    wanted = {other.text(row, first).strip().encode(**ANY) for other in others for row in range(len(other))}
    for row, content in enumerate(train.contents(first)) if found else ():
        # Compare bytes first: it is quicker than reading the row, and few rows remain.
        plain = content.strip(BLANKS) if content.isascii() else content.decode(**ANY).strip().encode(**ANY)
        if plain not in wanted:
            continue
        inputs, outputs = _keys(model, train, row)
        if (same := found.get(hash(inputs))) is not None:
            same.add(hash(outputs))
    return {inputs: outputs for inputs, outputs in found.items() if outputs}


def _repeated(model: AnyModel, dataset: Dataset, seen: Mapping[int, set[int]]) -> RepeatedRows:
    known, same = 0, 0
    examples: list[str] = []
    for row in range(len(dataset)):
        inputs, outputs = _keys(model, dataset, row)
        if hash(inputs) in seen:
            known += 1
            same += hash(outputs) in seen[hash(inputs)]
            if len(examples) < MOST:
                examples.append(" · ".join(map(readable, inputs)))
    return RepeatedRows(known, same, len(dataset), tuple(examples))
