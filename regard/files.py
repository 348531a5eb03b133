"""Files written atomically: a reader, or a process killed at any moment, leaves the old file or the new one.

Everything goes to a temporary file in the same folder, to the disk, and then by one rename to its name. Temporary
files have names of our own and are locked while they are written, so that those a killed process left behind can be
told from those in use, and from the user's.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.lock import still_at, take

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.regard-tmp")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
SYSTEM = ("/dev/fd", "/proc", "/sys")
LARGEST = 1 << 28
"""Bytes of a file that is read as a whole: vocabularies, specs, figures. The largest we know has some 10 MB."""
LONGEST_NAME = (
    50  # of the characters that a temporary file takes from its target: names have at most 255 bytes
)


def check_apart(written: Mapping[str, Path | None], read: Iterable[str | Path | None]) -> None:
    """Refuse to write over a file that the same command reads: it may be the only one.

    written   {the option that names it: the file}
    read      files; several in one text are joined by +, as the splits of a spec are
    """
    given = [
        Path(part).expanduser()
        for one in read
        if one is not None
        for part in (str(one), *str(one).split("+"))
    ]
    for option, path in written.items():
        if path is not None and any(_are_one(path.expanduser(), other) for other in given):
            raise RegardError(
                "this command reads the file, and would write over it.",
                where=f"{option} {path}",
                fix="Choose another name.",
            )


def _are_one(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return False


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)


def read_bytes(path: Path, *, most: int = LARGEST) -> bytes:
    """The content of a regular file of at most `most` bytes; an OSError or a ValueError says what else it is.

    Nothing is read of devices, pipes and files of unreasonable size, which would never end or fill the memory.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise ValueError("it is no regular file")
        if state.st_size > most:
            raise ValueError(f"it has {state.st_size:,} bytes, at most {most:,} are read")
        return file.read()


def read_json(path: Path) -> Any:
    """What a JSON file holds; where it holds none, a ValueError says why in one line."""
    try:
        return json.loads(read_bytes(path).decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file to fill, which becomes `path` at the end, or is removed when something is raised inside."""
    _check_replaceable(path)
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        handle, temporary = _create(path)
    try:
        try:
            yield temporary
        except OSError as error:
            if error.errno in FULL or error.filename == str(temporary):
                raise cannot_write(path, error) from error
            raise  # what was read while this was written is named by its own error
        with naming(path):
            os.fsync(handle)
            os.replace(temporary, path)
            sync(path.parent)
    finally:
        if still_at(handle, temporary):
            temporary.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError raised inside says which file could not be written, why, and what to do."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed processes left in this folder, and nothing else."""
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        leftovers = [
            Path(entry.path)
            for entry in entries
            if TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
        ]
    for leftover in leftovers:
        try:
            handle = os.open(leftover, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except OSError:  # removed meanwhile, or another user's
            continue
        if take(handle) and still_at(handle, leftover):
            leftover.unlink(missing_ok=True)
        os.close(handle)


def _check_replaceable(path: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe or a folder: `-o /dev/null` must not remove /dev/null."""
    special = os.path.exists(path) and not os.path.isfile(path)
    folder = os.path.realpath(path.parent)
    if special or folder == "/dev" or folder.startswith(SYSTEM):
        raise RegardError(
            "this is no place for a file."
            if not os.path.isdir(path)
            else "this is a folder, expected a file.",
            where=str(path),
            fix="Name a file. To print to the terminal or into a pipe, leave the name out.",
        )


def _create(path: Path) -> tuple[int, Path]:
    """A new temporary file beside `path`, open and locked; the umask decides who may read it."""
    while True:
        name = f".{path.name[:LONGEST_NAME]}.{secrets.token_hex(4)}.regard-tmp"
        temporary = path.with_name(name)
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        take(handle)
        if still_at(handle, temporary):
            return handle, temporary
        os.close(handle)  # another process swept it before it was locked


def sync(path: Path) -> None:
    """A file or a folder as it is now, to the disk."""
    if os.name == "nt":
        return  # Windows has no handle of a folder to flush
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cannot_write(path: Path, error: OSError) -> RegardError:
    fix = ""
    if error.errno in FULL:
        fix = "Free some space on this disk, or choose a folder on another one."
    elif error.errno in FORBIDDEN:
        fix = "Choose a folder that you may write to."
    return RegardError(f"the file could not be written: {error.strerror or error}.", where=str(path), fix=fix)
