"""Tensors on disk: safetensors files with a digest of their content, checked when the tensors are read.

The digest is in the header of the file, not in a separate list: one rename makes tensors and digest valid
together, so a process killed at any moment never leaves a complete file with the digest of another. The
digest covers the names, dtypes and shapes, the other metadata and every byte of the tensors. Files without a
digest, from earlier versions or other programs, are read without a check.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.storage.files import reading_remedy, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

DIGEST, FORMAT, VALUES, VERSION = "digest", "format", "values", "regard"
LONGEST_HEADER = 100_000_000  # bytes; the limit of safetensors
BEFORE_DIGESTS: tuple[set[str], ...] = (set(), {FORMAT}, {VALUES})
"""The metadata keys of files from earlier versions or from `safetensors.save_file`."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Replace `path` atomically. The same tensors and metadata give the same bytes."""
    from safetensors.torch import save

    write_signed(path, save(dict(tensors)), {FORMAT: "pt", **metadata})


def write_signed(path: Path, saved: bytes, metadata: Mapping[str, str]) -> None:
    """Replace `path` atomically with the content of a safetensors file, to which metadata and the digest are added."""
    content = memoryview(saved)
    length = int.from_bytes(content[:8], "little")
    data = content[8 + length :]
    listed = json.loads(bytes(content[8 : 8 + length]))
    entries = {**metadata, DIGEST: ""}
    digest = _digest(_header(entries, listed), data)
    header = _header({**entries, DIGEST: digest}, listed)
    header += b" " * (-len(header) % 8)  # the data must begin at a multiple of 8
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        file.write(data)


@dataclass(frozen=True)
class Header:
    """The header of a file.

    metadata   {name: text}
    shapes     {name of a tensor: shape}
    """

    metadata: dict[str, str]
    shapes: dict[str, tuple[int, ...]]


def read_header(path: Path, what: str) -> Header:
    """Read only the header; `what` describes the content in messages."""
    with refusing(path, what), _mapped(path) as content:
        _, header = _parted(content)
        return header


def read_tensors(path: Path, what: str, *, own: bool = True) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata; raises an error if the digest does not match the content.

    own   False: the file is from another program and may have any metadata
    """
    from safetensors.torch import load_file

    metadata = checked_metadata(path, what, own=own)
    with refusing(path, what):
        return load_file(path), metadata


def checked_metadata(path: Path, what: str, *, own: bool = True, most: int | None = None) -> dict[str, str]:
    """The metadata of a file whose digest matches its content, of at most `most` bytes; `own` as in `read_tensors`."""
    with refusing(path, what), _mapped(path) as content:
        if most is not None and len(content) > most:
            raise ValueError(f"it has {len(content):,} bytes, at most {most:,} are allowed")
        raw, header = _parted(content)
        with memoryview(content) as whole, whole[8 + len(raw) :] as data:
            _check(path, what, raw, header.metadata, data, own=own)
        return header.metadata


def first_not_finite(tensors: Iterable[tuple[str, Tensor]]) -> str | None:
    """The name of the first tensor with NaN or infinite values."""
    for name, tensor in tensors:
        if not tensor.is_floating_point() or bool(tensor.sum().isfinite()):
            continue  # a finite sum has finite terms, and is quick
        if not bool(tensor.isfinite().all()):
            return name
    return None


def _check(
    path: Path, what: str, raw: bytes, metadata: Mapping[str, str], data: memoryview, *, own: bool
) -> None:
    if DIGEST in metadata:
        said = metadata[DIGEST]
        if said != _digest(raw.rstrip(b" ").replace(said.encode(), b"", 1), data):
            raise ValueError("its content does not match its digest: it was damaged or changed")
    elif own and VERSION in metadata:
        # Such models load and give other answers: defaults and initial states have changed since.
        raise RegardError(
            f"{what} cannot be read: regard {metadata[VERSION]} wrote them before files had digests, and this "
            "version would answer differently.",
            where=str(path),
            fix="Train the model again, or use the version that wrote it.",
        )
    elif own and set(metadata) not in BEFORE_DIGESTS:
        raise ValueError("its digest is missing")


def _header(metadata: Mapping[str, str], listed: Mapping[str, Any]) -> bytes:
    return json.dumps({"__metadata__": metadata, **listed}, separators=(",", ":")).encode()


def _digest(header: bytes, data: memoryview) -> str:
    """The digest of a header with an empty digest entry, and the data."""
    digest = hashlib.sha256(header)
    digest.update(data)
    return f"sha256:{digest.hexdigest()}"


def _parted(content: mmap.mmap) -> tuple[bytes, Header]:
    """The header, as bytes and parsed."""
    length = int.from_bytes(content[:8], "little")
    if length > min(LONGEST_HEADER, len(content) - 8):
        raise ValueError("its header is cut off")
    raw = content[8 : 8 + length]
    listed = json.loads(raw)
    metadata = {str(name): str(text) for name, text in listed.pop("__metadata__", {}).items()}
    ends = max((int(one["data_offsets"][1]) for one in listed.values()), default=0)
    if 8 + length + ends != len(content):  # checked before gigabytes are read for the digest
        raise ValueError("it is longer or shorter than its header says")
    return raw, Header(metadata, {name: tuple(map(int, one["shape"])) for name, one in listed.items()})


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        with mmap.mmap(handle, 0, access=mmap.ACCESS_READ) as content:
            yield content
    finally:
        os.close(handle)


@contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Turn all exceptions from reading a damaged file into one error."""
    from safetensors import SafetensorError

    try:
        yield
    except (
        OSError,
        SafetensorError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        if isinstance(error, RegardError):
            raise
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RegardError(
            f"{what} cannot be read: {reason}.",
            where=str(path),
            fix=reading_remedy(error, path, "Copy the file again from an intact copy."),
        ) from None
