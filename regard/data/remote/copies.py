"""Copies of remote files in the cache: fetched once, named by their digest, fetched anew when the file changes.

    remote/KEY.json         of a URL: its stamp (size, time, ETag) and the digest of its content
    remote/DIGEST/NAME      the content

A copy is written beside its place, hashed, and moved there at the end: no process ever sees half of it. Processes that
want the same URL wait for the first of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.data.remote.names import cause, file_name, url_of
from regard.data.remote.systems import Files, Stamp, files_of
from regard.errors import RegardError
from regard.reporting.terminal import say, tell
from regard.storage.files import cache_folder, naming, read_json, replacing, write_text

FRESH = 30.0
"""Seconds for which a process does not ask again whether a file has changed."""
PIECE = 1 << 20
_known: dict[tuple[str, str], tuple[float, Path]] = {}
"""The copies that this process has checked: when, and where they are."""


def cached_copy(name: str | Path) -> Path:
    """The local copy of a remote file."""
    url = url_of(name)
    folder = cache_folder() / "remote"
    then, path = _known.get((str(folder), url), (-FRESH, folder))
    if time.monotonic() - then < FRESH and path.is_file():
        return path
    path = _fetched(url, folder)
    _known[str(folder), url] = time.monotonic(), path
    return path


def matching(pattern: str | Path) -> dict[str, int]:
    """The URLs that match a pattern with *, in order, with their sizes in bytes."""
    url = url_of(pattern)
    with _explained(url):
        return files_of(url).glob(url)


def size_of(name: str | Path) -> int:
    """The size of a remote file in bytes."""
    url = url_of(name)
    with _explained(url):
        return int(files_of(url).stamp(url).get("size", 0))


def _fetched(url: str, folder: Path) -> Path:
    key = hashlib.blake2b(url.encode(), digest_size=16).hexdigest()
    entry = folder / f"{key}.json"
    try:
        files = files_of(url)
        stamp = files.stamp(url)
    except Exception as error:  # of the operating system, of a server, or of a library that talks to it
        kept = None if _is_final(error) else _kept(entry, folder)
        if kept is None:
            raise _refusal(error, url) from None
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.stat().st_mtime))
        say(f"{url} cannot be reached ({cause(error, url)}); the copy of {when} is used.", error=True)
        return kept
    with _locked(folder, key):
        kept = _kept(entry, folder, stamp)
        return kept if kept is not None else _fetch(url, files, stamp, entry, folder)


def _kept(entry: Path, folder: Path, stamp: Stamp | None = None) -> Path | None:
    """The copy that an entry of the cache names, if it is whole and its file has this stamp."""
    try:
        content: dict[str, Any] = read_json(entry)
        path = folder / str(content["digest"]) / str(content["name"])
        whole = path.is_file() and path.stat().st_size == content["size"]
        return path if whole and (stamp is None or content["stamp"] == stamp) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _fetch(url: str, files: Files, stamp: Stamp, entry: Path, folder: Path) -> Path:
    name, digest, size = file_name(url), hashlib.blake2b(digest_size=16), 0
    whole = int(stamp.get("size", 0))
    waiting = folder / f"{entry.stem}.fetched"
    with _explained(url), replacing(waiting) as temporary:
        with files.open(url) as source, temporary.open("wb") as target:
            while piece := source.read(PIECE):
                digest.update(piece)
                target.write(piece)
                size += len(piece)
                tell("fetching", name, min(size / whole, 1.0) if whole else 0.0)
        if "size" in stamp and size != whole:
            raise OSError(f"{size:,} of {whole:,} bytes came")
    path = folder / digest.hexdigest() / name
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(waiting, path)
    known = {"url": url, "stamp": stamp, "digest": path.parent.name, "name": name, "size": size}
    write_text(entry, json.dumps(known, ensure_ascii=False) + "\n")
    return path


@contextmanager
def _locked(folder: Path, key: str) -> Iterator[None]:
    from filelock import FileLock

    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{key}.lock")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except RegardError:
        raise
    except Exception as error:
        raise _refusal(error, url) from None


def _is_final(error: Exception) -> bool:
    """Whether the network works, and the file is not there for us."""
    return isinstance(error, FileNotFoundError | RegardError) or _is_forbidden(error)


def _is_forbidden(error: Exception) -> bool:
    text = str(error)
    signs = (
        "ACCESS_DENIED",
        "InvalidAccessKey",
        "INVALID_ACCESS_KEY",
        "SIGNATURE",
        "Forbidden",
        "HTTP status 403",
    )
    return isinstance(error, PermissionError) or any(sign in text for sign in signs)


def _refusal(error: Exception, url: str) -> RegardError:
    if isinstance(error, RegardError):
        return error
    scheme = url.partition(":")[0]
    if isinstance(error, FileNotFoundError):
        return RegardError("there is no such file.", where=url, fix="Correct the name.")
    if _is_forbidden(error):
        where = {"s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "hf": "HF_TOKEN", "https": "~/.netrc"}
        return RegardError(
            f"access was refused ({cause(error, url)}).",
            where=url,
            fix=f"Check your credentials ({where.get(scheme, 'in the environment')}) and your rights to the file.",
        )
    return RegardError(
        f"the file cannot be fetched ({cause(error, url)}), and the cache holds no copy of it.",
        where=url,
        fix="Check the network and the name, or download the file and name the copy.",
    )
