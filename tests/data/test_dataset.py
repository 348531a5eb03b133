"""Datasets: single encoding, the cache and its key, bad rows, references."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.data import (
    AlignmentColumn,
    Column,
    Dataset,
    LabelColumn,
    Row,
    TagsColumn,
    TextColumn,
    read_rows,
    values,
    write_rejected,
)
from regard.data import cache as caching
from regard.data.ragged import Ragged
from regard.errors import RegardError

FIELDS = ("source", "target")


def columns_for(rows: list[Row], **options: object) -> list[Column]:
    columns: list[Column] = [TextColumn(name, **options) for name in FIELDS]  # type: ignore[arg-type]
    for column in columns:
        column.learn(values(rows, column.name))
    return columns


def rows_of(*pairs: tuple[str, str]) -> list[Row]:
    return [Row({"source": s, "target": t}, file="made", line=n) for n, (s, t) in enumerate(pairs, start=1)]


PAIRS = rows_of(("a b c", "x"), ("b", "y z"), ("a b c", "x y"), ("c c", "z"))


@pytest.fixture(params=["memory", "cache"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "cache" if request.param == "cache" else None


def test_rows_are_encoded_and_their_text_kept(cache: Path | None) -> None:
    columns = columns_for(PAIRS)
    dataset = Dataset.build(PAIRS, columns, cache=cache)
    assert len(dataset) == 4
    for place, row in enumerate(PAIRS):
        for column in columns:
            np.testing.assert_array_equal(dataset[place][column.name], column.encode(row[column.name]))
        assert dataset.raw(place) == dict(row)
    assert dataset.where(2) == "made:3"
    assert dataset.lengths("source").tolist() == [3, 1, 3, 2]
    assert dataset.costs.tolist() == [3, 2, 3, 2]
    with pytest.raises(IndexError):
        dataset[4]


def test_a_batch_holds_its_rows_in_order(cache: Path | None) -> None:
    dataset = Dataset.build(PAIRS, columns_for(PAIRS), cache=cache)
    batch = dataset.batch([3, 0])
    assert batch.rows == (3, 0)
    assert batch.cost == 2 * 3
    assert list(batch.columns) == ["source", "target"]
    assert batch["source"].lengths.tolist() == [2, 3]
    np.testing.assert_array_equal(batch["source"].ids[1], dataset[0]["source"])
    assert batch["source"].ids[0].tolist()[2:] == [0]


def test_labels_tags_and_alignments_side_by_side(cache: Path | None) -> None:
    rows = [
        Row({"words": "a b", "tags": "X Y", "label": "yes", "other": "c", "links": "1-0"}),
        Row({"words": "b", "tags": "Y", "label": "no", "other": "d e", "links": ""}),
    ]
    columns: list[Column] = [
        AlignmentColumn("links", of=("words", "other")),
        TagsColumn("tags", of="words"),
        TextColumn("words"),
        LabelColumn("label"),
        TextColumn("other"),
    ]
    for column in columns:
        column.learn(values(rows, column.name))
    dataset = Dataset.build(rows, columns, cache=cache)
    assert dataset[0]["label"].shape == ()
    batch = dataset.batch([0, 1])
    assert batch["label"].tolist() == [1, 0]
    assert batch["tags"].ids.tolist() == [[0, 1], [1, 0]]
    assert batch["links"].shape == (2, 2, 2)
    assert batch["links"].tolist() == [[[0, 1], [0, 0]], [[0, 0], [0, 0]]]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"source": "a"}, "target is missing"),
        ({"source": "a", "target": "  "}, "target is empty"),
        ({"source": "a b c a", "target": "x"}, "source has 4 tokens, more than max_length 3"),
    ],
)
def test_bad_rows_stop_or_are_set_aside(
    tmp_path: Path, cache: Path | None, bad: dict[str, str], reason: str
) -> None:
    rows = [*PAIRS[:2], Row(bad, file="data.tsv", line=17), *PAIRS[2:]]
    columns = columns_for(PAIRS, max_length=3)
    with pytest.raises(
        RegardError, match=rf"^data\.tsv:17: {reason}\. Correct the row, or set bad_rows: skip"
    ):
        Dataset.build(rows, columns, cache=cache)
    rejected = tmp_path / "rejected.tsv"
    dataset = Dataset.build(rows, columns, cache=cache, on_bad="skip", rejected=rejected)
    assert len(dataset) == 4
    assert dataset.rejected == 1
    assert [one.reason for one in dataset.rejections.kept] == [reason]
    lines = rejected.read_text(encoding="utf-8").split("\n")
    assert lines[0].split("\t") == ["file", "line", "reason", "row"]
    assert lines[1].split("\t")[:3] == ["data.tsv", "17", reason]
    assert len(list(tmp_path.glob(".rejected*"))) == 0


def test_tags_and_alignments_that_do_not_fit_are_bad_rows() -> None:
    good = Row({"words": "a b", "tags": "X Y", "links": "0-1"})
    words, tags = TextColumn("words"), TagsColumn("tags", of="words")
    links = AlignmentColumn("links", of=("words", "words"))
    words.learn(["a b"])
    tags.learn(["X Y"])
    for change, reason in (
        ({"tags": "X"}, "tags has 1 tags for 2 tokens of words"),
        ({"links": "0-2"}, "links has the link 0-2, but words has 2 tokens"),
        ({"links": "0_0"}, "links has '0_0', expected source-target positions"),
    ):
        bad = Row({**good, **change}, file="f", line=3)
        with pytest.raises(RegardError, match=f"^f:3: {reason}"):
            Dataset.build([good, bad], [words, tags, links])


def test_unreadable_rows_of_files_follow_the_same_rule(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a\tx\nb\nc\t\xff\n\td\n")
    rows = read_rows(path, fields=FIELDS)
    columns = columns_for(PAIRS)
    with pytest.raises(RegardError, match=r"a\.tsv:2: the row has 1 tab-separated cell, expected 2"):
        Dataset.build(rows, columns)
    dataset = Dataset.build(
        rows, columns, on_bad="skip", cache=tmp_path / "cache", rejected=tmp_path / "r.tsv"
    )
    again = Dataset.build(rows, columns, on_bad="skip", cache=tmp_path / "cache", rejected=tmp_path / "s.tsv")
    assert [one.line for one in dataset.rejections.kept] == [2, 3, 4]
    assert again.rejections.kept == dataset.rejections.kept
    assert (tmp_path / "r.tsv").read_bytes() == (tmp_path / "s.tsv").read_bytes()
    assert dataset.rejections.reasons["source is empty"] == 1
    assert dataset.rejections.reasons["the row has … tab-separated cell, expected … (source, target)"] == 1


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), min_size=1, max_size=5))
@settings(max_examples=40)
def test_rejected_rows_are_one_line_each_and_come_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    from regard.data.dataset import Rejected, read_rejected

    path = tmp_path_factory.mktemp("rejected") / "rejected.tsv"
    rejected = [Rejected("file.csv", line, f"has {text!r}", text) for line, text in enumerate(texts)]
    assert write_rejected(path, rejected) == len(texts)
    assert path.read_bytes().count(b"\n") == len(texts) + 1
    assert read_rejected(path) == rejected


def test_no_rejected_rows_leave_no_file(tmp_path: Path) -> None:
    path = tmp_path / "rejected.tsv"
    path.write_text("old")
    Dataset.build(PAIRS, columns_for(PAIRS), on_bad="skip", rejected=path)
    assert not path.exists()


def test_no_rows_at_all_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.tsv"
    path.write_text("")
    with pytest.raises(RegardError, match=r"empty\.tsv: there are no rows to use\."):
        Dataset.build(read_rows(path, fields=FIELDS), columns_for(PAIRS))
    path.write_text("a\t\n")
    with pytest.raises(RegardError, match=r"no rows to use \(all 1 were left out: 1 because target is empty"):
        Dataset.build(read_rows(path, fields=FIELDS), columns_for(PAIRS), on_bad="skip")


def built(folder: Path) -> dict[str, int]:
    return {path.name: (path / "manifest.json").stat().st_mtime_ns for path in folder.iterdir()}


def test_the_cache_is_keyed_by_content(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.tsv", tmp_path / "cache"
    path.write_text("a b\tx\nb\ty\n")
    columns = columns_for(PAIRS)
    Dataset.build(read_rows(path, fields=FIELDS), columns, cache=cache)
    first = built(cache)
    os.utime(path, (1, 1))
    Dataset.build(read_rows(path, fields=FIELDS), columns, cache=cache)
    assert built(cache) == first, "the same content is not encoded again"
    path.write_text("a b\tx\nb\tz\n")
    changed = Dataset.build(read_rows(path, fields=FIELDS), columns, cache=cache)
    assert changed.raw(1)["target"] == "z"
    assert len(built(cache)) == 2, "other content of the same size is"
    Dataset.build(read_rows(path, fields=FIELDS), columns_for(PAIRS, case="lower"), cache=cache)
    assert len(built(cache)) == 3, "and so are other columns"
    Dataset.build(PAIRS, columns, cache=cache)
    Dataset.build(list(PAIRS), columns, cache=cache)
    assert len(built(cache)) == 4


def test_a_damaged_or_unfinished_cache_is_built_again(tmp_path: Path) -> None:
    columns = columns_for(PAIRS)
    Dataset.build(PAIRS, columns, cache=tmp_path)
    (folder,) = tmp_path.iterdir()
    for damage in ("0.ids.values", "manifest.json"):
        (folder / damage).write_bytes(b"")
        dataset = Dataset.build(PAIRS, columns, cache=tmp_path)
        np.testing.assert_array_equal(dataset[0]["source"], columns[0].encode("a b c"))
    assert list(tmp_path.iterdir()) == [folder]


def test_every_flipped_bit_of_a_cache_is_noticed_and_mended(tmp_path: Path) -> None:
    columns = columns_for(PAIRS)
    Dataset.build(PAIRS, columns, cache=tmp_path)
    (folder,) = tmp_path.iterdir()
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name, content in whole.items():
        if not content:
            continue
        damaged = bytearray(content)
        damaged[len(damaged) // 2] ^= 4  # same size
        (folder / name).write_bytes(damaged)
        with pytest.warns(UserWarning, match="this cache of encoded rows is damaged and is rebuilt"):
            dataset = Dataset.build(PAIRS, columns, cache=tmp_path)
        np.testing.assert_array_equal(dataset[0]["source"], columns[0].encode("a b c"))
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_killed_build_left_is_removed_and_the_users_files_stay(tmp_path: Path) -> None:
    left = tmp_path / f".{'0' * 32}.regard-tmp-abc"
    left.mkdir()
    (left / "places.values").write_bytes(b"x")
    (tmp_path / ".mine.regard-tmp-x").mkdir()
    Dataset.build(PAIRS, columns_for(PAIRS), cache=tmp_path)
    assert not left.exists() and (tmp_path / ".mine.regard-tmp-x").is_dir()


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RegardError):
        Dataset.build([*PAIRS, Row({"source": "a"})], columns_for(PAIRS), cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_swept_before_it_was_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = caching.claim, []

    def late(handle: int) -> bool | None:
        if not swept:
            swept.extend(tmp_path.glob(".*.regard-tmp-*"))
            shutil.rmtree(swept[0])
        return lock(handle)

    monkeypatch.setattr(caching, "claim", late)
    dataset = Dataset.build(PAIRS, columns_for(PAIRS), cache=tmp_path)
    assert len(swept) == 1 and len(dataset) == len(PAIRS)
    assert not swept[0].exists() and len(list(tmp_path.iterdir())) == 1


def test_processes_that_build_at_once_do_not_clash(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"a b {n}\tx\n" for n in range(3000)))
    program = (
        "import sys; from regard.data import Dataset, TextColumn, read_rows;"
        "c = [TextColumn(n, unit='byte') for n in ('source', 'target')];"
        "d = Dataset.build(read_rows(sys.argv[1], fields=('source', 'target')), c, cache=sys.argv[2]);"
        "print(len(d), d.raw(2999)['source'])"
    )
    command = [sys.executable, "-c", program, str(path), str(tmp_path / "cache")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in processes] == ["3000 a b 2999"] * 2
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_rows_that_can_be_read_once_need_no_cache(tmp_path: Path) -> None:
    columns = columns_for(PAIRS)
    assert len(Dataset.build(iter(PAIRS), columns)) == 4
    with pytest.raises(RegardError, match="can be read only once"):
        Dataset.build(iter(PAIRS), columns, cache=tmp_path)


def test_repeated_sources_share_their_references(cache: Path | None) -> None:
    dataset = Dataset.build(PAIRS, columns_for(PAIRS), cache=cache, references=["target"])
    assert len(dataset) == 3
    assert [dataset.raw(place)["source"] for place in range(3)] == ["a b c", "b", "c c"]
    assert [dataset.references(place, "target") for place in range(3)] == [["x", "x y"], ["y z"], ["z"]]
    assert dataset.batch([2, 0])["source"].lengths.tolist() == [2, 3]
    part = dataset.subset([2, 0])
    assert part.references(1, "target") == ["x", "x y"]
    with pytest.raises(RegardError, match="'tarket' is not a column; the columns are source, target"):
        dataset.grouped(["tarket"])


def test_without_references_every_row_is_its_own() -> None:
    dataset = Dataset.build(PAIRS, columns_for(PAIRS))
    assert dataset.references(0, "target") == ["x"]
    assert dataset.subset([2]).references(0, "target") == ["x y"]


def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    """Encoding seven megabytes of rows takes less than three megabytes of Python objects."""
    import tracemalloc

    line = "some text of forty characters or nearly so " * 20
    path = tmp_path / "big.tsv"
    path.write_text(f"{line}\t{line}\n" * 4_000)
    columns = columns_for(rows_of((line, line)))
    tracemalloc.start()
    dataset = Dataset.build(read_rows(path, fields=FIELDS), columns, cache=tmp_path / "cache")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(dataset) == 4_000
    assert peak < 3e6
    # In memory the same rows take at least the size of the text, so the limit above can be exceeded.
    tracemalloc.start()
    Dataset.build(read_rows(path, fields=FIELDS), columns)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak > 8e6


class RatingColumn(Column):
    """A float column that the package does not know."""

    type = "rating"
    scalar = True
    dtype = np.float64

    def learn(self, values: Iterable[str]) -> None:
        return

    def encode(self, value: str) -> np.ndarray:
        return np.array(float(value), dtype=np.float64)

    def decode(self, ids: Sequence[int]) -> str:
        return str(ids[0])

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return [str(value)]

    def collate(
        self, encoded: Sequence[np.ndarray] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> Tensor:
        return torch.from_numpy(Ragged.of(encoded).values.copy())

    def options(self) -> dict[str, Any]:
        return {}


class TruncatedRatingColumn(RatingColumn):
    """A column whose author forgot the dtype."""

    dtype = np.int32


def ratings(*texts: str) -> list[Row]:
    return [Row({"stars": text}, file="made", line=n) for n, text in enumerate(texts, start=1)]


def test_floats_are_stored_as_floats(cache: Path | None) -> None:
    rows = ratings("4.5", "-0.125", "3", "1e-300")
    for _ in range(2):  # first built, then read from the cache
        dataset = Dataset.build(rows, [RatingColumn("stars")], cache=cache)
        found = [dataset[place]["stars"] for place in range(4)]
        assert [value.item() for value in found] == [4.5, -0.125, 3.0, 1e-300]
        assert all(value.shape == () and value.dtype == np.float64 for value in found)
        batch = dataset.batch([3, 0])["stars"]
        assert batch.dtype == torch.float64 and batch.tolist() == [1e-300, 4.5]


def test_a_column_of_another_dtype_has_a_cache_of_its_own(tmp_path: Path) -> None:
    class SinglePrecisionColumn(RatingColumn):
        dtype = np.float32

    rows = ratings("0.1")
    for made, expected in ((RatingColumn, 0.1), (SinglePrecisionColumn, float(np.float32(0.1)))):
        dataset = Dataset.build(rows, [made("stars")], cache=tmp_path)
        assert dataset[0]["stars"].dtype == made.dtype and dataset[0]["stars"].item() == expected


def test_fractions_are_never_dropped_silently() -> None:
    with pytest.raises(
        RegardError, match=r"stars: the column encodes values as float64, but stores int32\. Set"
    ):
        Dataset.build(ratings("4.5"), [TruncatedRatingColumn("stars")])


def test_ragged_floats_are_padded_as_floats() -> None:
    rows = Ragged.of([np.array([0.5, 1.5]), np.array([2.5])])
    np.testing.assert_array_equal(rows.padded(), [[0.5, 1.5], [2.5, 0.0]])
    assert Ragged.of([np.array([1, 2], dtype=np.int32)]).padded().dtype == np.int64
