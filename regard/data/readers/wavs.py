"""Folders of recordings named after their content: 7_jackson_32.wav, as in the Free Spoken Digit Dataset.

    label     the content, as written in the name: 7
    text      the content in words: the name of a digit (seven), or any other label with spaces for hyphens
    speaker   the speaker: jackson
    index     the number of the speaker's recording: 32
    audio     the file

Rows are sorted by label, speaker and index. Other files in the folder are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

SOUNDS = (".wav", ".flac", ".ogg", ".aiff")
DIGITS = dict(enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]))


@register("reader", "wavs")
class WavsReader(Reader):
    """A folder of recordings named LABEL_SPEAKER_INDEX.wav."""

    about: ClassVar[str] = "a folder of audio files"
    fields: ClassVar[tuple[str, ...]] = ("audio", "label", "text", "speaker", "index")
    folder: ClassVar[bool] = True

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        folder = files[0]
        if not folder.is_dir():
            raise RegardError(
                "expected a folder of audio files, received a file.",
                where=str(folder),
                fix="Unpack it first: tar xf",
            )
        names = [entry.name for entry in os.scandir(folder) if entry.name.lower().endswith(SOUNDS)]
        if not names:
            raise RegardError(
                f"the folder has no audio files ({', '.join(SOUNDS)}).",
                where=str(folder),
                fix="Name the folder that contains them.",
            )
        for name in sorted(names, key=_order):
            file = str(folder / name)
            parts = os.path.splitext(name)[0].rsplit("_", 2)
            if len(parts) != 3 or not all(parts):
                problem = f"is named {name}, expected LABEL_SPEAKER_INDEX, as in 7_jackson_32.wav"
                yield Row(file=file, problem=problem, source=name)
                continue
            label, speaker, index = parts
            values = {
                "audio": os.path.abspath(file),
                "label": label,
                "text": DIGITS.get(int(label), label) if label.isdecimal() else label.replace("-", " "),
                "speaker": speaker,
                "index": index,
            }
            yield Row({field: values[field] for field in fields}, file=file)


def _order(name: str) -> tuple[str, int, str]:
    head, _, index = os.path.splitext(name)[0].rpartition("_")
    return head, int(index) if index.isdecimal() else -1, name
