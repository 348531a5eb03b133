"""Folders of recordings that are named by their transcripts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.data import read_rows
from regard.data.audio import encode_wav
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.spec import Spec

ALL = ("audio", "label", "text", "speaker", "index")


@pytest.fixture
def recordings(tmp_path) -> Path:
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in ("7_theo_10.wav", "7_theo_9.wav", "0_ann_bo_0.wav", "good-day_theo_1.FLAC", "12_theo_3.wav"):
        (folder / name).write_bytes(encode_wav(np.zeros(800, np.float32), 8000))
    (folder / "notes.txt").write_text("not a sound", encoding="utf-8")
    return folder


def test_a_row_for_each_sound_by_its_name(recordings):
    rows = list(read_rows(recordings, fields=ALL, format="wavs"))
    assert [(row["label"], row["text"], row["speaker"], row["index"]) for row in rows] == [
        ("0_ann", "0_ann", "bo", "0"),
        ("12", "12", "theo", "3"),
        ("7", "seven", "theo", "9"),
        ("7", "seven", "theo", "10"),
        ("good-day", "good day", "theo", "1"),
    ]
    assert all(Path(row["audio"]).is_absolute() and Path(row["audio"]).is_file() for row in rows)
    assert set(next(iter(read_rows(recordings, fields=["text"], format="wavs")))) == {"text"}


def test_splits_by_number(recordings):
    spec = Spec.parse(
        {
            "inputs": {"audio": {"type": "audio"}},
            "outputs": {"text": {"type": "text", "unit": "char"}},
            "data": {
                "format": "wavs",
                **{split: str(recordings) for split in ("train", "dev", "test")},
                "where": {"train": {"index": [9, 10]}, "dev": {"index": 3}, "test": {"index": [0, 1]}},
            },
        }
    )
    splits = open_splits(spec)
    found = {split: [row["text"] for row in rows] for split, rows in splits.items()}
    assert found == {"train": ["seven", "seven"], "dev": ["12"], "test": ["0_ann", "good day"]}


def test_what_a_new_sound_changes(recordings):
    before = read_rows(recordings, fields=ALL, format="wavs").fingerprint()
    assert read_rows(recordings, fields=ALL, format="wavs").fingerprint() == before
    (recordings / "1_theo_1.wav").write_bytes(b"")
    assert read_rows(recordings, fields=ALL, format="wavs").fingerprint() != before


def test_mistakes_are_named(recordings, tmp_path):
    (recordings / "seven.wav").write_bytes(b"")
    rows = list(read_rows(recordings, fields=ALL, format="wavs").with_problems())
    problems = [row.problem for row in rows if row.problem]
    assert problems == ["is named seven.wav, expected LABEL_SPEAKER_INDEX, as in 7_jackson_32.wav"]
    with pytest.raises(RegardError, match="but no age"):
        list(read_rows(recordings, fields=["age"], format="wavs"))
    (tmp_path / "none").mkdir()
    with pytest.raises(RegardError, match="has no audio files"):
        list(read_rows(tmp_path / "none", fields=ALL, format="wavs"))
    with pytest.raises(RegardError, match="expected a folder of audio files"):
        list(read_rows(recordings / "7_theo_9.wav", fields=ALL, format="wavs"))
