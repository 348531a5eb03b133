"""Texts in folders, one folder per class."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from regard.data import read_rows
from regard.errors import RegardError

FIELDS = ["text", "label", "name"]


def made(folder: Path) -> Path:
    for name, content in {
        "pos/12_9.txt": b"Fine.\nVery fine.",
        "neg/a/7.txt": "\ufeffDull é.".encode(),
        "neg/9.txt": b"\xff\xfe",
        "neg/.hidden.txt": b"x",
        "neg/picture.png": b"x",
        "alone.txt": b"no class",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_the_folder_is_the_class(tmp_path: Path, packed: bool) -> None:
    path = made(tmp_path / "reviews")
    if packed:
        archive = tmp_path / "reviews.zip"
        with zipfile.ZipFile(archive, "w") as writing:
            for file in sorted(path.rglob("*.*")):
                writing.write(file, file.relative_to(path))
        path = archive
    rows = list(read_rows(path, fields=FIELDS, format="texts").with_problems())
    assert [dict(row) for row in rows if row.problem is None] == [
        {"text": "no class", "name": "alone"},
        {"text": "Dull é.", "label": "neg", "name": "7"},
        {"text": "Fine.\nVery fine.", "label": "pos", "name": "12_9"},
    ]
    (bad,) = [row for row in rows if row.problem is not None]
    assert bad.problem == "is not UTF-8: byte 1 is 0xff (invalid start byte)"
    assert bad.where.endswith("neg/9.txt:1")


def test_the_cache_sees_a_text_change(tmp_path: Path) -> None:
    path = made(tmp_path)
    before = read_rows(path, fields=FIELDS, format="texts").fingerprint()
    (path / "pos/12_9.txt").write_text("Fine. Very fine!", encoding="utf-8")
    assert read_rows(path, fields=FIELDS, format="texts").fingerprint() != before


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"there are no texts here \(\*\.txt\)"):
        list(read_rows(tmp_path, fields=FIELDS, format="texts"))
