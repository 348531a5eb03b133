"""Digests of much content with all processors: of each part of it, and of these digests."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

PART = 1 << 18
"""Bytes of a part."""
IN_PARTS = "parts:"
ALONE = 64
"""Parts that one processor reads as fast as all."""


def digest_of(pieces: Iterable[bytes]) -> str:
    """The digest of some bytes, however they are cut into pieces: of few as `digest_in_one`, of more that of the
    digests of their parts, after `IN_PARTS`."""
    parts, whole, digests = _parts(pieces), hashlib.blake2b(digest_size=16), list[bytes]()
    for part in islice(parts, ALONE):
        whole.update(part)
        digests.append(_digest(part))
    if len(digests) < ALONE:
        return whole.hexdigest()
    threads, begun = _threads(), deque[Future[bytes]]()
    with ThreadPoolExecutor(threads) as pool:
        for part in parts:
            if len(begun) > threads:  # no more parts in memory than the threads need
                digests.append(begun.popleft().result())
            begun.append(pool.submit(_digest, part))
        digests += [one.result() for one in begun]
    return IN_PARTS + _together(digests, 16)


def digest_in_one(pieces: Iterable[bytes]) -> str:
    """The digest that versions up to 0.2.0 wrote of some bytes."""
    whole = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        whole.update(piece)
    return whole.hexdigest()


def digests_of(paths: Sequence[Path]) -> list[str]:
    """The digest of each of some files. Raises `ValueError` for what is no file."""
    parts: list[tuple[Path, int]] = []
    for path in paths:
        if path.is_symlink() or not path.is_file():
            raise ValueError(f"{path}: not a file")
        parts += [(path, begin) for begin in range(0, max(path.stat().st_size, 1), PART)]
    if len(parts) <= ALONE:
        found = [_digest_at(*part) for part in parts]
    else:
        with ThreadPoolExecutor(_threads()) as pool:
            found = list(pool.map(lambda part: _digest_at(*part), parts))
    by_path: dict[Path, list[bytes]] = {path: [] for path in paths}
    for (path, _), digest in zip(parts, found, strict=True):
        by_path[path].append(digest)
    return [_together(by_path[path], 32) for path in paths]


def _threads() -> int:
    able = getattr(os, "sched_getaffinity", None)
    return len(able(0)) if able is not None else os.cpu_count() or 1


def _parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in parts, all but the last of which are `PART` long."""
    rest = b""
    for piece in pieces:
        begin = min(PART - len(rest), len(piece)) if rest else 0
        rest += piece[:begin]
        if len(rest) == PART:
            yield rest
            rest = b""
        while len(piece) - begin >= PART:
            yield piece[begin : begin + PART]
            begin += PART
        rest += piece[begin:]
        del piece
    if rest:
        yield rest


def _digest_at(path: Path, begin: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        return _digest(file.read(PART))


def _digest(part: bytes) -> bytes:
    return hashlib.blake2b(part, digest_size=32).digest()


def _together(digests: Sequence[bytes], size: int) -> str:
    return hashlib.blake2b(b"".join(digests), digest_size=size).hexdigest()
