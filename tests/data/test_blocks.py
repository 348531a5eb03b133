"""Large tables are read in blocks: rows, vocabularies, bad rows and their reasons are those of single rows."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data.blocks import cutting, remembered
from regard.data.blocks.block import RowBlock
from regard.data.columns.column import Column
from regard.data.columns.label import LabelColumn
from regard.data.columns.text import TextColumn
from regard.data.dataset import Dataset
from regard.data.readers import table
from regard.data.readers.row import blocks_of
from regard.data.readers.rows import read_rows
from regard.data.sources.hold_out import hold_out
from regard.errors import RegardError
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec

PIECES = [
    *(
        "the",
        "cat",
        "sat",
        "Über",
        "straße",
        "naïve",
        "日本",
        "ΣΟΦΟΣ",
        "İstanbul",
        "e\u0301",
        "🙂",
        "a￭b",
        "⇧x",
        "▁",
    ),
    *("\u00a0", "\u2028", "\x0b", "\x1f", "\u0301x", "x" * 30, "1,5", "don't", "…", "\ufdd0", "\ufdd1", "\0"),
]


def lines(chance: random.Random, delimiter: str, count: int) -> bytes:
    """Rows with everything that rows may have."""
    found = bytearray()
    for _ in range(count):
        words = [chance.choice(PIECES) for _ in range(chance.randrange(8))]
        cell = chance.choice([" ", " ", " ", "  "]).join(words)
        label = chance.choice(["yes", "no", " yes ", "maybe so"])
        row = [cell, label][: chance.choice([2] * 12 + [1])] + ["more"] * (chance.random() < 0.05)
        line = delimiter.join(chance.sample(row, len(row)) if chance.random() < 0.02 else row).encode()
        if chance.random() < 0.04:
            line = chance.choice([b"", b"   ", delimiter.encode(), b"\xff\xfe" + line, line[:-1] + b"\xc3"])
        if chance.random() < 0.05:
            line += b"\r"
        found += line + b"\n"
    return bytes(found[: -chance.randrange(2) or None])


def everything(dataset: Dataset, columns: dict[str, Column]) -> dict[str, Any]:
    rows = range(len(dataset))
    return {
        "states": [column.state() for column in columns.values()],
        "ids": [{name: ids.tolist() for name, ids in dataset[row].items()} for row in rows],
        "texts": [dataset.raw(row) for row in rows],
        "places": [dataset.where(row) for row in rows],
        "costs": dataset.costs.tolist(),
        "rejected": dataset.rejections.kept,
    }


def read(path: Path, spec: Spec, folder: Path | None) -> list[dict[str, Any]]:
    """Both sides of a file whose dev is held out."""
    fields = [*spec.inputs, *spec.outputs]
    columns = make_columns(spec)
    train, dev = hold_out(read_rows(path, fields=fields, bad_rows="skip"), spec)
    fit_columns(columns, spec, lambda: train)
    return [
        everything(Dataset.build(side, columns.values(), cache=folder, on_bad="skip"), columns)
        for side in (train, dev)
    ]


TEXTS = [
    {"unit": "word"},
    {"unit": "word", "case": "lower", "vocabulary": 12},
    {"unit": "word", "split": "punctuation", "min_count": 2},
    {"unit": "word", "case": "marked"},
    {"unit": "word", "max_length": 3, "normalize": "NFKD"},
    {"unit": "char"},
    {"unit": "char", "case": "lower", "spaces": "drop", "max_length": 20},
    {"unit": "byte"},
    {"unit": "subword", "vocabulary": 90},
    {"unit": "word", "repeat": 2},
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: "-".join(map(str, text.values())))
def test_blocks_give_what_rows_give(
    text: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(str(text))
    for number, (suffix, delimiter) in enumerate((("tsv", "\t"), ("csv", ","), ("tsv", ";"))):
        path = tmp_path / f"table{number}.{suffix}"
        head = chance.choice([b"", b"\xef\xbb\xbf"]) + f"source{delimiter}kind\n".encode()
        path.write_bytes(head + lines(chance, delimiter, 250))
        source = {"type": "text", **text}
        spec = Spec(inputs={"source": source}, outputs={"kind": {"type": "label"}}, data={"hold_out": 0.2})
        monkeypatch.setattr(table, "LARGE", 1 << 60)
        expected = read(path, spec, None)
        monkeypatch.setattr(table, "LARGE", 0)
        for size in (57, 1 << 20):
            monkeypatch.setattr(cutting, "SIZE", size)
            assert blocks_of(read_rows(path, fields=["source", "kind"]), problems=False) is not None
            assert read(path, spec, tmp_path / f"cache{number}-{size}") == expected


def test_more_values_than_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("".join(f"w{row} w{row % 7} w{row // 2}\tk{row % 3}\n" for row in range(400)))
    columns: dict[str, Any] = {"inputs": {"source": {"type": "text"}}, "outputs": {"kind": {"type": "label"}}}
    spec = Spec(**columns, data={"hold_out": 0.2})
    expected = read(path, spec, None)
    monkeypatch.setattr(table, "LARGE", 0)
    remember = remembered.Remembered.__init__
    for most, most_bytes in ((8, 1 << 20), (1 << 10, 30)):

        def little(self: Any, *, by_words: bool, most: int = most, most_bytes: int = most_bytes) -> None:
            remember(self, by_words=by_words, most=most, most_bytes=most_bytes)

        monkeypatch.setattr(remembered.Remembered, "__init__", little)
        assert read(path, spec, None) == expected


def test_a_bad_row_stops_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.tsv"
    path.write_bytes(b"one\tx\ntwo\ty\n\xff\tx\nthree\n")
    said = []
    for large in (1 << 60, 0):
        monkeypatch.setattr(table, "LARGE", large)
        rows, column = read_rows(path, fields=["source", "kind"]), TextColumn("source")
        column.learn(["one two"])
        with pytest.raises(RegardError) as caught:
            Dataset.build(rows, [column])
        said.append(str(caught.value))
    assert said[0] == said[1] and "table.tsv:3" in said[0]


class Shouting(TextColumn):
    """A column that encodes otherwise than the one it derives from."""

    def encode(self, value: str) -> Any:
        return super().encode(value)[::-1]


class Counting(LabelColumn):
    """A column that learns from each value."""

    def learn(self, values: Any) -> None:
        self.values = list(values)
        super().learn(self.values)


def test_a_subclass_encodes_and_learns_by_its_own_methods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("a b c\tx\nb a\ty\n")
    monkeypatch.setattr(table, "LARGE", 0)
    source, kind = Shouting("source"), Counting("kind")
    assert not source.learns_counts and not kind.learns_counts
    source.learn(["a b c"])
    kind.learn(["x", "y"])
    dataset = Dataset.build(read_rows(path, fields=["source", "kind"]), [source, kind])
    assert [source.decode(dataset[row]["source"].tolist()) for row in range(2)] == ["c b a", "a b"]


def test_other_files_are_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "LARGE", 0)
    contents = {
        "quoted.csv": b'source,kind\n"a, b",x\n',
        "wide.tsv": "source\tkind\na\tx\n".encode("utf-16"),
        "mac.tsv": b"source\tkind\ra\tx\r",
        "lines.jsonl": b'{"source": "a", "kind": "x"}\n',
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        rows = read_rows(tmp_path / name, fields=["source", "kind"])
        assert blocks_of(rows, problems=True) is None
        assert [row["kind"] for row in rows] == ["x"]


def test_costs_are_whole_numbers_of_the_same_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("a b c\tx\nb a\ty\n")
    column = TextColumn("source")
    column.learn(["a b c"])
    for large in (1 << 60, 0):
        monkeypatch.setattr(table, "LARGE", large)
        costs = Dataset.build(read_rows(path, fields=["source", "kind"]), [column]).costs
        assert costs.dtype == np.int32 and costs.tolist() == [3, 2]


def test_keys_are_those_of_hashlib() -> None:
    chance = random.Random(5)
    rows = [
        [chance.randbytes(chance.choice([0, 1, 7, 8, 60, 126, 127, 128, 129, 300])) for _ in "ab"]
        for _ in range(99)
    ]
    text = b"".join(cell for row in rows for cell in row)
    ends = np.cumsum([[len(cell) for cell in row] for row in rows]).reshape(-1, 2)
    starts = ends - [[len(cell) for cell in row] for row in rows]
    block = RowBlock("", ("a", "b"), np.frombuffer(text, np.uint8), starts, ends, np.arange(99), [])
    for fields in (["a"], ["b"], ["a", "b"], ["b", "a"]):
        joined = [b"\0".join(row["ab".index(field)] for field in fields) for row in rows]
        expected = [int.from_bytes(hashlib.blake2b(one, digest_size=8).digest()) for one in joined]
        assert block.keys(fields).tolist() == expected
