"""Normalising and ranking many rows of logits: what each step of a search asks of a large vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from regard.nn.fused.mathematics import exponential
from regard.structures.kernels.cpu.compilation import compiled

Array = Any
_fast = njit(fastmath=True, error_model="numpy", nogil=True)
BLOCK = 32


@_fast  # type: ignore[untyped-decorator]
def _highest(row: Array) -> Any:
    highest = row[0]
    for j in range(len(row)):
        highest = max(highest, row[j])
    return highest


@_fast  # type: ignore[untyped-decorator]
def _summed(row: Array, highest: Any) -> Any:
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += exponential(row[j] - highest)
    return total


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _has_nan(row: Array) -> Any:
    found = False
    for j in range(len(row)):
        found |= row[j] != row[j]
    return found


def _normalise(logits: Array, out: Array) -> None:
    for i in prange(len(logits)):
        highest = _highest(logits[i])
        out[i] = highest + np.log(_summed(logits[i], highest))
        if highest == -np.inf or highest == np.inf:
            out[i] = highest
        if _has_nan(logits[i]):
            out[i] = np.nan


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _insert(value: Any, word: int, values: Array, words: Array) -> None:
    """Keeps the row of best values in order; among equals the earlier word stays before the later."""
    place = len(values) - 1
    while place > 0 and values[place - 1] < value:
        values[place], words[place] = values[place - 1], words[place - 1]
        place -= 1
    values[place], words[place] = value, word


def _top(logits: Array, values: Array, words: Array) -> None:
    """The best of each row, by blocks: a block whose highest is not among the best so far is passed over whole."""
    vocabulary = logits.shape[1]
    for i in prange(len(logits)):
        best, names = values[i], words[i]
        best[:] = -np.inf
        names[:] = 0
        for low in range(0, vocabulary, BLOCK):
            block = logits[i, low : min(low + BLOCK, vocabulary)]
            if _highest(block) > best[-1]:
                for j in range(len(block)):
                    if block[j] > best[-1]:
                        _insert(block[j], low + j, best, names)


_normalise_rows = compiled(_normalise, parallel=True, nogil=True, error_model="numpy")
_top_rows = compiled(_top, parallel=True, nogil=True, error_model="numpy")


def normalisers(logits: Tensor) -> Tensor:
    """log Σ exp over the last dimension, (…, V) → (…); −inf where all are −inf, NaN or inf where one is."""
    rows = logits.reshape(-1, logits.shape[-1]).contiguous()
    out = rows.new_empty(len(rows))
    _normalise_rows(rows.numpy(), out.numpy())
    return out.view(logits.shape[:-1])


def top(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest of the last dimension, highest first, and where they are; −inf and 0 where all are −inf."""
    rows = logits.reshape(-1, logits.shape[-1]).contiguous()
    values, words = rows.new_empty(len(rows), count), torch.empty(len(rows), count, dtype=torch.int64)
    _top_rows(rows.numpy(), values.numpy(), words.numpy())
    shape = (*logits.shape[:-1], count)
    return values.view(shape), words.view(shape)
