"""Encoded rows on disk: written as a stream, moved into place atomically, memory-mapped when read."""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.digests import digests_of
from regard.data.ragged import Array
from regard.storage.files import FULL, cannot_write, claim, naming, read_json, still_at, sync

VERSION = 4
"""Version of the layout on disk. Caches of other versions are rebuilt."""
MANIFEST = "manifest.json"
TEMPORARY = ".regard-tmp-"
LEFTOVER = re.compile(r"\.[0-9a-f]{32}\.regard-tmp-.+")


def key_of(*parts: Any) -> str:
    """The name of a cache: a hash of everything that determines its content. `parts` must be JSON."""
    content = json.dumps([VERSION, *parts], sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def released(array: Array) -> None:
    """Release the memory of a mapped array; its pages are read again on demand.

    Pages of a mapped file stay in memory until the room is needed elsewhere: reading a text of 2 GB once would count as
    10 GB of this process.
    """
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` once everything has succeeded and is on disk.

    If two processes build the same cache, the first one wins. The result of the other, which is equal, is dropped.
    """
    with naming(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        temporary, handle = _create(folder)
    try:
        try:
            yield temporary
        except OSError as error:
            if error.errno in FULL:
                raise cannot_write(folder, error) from error
            raise
        with naming(folder):
            for path in [*temporary.iterdir(), temporary]:
                sync(path)
            _put_in_place(temporary, folder)
            sync(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(handle)


def _create(folder: Path) -> tuple[Path, int]:
    """A new temporary folder beside `folder`, open and locked. The lock tells it from what a killed process left."""
    while True:
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}{TEMPORARY}", dir=folder.parent))
        with suppress(FileNotFoundError):
            handle = os.open(temporary, os.O_RDONLY)
            if claim(handle) is not False and still_at(handle, temporary):
                return temporary, handle
            os.close(handle)  # another process took it for a leftover before it was locked


def _put_in_place(temporary: Path, folder: Path) -> None:
    for _ in range(10):
        try:
            os.rename(temporary, folder)
            return
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
        if read_manifest(folder) is not None:
            return  # another process was first
        # Damaged: moved aside by one rename, so that no process ever finds half of it.
        aside = temporary.with_name(f"{temporary.name}-damaged")
        try:
            os.rename(folder, aside)
        except FileNotFoundError:
            continue
        if aside.is_dir() and not aside.is_symlink():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.unlink()


def _sweep(parent: Path) -> None:
    """Remove the unfinished folders of killed processes."""
    for path in parent.glob(f".*{TEMPORARY}*"):
        if not LEFTOVER.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        if claim(handle):
            shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def write_manifest(folder: Path, content: dict[str, Any]) -> None:
    """Write the manifest, which is always the last file. It lists sizes and digests of all others, to detect damage."""
    paths = sorted(folder.iterdir())
    digests = digests_of(paths)
    files = {path.name: [path.stat().st_size, digest] for path, digest in zip(paths, digests, strict=True)}
    whole = {**content, "version": VERSION, "files": files}
    (folder / MANIFEST).write_text(json.dumps({**whole, "digest": _digest(whole)}), encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The content of the manifest, or None if the cache is absent, damaged or of another version. Reads every byte of
    the files."""
    try:
        content: dict[str, Any] = read_json(folder / MANIFEST)
        if content.pop("digest") != _digest(content) or content["version"] != VERSION:
            return None
        files = content["files"]
        if {path.name for path in folder.iterdir()} != {MANIFEST, *files}:
            return None
        if any((folder / name).stat().st_size != size for name, (size, _) in files.items()):
            return None
        whole = digests_of([folder / name for name in files]) == [digest for _, digest in files.values()]
        return content if whole and _ordered(folder) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _ordered(folder: Path) -> bool:
    """Whether the offsets ascend from 0 to the number of values."""
    for path in folder.glob("*.offsets"):
        offsets = np.fromfile(path, dtype=np.int64)
        if not len(offsets) or offsets[0] != 0 or bool((offsets[1:] < offsets[:-1]).any()):
            return False
        size = path.with_suffix(".values").stat().st_size
        if size % max(int(offsets[-1]), 1) or (size > 0) != (int(offsets[-1]) > 0):
            return False
    return True


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
