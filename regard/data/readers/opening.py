"""Open plain or compressed files, with helpful errors."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from regard.data.contents import inside
from regard.errors import MissingExtra, RegardError
from regard.reporting.watching import open_watched
from regard.storage.files import reading_remedy

COMPRESSIONS = (".gz", ".xz", ".zst")


def find(path: str | Path) -> Path:
    """The path, if it is a file or leads into a zip archive."""
    path = Path(path)
    archive, member = inside(str(path))
    if archive:
        names = members(archive)
        if member not in names:
            nearest = get_close_matches(member, names, n=1)
            fix = f"Did you mean {archive}/{nearest[0]}?" if nearest else f"It holds {', '.join(names[:8])}."
            raise RegardError("the archive holds no such file.", where=str(path), fix=fix)
        return path
    if path.is_dir():
        raise RegardError("this is a folder, expected a file.", where=str(path), fix="Name a file inside it.")
    if path.is_symlink() and not path.exists():
        raise RegardError(
            f"this link leads to {os.readlink(path)}, which does not exist.",
            where=str(path),
            fix="Correct the link, or name another file.",
        )
    if not path.exists():
        names = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
        nearest = get_close_matches(path.name, names, n=1)
        if not path.parent.is_dir():
            fix = f"The folder {path.parent} does not exist either."
        else:
            correct = f"Correct the name; the folder is {path.parent.resolve()}."
            fix = f"Did you mean {path.with_name(nearest[0])}?" if nearest else correct
        raise RegardError("there is no such file.", where=str(path), fix=fix)
    return path


def kind(path: str | Path) -> str:
    """The extension that determines the format, without that of the compression: "a.tsv.gz" → ".tsv"."""
    path = Path(path)
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix.lower()


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes] | io.BufferedIOBase]:
    """The bytes of the file, decompressed by its extension. Damage raises an error wherever it occurs."""
    damage: tuple[type[Exception], ...] = (
        EOFError,
        gzip.BadGzipFile,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
    )
    try:
        with _stream(path) as stream:
            yield stream
    except damage as error:
        raise RegardError(
            f"the compressed file is damaged or cut short ({error}).",
            where=str(path),
            fix="Download it or compress it again.",
        ) from error
    except BrokenPipeError:
        raise  # the reader of our output has closed the pipe; this file is fine
    except OSError as error:
        raise RegardError(
            f"the file cannot be read ({error.strerror or error}).",
            where=str(path),
            fix=reading_remedy(error, path, "Copy it to another disk, or download it again."),
        ) from error


def members(archive: str) -> list[str]:
    """The member names of a zip archive."""
    try:
        with zipfile.ZipFile(archive) as opened_archive:
            return opened_archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise RegardError(
            f"the archive cannot be read ({error}).", where=archive, fix="Download it or create it again."
        ) from error


@contextmanager
def _stream(path: Path) -> Iterator[IO[bytes] | io.BufferedIOBase]:
    archive, member = inside(str(path))
    if archive:
        with zipfile.ZipFile(archive) as packed, packed.open(member) as stream:
            yield stream
        return
    with open_watched(path) as file:
        if path.suffix not in COMPRESSIONS:
            yield file
            return
        with _decompressed(file, path) as stream:
            yield stream


def _decompressed(file: IO[bytes] | io.BufferedReader, path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(file, "rb")
    if path.suffix == ".xz":
        return lzma.open(file, "rb")
    return io.BufferedReader(_ZstandardStream(file, path), buffer_size=1 << 17)


class _ZstandardStream(io.RawIOBase):
    """A stream of Zstandard frames. Unlike the library's own reader, it detects truncated files."""

    def __init__(self, file: IO[bytes] | io.BufferedReader, path: Path) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtra("zstandard", "zst", f"Reading {path}") from None
        self._decompressor = zstandard.ZstdDecompressor()
        self._broken = zstandard.ZstdError
        self._frame: Any = None
        self._file = file
        self._compressed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._compressed = self._compressed or self._file.read(1 << 16)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("the last frame has no end")
                return 0
            self._frame = self._frame or self._decompressor.decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(self._compressed))
            except self._broken as error:
                raise EOFError(str(error)) from error
            self._compressed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
