"""Encoded rows on disk: written as a stream, put in place whole, and mapped into memory when read."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike

from regard.data.ragged import Array, Ragged

VERSION = 1
"""Of the layout on disk: caches written by any other are built again."""
MANIFEST = "manifest.json"
WAITING_ROWS, WAITING_BYTES = 4096, 1 << 18
"""How much a writer gathers before it writes."""


def key_of(*parts: Any) -> str:
    """A name for what a cache is made from; `parts` are JSON."""
    content = json.dumps([VERSION, *parts], sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class RaggedWriter:
    """Rows appended one by one to two files, or to memory where there is no folder."""

    def __init__(self, folder: Path | None, name: str, dtype: DTypeLike) -> None:
        self.folder, self.name, self.dtype = folder, name, np.dtype(dtype)
        self._values, self._offsets = self._sink("values"), self._sink("offsets")
        self._waiting: list[bytes] = []
        self._waiting_bytes = self._total = 0
        self._offsets.write(np.int64(0).tobytes())

    def _sink(self, part: str) -> IO[bytes]:
        return io.BytesIO() if self.folder is None else (self.folder / f"{self.name}.{part}").open("wb")

    def append(self, row: Array | np.generic) -> None:
        self.append_bytes(np.asarray(row, dtype=self.dtype).tobytes())

    def append_bytes(self, content: bytes) -> None:
        self._waiting.append(content)
        self._waiting_bytes += len(content)
        if self._waiting_bytes >= WAITING_BYTES or len(self._waiting) >= WAITING_ROWS:
            self._flush()

    def _flush(self) -> None:
        lengths = np.array([len(content) for content in self._waiting], dtype=np.int64) // self.dtype.itemsize
        self._values.write(b"".join(self._waiting))
        self._offsets.write((self._total + np.cumsum(lengths)).tobytes())
        self._total += int(lengths.sum())
        self._waiting.clear()
        self._waiting_bytes = 0

    def finish(self) -> Ragged:
        self._flush()
        if self.folder is None:
            contents = [
                sink.getvalue() for sink in (self._values, self._offsets) if isinstance(sink, io.BytesIO)
            ]
            return Ragged(
                np.frombuffer(contents[0], dtype=self.dtype), np.frombuffer(contents[1], dtype=np.int64)
            )
        self.close()
        return mapped(self.folder, self.name, self.dtype)

    def close(self) -> None:
        self._values.close()
        self._offsets.close()


def mapped(folder: Path, name: str, dtype: Any) -> Ragged:
    """The rows a `RaggedWriter` left, mapped; they survive the renaming of their folder."""

    def array(part: str, kind: Any) -> Array:
        path = folder / f"{name}.{part}"
        if path.stat().st_size == 0:
            return np.zeros(0, dtype=kind)
        # The plain view is much faster to index than the memmap itself.
        return np.memmap(path, dtype=kind, mode="r").view(np.ndarray)

    return Ragged(array("values", dtype), array("offsets", np.int64))


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when all went well.

    Of two processes that build the same at once the first wins, and the other's work, which is equal, is dropped.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield temporary
        if folder.exists() and read_manifest(folder) is None:
            shutil.rmtree(folder)
        try:
            os.rename(temporary, folder)
        except OSError:
            if read_manifest(folder) is None:
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_manifest(folder: Path, content: dict[str, Any]) -> None:
    """The last file written: it lists the sizes of all others, so that a damaged cache is noticed."""
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(
        json.dumps({**content, "version": VERSION, "sizes": sizes}), encoding="utf-8"
    )


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """What `write_manifest` wrote, or None where the cache is absent, damaged or of another version."""
    try:
        content: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in content["sizes"].items())
        return content if whole and content["version"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
