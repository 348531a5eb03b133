"""A reader: reads the rows of one file format."""

from __future__ import annotations

import hashlib
import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from regard.data.readers.entries import Entries
from regard.data.readers.files import find, inside, opened
from regard.data.readers.row import Row
from regard.errors import RegardError, Words
from regard.parts import Options
from regard.parts.contract import base, optional, required
from regard.reporting.terminal import open_watched
from regard.storage.files import is_remote

if TYPE_CHECKING:
    from regard.data.blocks.block import RowBlock

_NEXT = re.compile(r"\+(?=[a-z][a-z0-9.-]+:/)", re.IGNORECASE)
CONTENTS = ("folder", "json", "blocks")
"""What a reader may declare in `recognized_in`."""


class Field(NamedTuple):
    """A field of a file, by name or number, and its first value.

    listed    whether its values are lists, other than of numbers
    numbers   whether its values are lists of numbers
    """

    name: str
    example: str
    listed: bool = False
    numbers: bool = False


class Sides(NamedTuple):
    """What `regard train FILE` learns from the rows of a format: the field `target` from the field `source`.

    columns   types and options of the columns that read the fields; those of other fields are inferred from values
    truth     additional columns that are used to split and to measure, by name
    """

    source: str
    target: str
    columns: Mapping[str, Mapping[str, Any]] = {}
    truth: Mapping[str, Mapping[str, Any]] = {}


@base("reader")
class Reader(Options):
    """Base class of formats. Register one with `@register("reader", NAME)`; choose it by `format: NAME` or file
    extension."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Extensions of the files it reads if no format is given: (".tsv", ".tab")."""
    prefix: ClassVar[str] = ""
    """Prefix of the names it reads that are not paths: "hf:"."""
    about: ClassVar[str] = "a file"
    """How messages call its input: "a bAbI file"."""
    fields: ClassVar[tuple[str, ...]] = ()
    """All fields its rows can have, if the format determines them."""
    lines: ClassVar[bool] = False
    """Whether its rows are lines, with possible blank lines between them."""
    plain: ClassVar[bool] = False
    """Whether it reads plain text, one text per line, as files of an unknown extension are read."""
    folder: ClassVar[bool] = False
    """Whether it reads a folder."""
    delimited: ClassVar[bool] = False
    """Whether its rows are cells between delimiters, with a name or a number for each."""
    replaces: ClassVar[tuple[str, ...]] = ()
    """Fields that it can replace: `regard predict RUN FILE` writes the file back with the predicted ones."""
    adds_column: ClassVar[bool] = False
    """Whether it can add a field: `regard predict RUN -f FILE --column A --as B` writes the file back with it."""
    recognized_in: ClassVar[tuple[str, ...] | None] = None
    """What `recognizes` is asked about: a "folder", which may be an archive; "json", by the extension of the file; or
    "blocks" of lines with blank lines between them. None: about everything."""
    several: ClassVar[str] = ""
    """The files it reads, if several: "IMAGES+LABELS"."""

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        bare = [one for one in cls.suffixes if one and not one.startswith(".")]
        if bare:
            return f"declares the suffix {bare[0]!r}; an extension begins with a dot"
        unknown = [one for one in cls.recognized_in or () if one not in CONTENTS]
        return (
            f"declares recognized_in = {unknown!r}; expected some of {', '.join(CONTENTS)}"
            if unknown
            else None
        )

    @classmethod
    @optional("when columns are inferred from a file")
    def recognizes(cls, path: Path) -> bool:
        """Whether the content of a file or folder is in this format, whatever its extension says. `regard train FILE`
        asks this, and writes the format into the spec."""
        return False

    @optional("when columns are inferred from a file")
    def sides(self, files: Sequence[Path]) -> Sides | None:
        """The fields to learn, if the format determines them; None: the user or the names of the fields do."""
        return None

    @optional("before `read`, for a path that is not one file")
    def files(self, path: str) -> list[Path]:
        """The files, or the folder, that a path names. Raises an error if one does not exist."""
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
    @required("when the data are opened, and for their hash")
    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        """The rows. A row contains the given fields that it has, and possibly others.

        images   the folder or archive of the images that rows name, if given
        """

    @optional("if the class declares `replaces` or `adds_column`")
    def entries(self, path: Path, fields: Sequence[str], new: str = "") -> Entries:
        """The pieces of a file, to be written back.

        fields   those that are read
        new      the field to add, if any
        """
        raise NotImplementedError(
            f"{type(self).__name__} declares that it writes files back; write entries()"
        )

    def check(self, fields: Sequence[str], where: str) -> None:
        """Refuse fields that the format lacks."""
        unknown = [field for field in fields if self.fields and field not in self.fields]
        if unknown:
            raise RegardError(
                f"{self.about} has the fields {', '.join(self.fields)}, but no {unknown[0]}.",
                where=where,
                fix=f"Give the columns these names, or choose one with  field: {self.fields[0]}.",
            )

    @optional("when columns are inferred from a file")
    def found(self, files: Sequence[Path]) -> list[Field]:
        """The fields of the rows, in order; empty if the format does not determine them before reading."""
        return [Field(name, "") for name in self.fields]

    @optional("when the data are opened")
    def remarks(self, files: Sequence[Path], fields: Sequence[str]) -> list[Words]:
        """Remarks on how the files are read; most formats leave no choice."""
        return []

    def blocks(self, files: Sequence[Path], fields: Sequence[str]) -> Iterator[RowBlock] | None:
        """The rows of `read` as blocks; None if it must read them one by one."""
        return None

    def images_in(self, files: Sequence[Path]) -> str:
        """The default folder of the images that rows name; "": beside the files."""
        return ""

    def beside(self, files: Sequence[Path]) -> list[Path]:
        """Additional files that are read although the path does not name them."""
        return []

    def listed(self, folder: Path) -> list[str]:
        """The names in a folder that determine its rows."""
        return sorted(os.listdir(folder))

    @optional("before `read`, to find the cache")
    def content(self, files: Sequence[Path], fields: Sequence[str]) -> Iterator[bytes]:
        """Everything that determines the rows: names in folders, bytes of files. The cache is keyed by a hash of it."""
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
    """ "a.en+a.de" → its files; a single one if there is no +, or if a file of this exact name exists. In
    URLs, a + that is followed by no scheme belongs to the name."""
    if is_remote(path):
        return _NEXT.split(path)
    return path.split("+") if "+" in path and not Path(path).exists() else [path]
