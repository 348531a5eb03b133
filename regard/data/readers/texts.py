"""Texts in folders: the top-level folder of a text is its class.

    reviews/pos/12_9.txt     text: content of the file, label pos, name 12_9
    reviews/neg/a/7.txt      label neg, name 7

The folder may be a zip archive. Hidden files and files without the extension .txt are skipped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar

from regard.data.readers.files import opened
from regard.data.readers.folder import has_classes, names_below
from regard.data.readers.reader import Reader, Sides
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

ENDING = ".txt"
MOST_BYTES = 1 << 25
"""Maximum size of a text, which becomes one row."""


@register("reader", "texts")
class TextsReader(Reader):
    """Text files in one folder per class; the whole may be a zip archive. Fields: text, label, name."""

    about: ClassVar[str] = "a folder of texts"
    fields: ClassVar[tuple[str, ...]] = ("text", "label", "name")
    folder: ClassVar[bool] = True
    recognized_in: ClassVar[tuple[str, ...] | None] = ("folder",)

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether texts lie in at least two folders of a folder, or of an archive."""
        return has_classes(path, (ENDING,))

    def sides(self, files: Sequence[Path]) -> Sides | None:
        return Sides("text", "label", {"label": {"type": "label"}})

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        names = self.listed(path)
        if not names:
            raise RegardError(
                f"there are no texts here (*{ENDING}).",
                where=str(path),
                fix="Put them into one folder for each class.",
            )
        for name in names:
            yield _row(path, name, fields)

    def listed(self, folder: Path) -> list[str]:
        return names_below(folder, (ENDING,))

    def content(self, files: Sequence[Path], fields: Sequence[str]) -> Iterator[bytes]:
        for name in self.listed(files[0]):
            with opened(files[0] / name) as stream:
                yield hashlib.blake2b(name.encode(errors="surrogateescape")).digest()
                while part := stream.read(1 << 20):
                    yield part


def _row(path: Path, name: str, fields: Sequence[str]) -> Row:
    file = str(path / name)
    folder, slash, _ = name.partition("/")
    with opened(path / name) as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        return Row(file=file, line=1, problem=f"is a text of more than {MOST_BYTES:,} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = content[error.start]
        return Row(
            file=file,
            line=1,
            problem=f"is not UTF-8: byte {error.start + 1} is 0x{byte:02x} ({error.reason})",
        )
    values = {"text": text, "name": PurePosixPath(name).stem} | ({"label": folder} if slash else {})
    return Row({field: values[field] for field in fields if field in values}, file=file, line=1)
