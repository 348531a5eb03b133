"""Files written atomically: a reader, or a process killed at any moment, leaves the old file or the new one.

Everything goes to a temporary file in the same folder, to the disk, and then by one rename to its name. Temporary
files have names of our own and are locked while they are written, so that those a killed process left behind can be
told from those in use, and from the user's.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.lock import still_at, take

if TYPE_CHECKING:
    from torch import Tensor

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.regard-tmp")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
LONGEST_NAME = (
    50  # of the characters that a temporary file takes from its target: names have at most 255 bytes
)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: tuple[str, str]) -> None:
    """A safetensors file; the same tensors give the same bytes.

    One entry of metadata, because safetensors writes several in random order. The file is made in memory, because
    `save_file` writes a temporary file of its own, which it leaves behind when killed.
    """
    from safetensors.torch import save

    write_bytes(path, save(dict(tensors), metadata=dict([metadata])))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file to fill, which becomes `path` at the end, or is removed when something is raised inside."""
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        handle, temporary = _create(path)
    try:
        try:
            yield temporary
        except OSError as error:
            if error.errno in FULL or error.filename == str(temporary):
                raise _cannot_write(path, error) from error
            raise  # what was read while this was written is named by its own error
        with naming(path):
            os.fsync(handle)
            os.replace(temporary, path)
            _sync_folder(path.parent)
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
        raise _cannot_write(path, error) from error


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


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no handle of a folder to flush
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot_write(path: Path, error: OSError) -> RegardError:
    fix = ""
    if error.errno in FULL:
        fix = "Free some space on this disk, or choose a folder on another one."
    elif error.errno in FORBIDDEN:
        fix = "Choose a folder that you may write to."
    return RegardError(f"the file could not be written: {error.strerror or error}.", where=str(path), fix=fix)
