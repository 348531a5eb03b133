"""Digests of much content: the same however it is cut, and another for every change."""

from __future__ import annotations

import hashlib
import random

import pytest

from regard.data.digests import ALONE, PART, digest_in_one, digest_of, digests_of
from regard.data.readers.rows import read_rows


def as_before(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def by_hand(content: bytes, size: int) -> str:
    parts = [content[begin : begin + PART] for begin in range(0, max(len(content), 1), PART)]
    digests = b"".join(hashlib.blake2b(part, digest_size=32).digest() for part in parts)
    return hashlib.blake2b(digests, digest_size=size).hexdigest()


SIZES = [0, 1, PART - 1, PART, PART + 1, 3 * PART, ALONE * PART, (ALONE + 20) * PART + 17]


@pytest.mark.parametrize("size", SIZES)
def test_however_it_is_cut(size, tmp_path):
    content = random.Random(size).randbytes(size)
    truth = as_before(content) if size < ALONE * PART else f"parts:{by_hand(content, 16)}"
    for step in (1 << 20, PART, 2 * PART + 3, max(size, 1)):
        assert digest_of(content[begin : begin + step] for begin in range(0, size, step)) == truth
    assert digest_in_one([content[:3], content[3:]]) == as_before(content)
    (tmp_path / "one").write_bytes(content)
    assert digests_of([tmp_path / "one"]) == [by_hand(content, 32)]


def test_a_change_anywhere_is_seen(tmp_path):
    content = bytearray(random.Random(0).randbytes(3 * PART + 5))
    truth = digest_of([bytes(content)])
    for place in (0, PART - 1, PART, 2 * PART + 9, len(content) - 1):
        content[place] ^= 1
        assert digest_of([bytes(content)]) != truth
        content[place] ^= 1
    assert digest_of([bytes(content[:-1])]) != truth
    swapped = content[PART : 2 * PART] + content[:PART] + content[2 * PART :]
    assert digest_of([bytes(swapped)]) != truth


@pytest.mark.parametrize("lines", [3, 700_000])
def test_a_file_is_as_its_digest_of_any_version(lines, tmp_path):
    """A file that has not changed since version 0.2.0 read it counts as unchanged, however large it is."""
    path = tmp_path / "pairs.tsv"
    path.write_text("some words of a row\tothers\n" * lines)
    rows = read_rows(path, fields=["source", "target"])
    earlier = digest_in_one(rows.reader.content(rows.files, rows.fields))
    now = rows.digest()
    assert rows.is_as(earlier) and rows.is_as(now)
    assert (earlier == now) == (lines == 3)
    with path.open("a") as file:
        file.write("another\trow\n")
    changed = read_rows(path, fields=["source", "target"])
    assert not changed.is_as(earlier) and not changed.is_as(now)


def test_many_files_each_with_its_own(tmp_path):
    paths = [tmp_path / str(size) for size in SIZES]
    for path, size in zip(paths, SIZES, strict=True):
        path.write_bytes(random.Random(size).randbytes(size))
    assert digests_of(paths) == [by_hand(path.read_bytes(), 32) for path in paths]
    assert digests_of([]) == []


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for path in (tmp_path, tmp_path / "link", tmp_path / "absent"):
        with pytest.raises(ValueError, match="not a file"):
            digests_of([path])
