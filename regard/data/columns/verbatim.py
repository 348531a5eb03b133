"""Pieces as written in the texts, with keys that identify equal pieces in any column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import Verbatim
from regard.data.ragged import Ragged


@lru_cache(maxsize=1 << 17)
def piece_key(piece: str) -> int:
    """A 63-bit hash, never 0. Two different pieces collide with a probability of 1 in 9 · 10¹⁸."""
    digest = blake2b(piece.encode("utf-8", errors="surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest) >> 1) or 1


def piece_keys(pieces: Iterable[str]) -> Tensor:
    """(N) int64."""
    return torch.tensor([piece_key(piece) for piece in pieces], dtype=torch.int64)


def verbatim(rows: Sequence[Sequence[str]]) -> Verbatim:
    """The pieces of the rows of a batch, and their padded keys."""
    keys = Ragged.of([np.array([piece_key(piece) for piece in row], dtype=np.int64) for row in rows])
    return Verbatim(torch.from_numpy(keys.padded()), tuple(tuple(row) for row in rows))
