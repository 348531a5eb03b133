"""The content of a value: a data URI, a file, or a member of a zip archive, named like a file in a folder."""

from __future__ import annotations

import base64
import binascii
import lzma
import os
import struct
import threading
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes

from regard.data.readers.files import inside
from regard.errors import RegardError
from regard.storage.files import read_bytes

DATA = "data:"
MOST_BYTES = 1 << 29
"""Maximum size of one image, video or audio file."""
DAMAGE = (
    OSError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    EOFError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""Exceptions that a damaged or mislabeled file makes its reader raise."""


class Unreadable(RegardError):
    """A value whose content cannot be used.

    reason   follows the name of the field in messages: "names 'a.png', which is empty"
    """

    def __init__(self, reason: str, *, where: str = "") -> None:
        self.reason = reason
        super().__init__(f"{reason}.", where=where)


def is_data(value: str) -> bool:
    """Whether the value is the content itself, as a data URI."""
    return value.startswith(DATA)


def shown(value: str) -> str:
    """How messages refer to the value, after the name of its field: names 'a.png' · is a data URI of image/png."""
    if not is_data(value):
        return f"names {value!r}"
    return f"is a data URI of {value[len(DATA) :].partition(',')[0].partition(';')[0] or 'no type'}"


def data_uri(content: bytes, kind: str) -> str:
    """The content as a data URI; kind: its media type, such as image/png."""
    return f"{DATA}{kind};base64,{base64.b64encode(content).decode('ascii')}"


def data_content(value: str) -> bytes:
    """The content of a data URI."""
    head, comma, body = value.partition(",")
    if not comma:
        raise Unreadable(f"{shown(value)} without a comma before its content")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise Unreadable(f"{shown(value)} whose content is not base64 ({error})") from None


class Contents:
    """Reads the files that values name, from any thread. Archives are opened once and stay open."""

    def __init__(self) -> None:
        self._archives: dict[tuple[str, int, int], zipfile.ZipFile] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Contents], tuple[()]]:
        """A copy opens its archives anew."""
        return Contents, ()

    def find(self, value: str, folders: Sequence[str | Path]) -> str:
        """An absolute path, in the first of the folders that contains the file; in the first folder if none does."""
        if is_data(value) or os.path.isabs(value):
            return value
        paths = [os.path.abspath(os.path.join(folder, value)) for folder in folders]
        return next((path for path in paths if self.has(path)), paths[0])

    def has(self, path: str) -> bool:
        if os.path.exists(path):
            return True
        archive, member = inside(path)
        return bool(archive) and member in self._archive(archive).NameToInfo

    def read(self, value: str) -> bytes:
        """The bytes; raises `Unreadable` if there are none."""
        content = data_content(value) if is_data(value) else self._file(value)
        if not content:
            raise Unreadable(f"{shown(value)}, which is empty (0 bytes)")
        return content

    def stamp(self, value: str) -> str:
        """A text that changes with the content: size and time of the file. A data URI needs none: its value is its
        content."""
        if is_data(value):
            return ""
        archive, _ = inside(value)
        try:
            state = os.stat(archive or value)
        except (OSError, ValueError):
            return "missing"
        return f"{state.st_size} {state.st_mtime_ns}"

    def _file(self, path: str) -> bytes:
        archive, member = inside(path)
        try:
            if archive:
                return _member(self._archive(archive), member)
            return read_bytes(Path(path), most=MOST_BYTES)
        except (FileNotFoundError, KeyError):
            raise Unreadable(f"{shown(path)}, but there is no such file") from None
        except IsADirectoryError:
            raise Unreadable(f"{shown(path)}, which is a folder, expected a file") from None
        except DAMAGE as error:
            reason = getattr(error, "strerror", None) or error
            raise Unreadable(f"{shown(path)}, which cannot be read ({reason})") from error

    def _archive(self, path: str) -> zipfile.ZipFile:
        state = os.stat(path)
        key = path, state.st_size, state.st_mtime_ns
        with self._lock:
            if key not in self._archives:
                try:
                    self._archives[key] = zipfile.ZipFile(path)
                except DAMAGE as error:
                    raise RegardError(
                        f"the archive cannot be read ({error}).",
                        where=path,
                        fix="Download it or create it again.",
                    ) from error
            return self._archives[key]


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a member. Its size is checked first, because a small archive can hold a member of any size."""
    size = archive.getinfo(name).file_size
    if size > MOST_BYTES:
        raise ValueError(f"it has {size:,} bytes, at most {MOST_BYTES:,} are read")
    return archive.read(name)
