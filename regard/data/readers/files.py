"""Files of data: found, opened, decompressed, and read line by line.

Lines that cannot be decoded are marked and do not stop the reader.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from regard.errors import MissingExtra, RegardError
from regard.reporting.terminal import open_watched
from regard.storage.files import is_remote, reading_remedy

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
ARCHIVE = ".zip"
BLANK = "is a blank line"
"""The problem of a line without content: it is skipped and counted, but is not an error."""
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def inside(path: str) -> tuple[str, str]:
    """(archive, member) of a path that leads into a zip file; ("", "") of any other."""
    lower = path.lower()
    end = lower.find(ARCHIVE + "/")
    while end >= 0:
        archive = path[: end + len(ARCHIVE)]
        if os.path.isfile(archive):
            return archive, path[len(archive) + 1 :]
        end = lower.find(ARCHIVE + "/", end + 1)
    return "", ""


def find(path: str | Path) -> Path:
    """The path, if it is a file or leads into a zip archive; the local copy of a remote file."""
    if is_remote(path):
        from regard.data.remote import cached_copy

        return cached_copy(path)
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
    path = Path(str(path).partition("?")[0] if is_remote(path) else path)
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
    if path.suffix == ".bz2":
        return bz2.open(file, "rb")
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


class Line(NamedTuple):
    """number: from 1; text: without its line end; problem: why the text differs from the content of the file."""

    number: int
    text: str
    problem: str | None = None
    end: str = "\n"


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a plain or compressed file."""
    with opened(path) as stream:
        yield from stream_lines(stream)


NOT_UTF8 = "is not UTF-8"
OTHER_ENCODING = (
    "If the file has another encoding, save it as UTF-8; one of Windows, for example, by  "
    "iconv -f cp1252 -t utf-8 FILE > NEW"
)


def stream_lines(stream: IO[bytes] | io.BufferedIOBase) -> Iterator[Line]:
    """Lines end at "\\n", with or without "\\r" before it; at "\\r" in a file without any "\\n". Other line
    separators of Unicode do not split a row.

    The text is UTF-8, or UTF-16 or UTF-32 if a byte order mark or the zero bytes of the first line indicate so.
    """
    first = stream.readline()
    encoding, mark = encoding_of(first)
    contents = chain(
        first[mark:].splitlines(keepends=True) if not first.endswith(b"\n") else [first[mark:]], stream
    )
    if encoding != "utf-8":
        yield from _wide_lines(contents, encoding)
        return
    for number, content in enumerate(contents, start=1):
        yield line_of(number, content)


def line_of(number: int, content: bytes) -> Line:
    """A line of UTF-8."""
    try:
        text = content.decode("utf-8")
        written = text.removesuffix("\n").removesuffix("\r")
        return Line(number, written, None, text[len(written) :])
    except UnicodeDecodeError as error:
        bare = content.removesuffix(b"\n").removesuffix(b"\r")
        end = content[len(bare) :].decode("ascii")
        wrong = bare[error.start]
        problem = f"{NOT_UTF8}: byte {error.start + 1} of the line is 0x{wrong:02x} ({error.reason})"
        return Line(number, bare.decode("utf-8", errors="backslashreplace"), problem, end)


def encoding_of(first: bytes) -> tuple[str, int]:
    """The encoding that the first line indicates, and the length of its byte order mark."""
    for mark, encoding in _WIDE_MARKS:
        if first.startswith(mark):
            return encoding, len(mark)
    if first.startswith(codecs.BOM_UTF8):
        return "utf-8", len(codecs.BOM_UTF8)
    even, odd = first[::2].count(0), first[1::2].count(0)
    # Without a mark: every other byte of Latin letters is zero, and so is one beside the line end.
    if first.endswith(b"\n") and len(first) % 2 == 1 and even == 0 and odd * 4 > len(first):
        return "utf-16-le", 0
    if first.endswith(b"\0\n") and len(first) % 2 == 0 and odd == 0 and even * 4 > len(first):
        return "utf-16-be", 0
    return "utf-8", 0


def _wide_lines(contents: Iterator[bytes], encoding: str) -> Iterator[Line]:
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    name, number, pending, damage = encoding[:6].upper(), 0, "", None
    for content in contents:
        try:
            pending += decoder.decode(content)
        except UnicodeDecodeError as error:
            damage = f"is not {name} ({error.reason})"
            break
        *whole, pending = pending.split("\n")
        for text in whole:
            number += 1
            yield _wide_line(number, text, "\n", name)
    else:
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            damage = f"is not {name}: the file ends within a character"
    if damage:
        yield Line(number + 1, pending, damage, "")
    elif pending:
        yield _wide_line(number + 1, pending, "", name)


def _wide_line(number: int, text: str, end: str, name: str) -> Line:
    bare = text.removesuffix("\r")
    half = not bare.isascii() and any("\ud800" <= character <= "\udfff" for character in bare)
    problem = f"is not {name}: it has an unpaired surrogate" if half else None
    if half:
        return Line(number, bare.encode("utf-8", "backslashreplace").decode("utf-8"), problem, end)
    return Line(number, bare, problem, text[len(bare) :] + end)


def without_last_blank_lines(lines: Iterator[Line]) -> Iterator[Line]:
    """Drop blank lines at the end of a file. Blank lines between others may be significant."""
    blank: list[Line] = []
    for line in lines:
        if line.text:
            yield from blank
            blank.clear()
            yield line
        else:
            blank.append(line)
