"""Files written atomically, and files that one process holds.

If a process is killed at any moment, the old file or the new one remains. Content is written to a temporary file in the
same folder, flushed to disk, and renamed to its final name. Temporary files have distinctive names and are locked while
they are written, so that leftovers of killed processes can be distinguished from files in use and from the user's.

A lock is released when its process ends in any way: the operating system keeps it (`filelock`: flock, or LockFileEx on
Windows), so a killed process leaves none behind. The file of the lock may remain, and the next lock uses it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shlex
import socket
import stat
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.errors import OPEN, Message, Option, RegardError

URL = re.compile(r"([a-z][a-z0-9.+-]+):/{1,2}(?=[^/])", re.IGNORECASE)
"""The beginning of a URL; of s3:/bucket/key too, as a `Path` writes it."""
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.regard-tmp")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
SYSTEM = ("/dev/fd", "/proc", "/sys")
LARGEST = 1 << 28
"""Maximum size in bytes of a file that is read whole: vocabularies, specs, figures. Known ones have 10 MB."""
LONGEST_NAME = (
    50  # characters that a temporary file takes from the name of its target: names have at most 255 bytes
)


def is_remote(name: str | Path) -> bool:
    """Whether this is a URL."""
    return URL.match(str(name)) is not None


def cache_folder() -> Path:
    """$REGARD_CACHE, else the folder `regard` in the user's cache folder."""
    if "REGARD_CACHE" in os.environ:
        return Path(os.environ["REGARD_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def check_apart(written: Mapping[str, Path | None], read: Iterable[str | Path | None]) -> None:
    """Refuse to overwrite a file that the same command reads, which may be the only copy.

    written   {option: the file it names}
    read      files; a text may contain several, joined by +, as in the splits of a spec
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
                "this command reads this file and would overwrite it.",
                where=f"{option} {path}",
                fix="Choose another file name.",
            )


def _are_one(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them does not exist
        return False


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)


def read_bytes(path: Path, *, most: int = LARGEST) -> bytes:
    """The content of a regular file of at most `most` bytes; raises OSError or ValueError for anything else.

    Devices, pipes and huge files are not read: they would never end, or fill the memory.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise ValueError("it is not a regular file")
        if state.st_size > most:
            raise ValueError(f"it has {state.st_size:,} bytes, at most {most:,} are allowed")
        return file.read()


def read_json(path: Path) -> Any:
    """The content of a JSON file; raises a ValueError with a one-line reason if it is not JSON."""
    try:
        return json.loads(read_bytes(path).decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file to fill. It replaces `path` at the end, or is removed if an exception is raised."""
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
            raise  # an error of a file that was read names that file
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
    """Turn an OSError raised inside into an error that names the file, the reason and the remedy."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


def sweep(folder: Path) -> None:
    """Remove temporary files that killed processes left in this folder, and nothing else."""
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
        except OSError:  # removed in the meantime, or owned by another user
            continue
        if claim(handle) and still_at(handle, leftover):
            leftover.unlink(missing_ok=True)
        os.close(handle)


def _check_replaceable(path: Path) -> None:
    """Refuse to replace a device, a pipe or a folder by a file: `-o /dev/null` must not remove /dev/null."""
    special = os.path.exists(path) and not os.path.isfile(path)
    folder = os.path.realpath(path.parent)
    if special or folder == "/dev" or folder.startswith(SYSTEM):
        raise RegardError(
            "a file cannot be written here: this is a device, a pipe or a system path."
            if not os.path.isdir(path)
            else "this is a folder, expected a file.",
            where=str(path),
            fix="Name a file. To print to the terminal or into a pipe, leave the name out.",
        )


def _create(path: Path) -> tuple[int, Path]:
    """A new temporary file beside `path`, open and locked, with permissions according to the umask."""
    while True:
        name = f".{path.name[:LONGEST_NAME]}.{secrets.token_hex(4)}.regard-tmp"
        temporary = path.with_name(name)
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if claim(handle) is not False and still_at(handle, temporary):
            return handle, temporary
        os.close(handle)  # another process took it for a leftover before it was locked


def sync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    if os.name == "nt":
        return  # Windows cannot flush folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reading_remedy(error: Exception, path: Path, otherwise: str) -> str:
    """The remedy for a file that cannot be read: permission, if that is missing, or else `otherwise`."""
    if isinstance(error, OSError) and error.errno in FORBIDDEN:
        return f"Change its permissions: chmod u+r {shlex.quote(str(path))}"
    return otherwise


def cannot_write(path: Path, error: OSError) -> RegardError:
    fix = ""
    if error.errno in FULL:
        fix = "Free some space on this disk, or choose a folder on another one."
    elif error.errno in FORBIDDEN:
        fix = "Choose a folder that you may write to."
    elif error.errno in (errno.ENOTDIR, errno.EEXIST):
        file = next((part for part in path.parents if part.is_file()), None)
        fix = f"{file} is a file; choose another folder." if file is not None else "Choose another folder."
    return RegardError(f"the file could not be written: {error.strerror or error}.", where=str(path), fix=fix)


class Folder:
    """A folder as it is now, to find out later whether its path still leads to it."""

    def __init__(self, path: Path) -> None:
        self.path, self.status = path, path.stat()

    def stands(self) -> bool:
        try:
            return os.path.samestat(self.status, self.path.stat())
        except OSError:
            return False


class Lock:
    """An exclusive lock on a folder, held from its creation until `release`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.path = folder, folder / name
        handle = self._take()
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        self.release = weakref.finalize(self, _release, handle, self.path, os.getpid())

    def _take(self) -> int:
        while True:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            if take(handle) is False:
                holder = b""
                with suppress(OSError):  # Windows: what is locked cannot be read either
                    holder = os.read(handle, 1000)
                os.close(handle)
                raise self._refusal(holder)
            if still_at(handle, self.path):
                return handle
            os.close(handle)  # its last holder removed it before we locked it

    def _refusal(self, written: bytes) -> RegardError:
        try:
            holder: dict[str, Any] = json.loads(written)
            pid, host = int(holder["pid"]), str(holder["host"])
        except (ValueError, KeyError, TypeError):  # the holder has not written its name yet
            pid, host = 0, ""
        if (pid, host) == (os.getpid(), socket.gethostname()):
            return RegardError(
                "this process already uses this run.",
                where=str(self.folder),
                fix="Train the `Experiment` that holds it, or call its `close()`.",
            )
        name = f" (process {pid} on {host})" if pid else ""
        return RegardError(
            f"this run is being trained by another process{name}.",
            where=str(self.folder),
            fix=Message("Wait until it ends, or choose another folder with `", Option("run", OPEN), "`."),
        )


def take(handle: int) -> bool | None:
    """Lock an open file: True on success, False if another process holds it, None if there are no locks."""
    from filelock import lock_descriptor  # 30 ms, and most commands lock nothing

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError:
        return None


def claim(handle: int) -> bool | None:
    """`take` of a file or folder that others write while it is locked, which Windows forbids: there it is never
    locked."""
    return None if os.name == "nt" else take(handle)


def still_at(handle: int, path: Path) -> bool:
    """Whether `path` still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _release(handle: int, path: Path, owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork must not release the lock of its parent
    with suppress(OSError):  # the file may remain: closing it releases the lock
        if still_at(handle, path):
            path.unlink(missing_ok=True)
    os.close(handle)
