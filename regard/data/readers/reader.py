"""A reader: how the rows of one file format are read."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from regard.data.contents import inside
from regard.data.readers.opening import find, opened
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import Options
from regard.watching import open_watched


class Field(NamedTuple):
    """A field that a file has, by its name or number, and what the first row has there."""

    name: str
    example: str


class Reader(Options):
    """One format. Registered with `@register("reader", NAME)`, and chosen by `format: NAME` or by a file's name."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Of the files it reads where no format is given: (".tsv", ".tab")."""
    prefix: ClassVar[str] = ""
    """Of names it reads that are no paths: "hf:"."""
    about: ClassVar[str] = "a file"
    """What it reads, for messages: "a bAbI file"."""
    fields: ClassVar[tuple[str, ...]] = ()
    """All fields its rows can have, where the format determines them."""
    lines: ClassVar[bool] = False
    """Whether its rows are lines, between which there may be blank ones."""
    folder: ClassVar[bool] = False
    """Whether it reads a folder."""
    several: ClassVar[str] = ""
    """The files it reads, where these are more than one: "IMAGES+LABELS"."""

    def files(self, path: str) -> list[Path]:
        """The files, or the folder, that a path names. That they exist is checked."""
        if self.folder and Path(path).is_dir():
            return [Path(path)]
        parts = joined(path)
        if len(parts) != self.several.count("+") + 1:
            count = "two files" if self.several else "one file"
            fix = (
                f"Join them with +: {self.several}"
                if self.several
                else "Remove format to read parallel texts."
            )
            raise RegardError(
                f"format: {self.type} takes {count}, received {len(parts)}.", where=path, fix=fix
            )
        return [find(part) for part in parts]

    @abstractmethod
    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        """The rows, each with at least the given fields that it has.

        images   the folder or archive of the images that rows name, where it is given
        """

    def check(self, fields: Sequence[str], where: str) -> None:
        """Refuse fields that the format does not have."""
        unknown = [field for field in fields if self.fields and field not in self.fields]
        if unknown:
            raise RegardError(
                f"{self.about} has the fields {', '.join(self.fields)}, but no {unknown[0]}.",
                where=where,
                fix=f"Name the columns so, or give a column  field: {self.fields[0]}.",
            )

    def found(self, files: Sequence[Path]) -> list[Field]:
        """The fields that the rows have, in their order; none where the format does not tell before all is read."""
        return [Field(name, "") for name in self.fields]

    def remarks(self, files: Sequence[Path], fields: Sequence[str]) -> list[str]:
        """What a person should know of how the files are read; most formats leave no choice."""
        return []

    def images_in(self, files: Sequence[Path]) -> str:
        """The folder that holds the images its rows name, where no other is given; "": beside the files."""
        return ""

    def beside(self, files: Sequence[Path]) -> list[Path]:
        """Further files that are read though the path does not name them."""
        return []

    def listed(self, folder: Path) -> list[str]:
        """The names in a folder on which its rows depend."""
        return sorted(os.listdir(folder))

    def content(self, files: Sequence[Path], fields: Sequence[str]) -> Iterator[bytes]:
        """Everything the rows depend on: names in folders, bytes of files. The cache is keyed by a hash of it."""
        for file in [*files, *self.beside(files)]:
            if file.is_dir():
                yield "\n".join(self.listed(file)).encode(errors="surrogateescape")
                continue
            member = bool(inside(str(file))[0])
            with opened(file) if member else open_watched(file, hashed=True) as stream:
                size = 0 if member else file.stat().st_size
                yield hashlib.blake2b(str(size).encode()).digest()
                while part := stream.read(1 << 20):
                    yield part


def joined(path: str) -> list[str]:
    """ "a.en+a.de" → its files; one where there is no +, or where a file of that very name exists."""
    return path.split("+") if "+" in path and not Path(path).exists() else [path]
