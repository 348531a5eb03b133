"""Streams of text: read in pieces, cut into units and spans, with the end held out."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data import BEGIN, Dataset, Row, StreamBatches, StreamColumn, package, read_rows
from regard.data.batch import UNKNOWN
from regard.data.columns.vocabulary import Vocabulary
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.spec import Spec


def text_of(path: Path) -> str:
    return "".join(row["text"] for row in read_rows(str(path), fields=["text"], format="stream"))


def prose(count: int, seed: int = 1) -> str:
    draw = random.Random(seed)
    words = ["cat", "dog", "saw", "the,", "a", "naïve", "x\u0301y", "—"]
    return "".join(draw.choice(words) + draw.choice([" ", " ", " ", "\n", "\n\n"]) for _ in range(count))


@pytest.mark.parametrize(
    "text", [prose(60_000), prose(40_000).replace("\n", " "), "é" * 200_000, "\n" * 70_000]
)
def test_the_stretches_of_a_file_are_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "book.txt"
    path.write_text(text, encoding="utf-8")
    rows = list(read_rows(str(path), fields=["text"], format="stream"))
    assert "".join(row["text"] for row in rows) == text
    assert len(rows) > 1
    lines = [
        1 + text[: sum(len(row["text"]) for row in rows[:place])].count("\n") for place in range(len(rows))
    ]
    assert [row.line for row in rows] == lines
    if "\n" in text:
        assert all(row["text"].endswith("\n") for row in rows[:-1])
    elif " " in text:
        assert all(row["text"].endswith(" ") for row in rows[:-1])


def test_encodings_line_ends_and_compression(tmp_path: Path) -> None:
    text = "Äpfel\r\nund\r\n" * 3
    for name, content in {
        "mark.txt": b"\xef\xbb\xbf" + text.encode(),
        "wide.txt": b"\xff\xfe" + text.encode("utf-16-le"),
        "plain.tokens": text.encode(),
        "small.txt.gz": gzip.compress(text.encode()),
    }.items():
        (tmp_path / name).write_bytes(content)
        assert text_of(tmp_path / name) == text.replace("\r\n", "\n"), name


def test_a_line_of_any_length_is_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "one-line.txt"
    path.write_bytes(b"to be or not to be " * (1 << 20))  # 19 MiB without a line end
    tracemalloc.start()
    longest = max(len(row["text"]) for row in read_rows(str(path), fields=["text"], format="stream"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert longest <= 1 << 16
    assert peak < 8 << 20


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux to see what is resident")
def test_a_text_that_was_passed_over_does_not_stay_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_text("the quick brown fox jumps over the lazy dog\n" * 400_000, encoding="utf-8")  # 17 MB
    rows = read_rows(str(file), format="stream", fields=["text"])
    column = StreamColumn("text", unit="char", min_count=500_000)  # less frequent characters are unknown
    column.learn(row["text"] for row in rows)
    dataset = Dataset.build(rows, [column], cache=tmp_path / "cache")
    unknown = sum(
        "the quick brown fox jumps over the lazy dog\n".count(one) for one in "qickbwnfxjmpsvlazydg\n"
    )
    assert f"{400_000 * unknown:,} of 17,600,000" in dataset.remarks()[0]
    assert resident("0.ids.values") < 36e6 < 70.4e6 == dataset.stream("text").nbytes
    first = dataset.stream("text")[:44].tolist()
    assert (
        first == column.encode("the quick brown fox jumps over the lazy dog\n").tolist()
    )  # the file is read again
    for _ in StreamBatches(dataset, rows=8, span=1000):
        pass
    assert resident("0.ids.values") < 36e6


def resident(name: str) -> float:
    """Bytes of a mapped file that are resident in memory."""
    lines = Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines()
    starts = [place for place, line in enumerate(lines) if line.rstrip().endswith(name)]
    found = [line for place in starts for line in lines[place : place + 8] if line.startswith("Rss:")]
    return 1024.0 * sum(int(line.split()[1]) for line in found)


def test_what_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"one\ntwo\nthr\xffee\n")
    with pytest.raises(RegardError, match="not UTF-8") as found:
        text_of(path)
    assert found.value.where == f"{path}:3"
    path.write_bytes(b"")
    with pytest.raises(RegardError, match="the file is empty"):
        text_of(path)


@pytest.mark.parametrize(
    "options",
    [
        {"unit": "char"},
        {"unit": "byte"},
        {"unit": "word"},
        {"unit": "word", "split": "punctuation", "case": "marked"},
        {"unit": "subword", "vocabulary": 60},
    ],
)
def test_what_was_encoded_is_decoded(options: dict[str, Any]) -> None:
    text = "The cat saw,  it: a Naïve\n\ncat.\nNo! DOG\n"
    column = StreamColumn("text", **options)
    column.learn([text * 8])
    found = column.decode(column.encode(text).tolist())
    lossless = options["unit"] in ("char", "byte")
    assert found == (text if lossless else "The cat saw, it: a Naïve\n\ncat.\nNo! DOG\n")
    again = StreamColumn.from_state(column.state())
    assert again.state() == column.state()
    assert again.encode(text).tolist() == column.encode(text).tolist()


def test_characters_of_any_plane_are_looked_up_as_one_by_one() -> None:
    column = StreamColumn("text", unit="char", min_count=2)
    seen = ["aabb  \n", "\néé日日𝄞𝄞x", "", "\ud800"]
    column.learn(seen)
    counted = Counter("".join(seen))
    assert set(column.vocabulary.pieces) == {one for one, times in counted.items() if times >= 2}
    assert column.vocabulary.pieces == Vocabulary.counted(counted, min_count=2).pieces  # in the same order
    text = "ab x\né日𝄞𝄟\ud800\U0010ffff\0y"
    one_by_one = [column.vocabulary.id(character) for character in text]
    assert column.encode(text).tolist() == one_by_one
    assert column.encode(text).dtype == np.int32 and UNKNOWN in one_by_one
    assert column.encode("").tolist() == []
    assert column.decode(column.encode("a日𝄞\n")) == "a日𝄞\n"


def test_ends_of_lines_are_words_as_wikitext_counts_them() -> None:
    column = StreamColumn("text", unit="word")
    text = " \n = Title = \n \n One two . \n"
    column.learn([text])
    expected = [word for line in text.splitlines() for word in [*line.split(), "⏎"]]
    assert column.tokens(text) == expected


def spec(**data: Any) -> Spec:
    return Spec.parse({"outputs": {"text": {"type": "stream", "unit": "char"}}, "data": data})


def test_one_file_is_cut_by_its_ends(tmp_path: Path) -> None:
    text, path = prose(3000), tmp_path / "book.txt"
    path.write_text(text, encoding="utf-8")
    splits = open_splits(spec(train=str(path), hold_out=0.1))
    parts = {name: "".join(row["text"] for row in rows) for name, rows in splits.items()}
    assert list(parts) == ["train", "dev", "test"]
    assert "".join(parts.values()) == text
    assert all(part.endswith("\n") for part in parts.values() if part is not parts["test"])
    for name, share in (("train", 0.8), ("dev", 0.1), ("test", 0.1)):
        assert abs(len(parts[name]) - share * len(text)) < 200
    assert any("the text is split in this order: train 80" in remark for remark in splits["dev"].remarks())  # type: ignore[attr-defined]
    prints = {rows.fingerprint() for rows in splits.values()}  # type: ignore[attr-defined]
    assert len(prints) == 3
    first = next(iter(splits["dev"]))
    assert first.line == 1 + parts["train"].count("\n")


@pytest.mark.parametrize("end", ["", "\n"])
def test_one_long_line_is_cut_between_words(tmp_path: Path, end: str) -> None:
    text, path = " ".join(f"w{number}" for number in range(2000)) + end, tmp_path / "line.txt"
    path.write_text(text, encoding="utf-8")
    splits = open_splits(spec(train=str(path)))
    parts = {name: "".join(row["text"] for row in rows) for name, rows in splits.items()}
    assert "".join(parts.values()) == text
    assert parts["train"].endswith(" ") and parts["dev"].endswith(" ")
    for name, share in (("train", 0.9), ("dev", 0.05), ("test", 0.05)):
        assert abs(len(parts[name]) - share * len(text)) < 10


def test_a_last_line_that_is_longer_than_a_part_is_cut(tmp_path: Path) -> None:
    text, path = "a line\n" * 100 + "x" * 2000 + "\n", tmp_path / "book.txt"
    path.write_text(text, encoding="utf-8")
    splits = open_splits(spec(train=str(path)))
    parts = {name: "".join(row["text"] for row in rows) for name, rows in splits.items()}
    assert "".join(parts.values()) == text
    assert [len(part) for part in parts.values()] == [2430, 135, 136]


def test_named_files_are_left_whole(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"{name}\n" * 50, encoding="utf-8")
    train, dev, test = (str(tmp_path / name) for name in "abc")
    assert set(open_splits(spec(train=train, dev=dev))) == {"train", "dev"}
    splits = open_splits(spec(train=train, test=test))
    joined = {name: "".join(row["text"] for row in rows) for name, rows in splits.items()}
    assert joined["train"] + joined["dev"] == "a\n" * 50
    assert joined["test"] == "c\n" * 50


@pytest.mark.parametrize("text", ["x", "ab\n"])
def test_a_text_that_is_too_short_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "short.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RegardError, match=r"the text has 1 line of \d characters: too few"):
        open_splits(spec(train=str(path)))


def test_tables_are_no_streams(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n', encoding="utf-8")
    with pytest.raises(RegardError, match="a stream needs a text file"):
        open_splits(spec(train=str(path)))


def stream(text: str) -> tuple[Dataset, list[int]]:
    column = StreamColumn("text", unit="char")
    column.learn([text])
    rows = [
        Row({"text": text[place : place + 10]}, file="t", line=place) for place in range(0, len(text), 10)
    ]
    return Dataset.build(rows, [column]), column.encode(text).tolist()


@pytest.mark.parametrize(("rows", "span"), [(1, 7), (3, 5), (4, 100)])
def test_spans_follow_each_other_and_hold_every_token_once(rows: int, span: int) -> None:
    dataset, ids = stream(prose(40))
    batches = StreamBatches(dataset, rows=rows, span=span)
    length = len(ids) // rows
    written: list[list[int]] = [[] for _ in range(rows)]
    before: list[list[int]] = [[] for _ in range(rows)]
    found = list(batches.epoch(0))
    assert len(found) == len(batches)
    for number, batch in enumerate(found):
        one = batch["text"]
        assert one.fresh == (number == 0)
        for row in range(rows):
            written[row] += one.ids[row].tolist()
            before[row] += one.before[row].tolist()
    assert written == [ids[row * length : (row + 1) * length] for row in range(rows)]
    assert before == [[ids[row * length - 1] if row else BEGIN, *written[row][:-1]] for row in range(rows)]
    again = list(batches.epoch(3, start=2))
    assert [batch["text"].ids.tolist() for batch in again] == [b["text"].ids.tolist() for b in found[2:]]
    assert not any(batch["text"].fresh for batch in again)
    assert all(b["text"].fresh for b in StreamBatches(dataset, rows=rows, span=span, carry=False))


def test_processes_share_the_rows() -> None:
    dataset, _ = stream(prose(40))
    whole = [batch["text"].ids for batch in StreamBatches(dataset, rows=5, span=4)]
    parts = StreamBatches(dataset, rows=5, span=4, world_size=2)
    for all_rows, even, odd in zip(whole, parts.epoch(0, rank=0), parts.epoch(0, rank=1), strict=True):
        assert np.array_equal(all_rows[0::2], even["text"].ids)
        assert np.array_equal(all_rows[1::2], odd["text"].ids)


def test_the_documents_of_python_share_no_paragraph() -> None:
    splits = package("python-docs", train=25, dev=5, test=5).splits()
    seen: set[str] = set()
    for part in ("train", "dev", "test"):
        found = {" ".join(p.split()) for row in splits[part] for p in row["text"].split("\n\n") if p.strip()}
        assert found and not seen & found
        seen |= found
    again = package("python-docs", train=25, dev=5, test=5).splits()
    assert [row["text"] for row in again["train"]] == [row["text"] for row in splits["train"]]
