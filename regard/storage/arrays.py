"""Arrays of numpy on disk, as `regard.storage.tensors` writes tensors; does not import torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from regard.storage.tensors import DIGEST, FORMAT, checked_metadata, refusing, write_signed


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Replace `path` atomically. The same arrays and metadata give the same bytes."""
    from safetensors.numpy import save

    write_signed(path, save(dict(arrays)), {FORMAT: "np", **metadata})


def read_arrays(path: Path, what: str, *, most: int) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The arrays and the metadata of a file of at most `most` bytes; raises an error if it is damaged.

    what   describes the content in messages
    """
    from safetensors.numpy import load_file

    metadata = checked_metadata(path, what, most=most)
    with refusing(path, what):
        if DIGEST not in metadata:
            raise ValueError("its digest is missing")
        return load_file(path), metadata
