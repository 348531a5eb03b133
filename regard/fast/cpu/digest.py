# mypy: disable-error-code="no-any-return, attr-defined, call-arg, var-annotated"
"""Digests of weights: whether their numbers have changed. The version counter of a tensor does not count changes
through `data` or numpy, so the numbers are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, types
from numba.extending import intrinsic
from torch import Tensor

from regard.structures.kernels.cpu.compilation import kernel, native, part
from regard.structures.kernels.cpu.parallel import begin_behind, end_behind

Array = Any


BLOCK = 2**20
"""Bytes of a weight that have a sum of their own, so that threads can share the work."""


class WeightPlaces(NamedTuple):
    """Where the numbers of some weights lie, in blocks: addresses (n) and bytes (n). Weights must be contiguous."""

    addresses: Array
    sizes: Array

    def share(self, part: int, parts: int) -> slice:
        """The blocks of one of several parts, which have about as many bytes each."""
        before = np.cumsum(self.sizes) - self.sizes
        first, end = np.searchsorted(before, np.array([part, part + 1]) * self.sizes.sum() / parts)
        return slice(int(first), int(end))


@intrinsic
def _pointer(typing: Any, address: Any, word: Any) -> Any:
    """A pointer to words of the type of `word`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(word.bitwidth).as_pointer())

    return types.CPointer(word)(address, word), generate


@part
def _weighted_sum(words: Array) -> Any:
    """Σ_i (2i + 1) x_i modulo 2^64: no change of a single number goes unnoticed."""
    total, factor = np.uint64(0), np.uint64(1)
    for i in range(len(words)):
        total += np.uint64(words[i]) * factor
        factor += np.uint64(2)
    return total


@part
def _sum_at(address: int, size: int) -> Any:
    """The weighted sum of a block, in words of 64 bits, or of 32 where its bytes make none."""
    if address % 8 == 0 and size % 8 == 0:
        return _weighted_sum(carray(_pointer(address, np.uint64(0)), size // 8))
    return _weighted_sum(carray(_pointer(address, np.uint32(0)), size // 4))


@kernel
def _sums(places: WeightPlaces, sums: Array) -> None:
    for i in range(len(sums)):
        sums[i] = _sum_at(places.addresses[i], places.sizes[i])


@intrinsic
def _next(typing: Any, count: Any) -> Any:
    """The number at a pointer, which grows by one, whichever thread asks."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", arguments[0], one, "monotonic")

    return types.int64(count), generate


def _sums_behind(work: Any) -> None:
    """work: how many blocks were begun, the number n of blocks, their addresses (n), sizes (n) and sums (n)."""
    blocks = carray(work, 2)[1]
    numbers = carray(work, 2 + 3 * blocks)
    while True:
        block = _next(work)
        if block >= blocks:
            return
        total = _sum_at(numbers[2 + block], numbers[2 + blocks + block])
        numbers[2 + 2 * blocks + block] = np.int64(total)


@cache
def _natively() -> Any:
    return native(_sums_behind, types.void(types.CPointer(types.int64)))


class SumsBehind:
    """The sums of the blocks at some places, which torch's other threads compute while this one goes on. The weights
    must live until then."""

    def __init__(self, places: WeightPlaces) -> None:
        self._places, count = places, len(places.sizes)
        self._work = np.concatenate([[0, count], places.addresses, places.sizes, np.zeros(count, np.int64)])

    def begin(self) -> bool:
        """Whether they do."""
        return begin_behind(_natively().address, self._work.ctypes.data)

    def sums(self) -> tuple[int, ...]:
        """Wait for them. What none of them began is computed now."""
        end_behind()
        count = len(self._places.sizes)
        done = min(int(self._work[0]), count)
        sums = self._work[2 + 2 * count :].view(np.uint64)[:done].tolist()
        addresses, sizes = self._places
        left = sums_at(WeightPlaces(addresses[done:], sizes[done:])).tolist() if done < count else []
        return (*sums, *left)


def sums_at(places: WeightPlaces) -> Array:
    """The sums of the blocks at these places, in one call that other threads need not wait for."""
    sums = np.empty(len(places.addresses), np.uint64)
    _sums(places, sums)
    return sums


def places_of(weights: Sequence[Tensor]) -> WeightPlaces | None:
    """Where these weights lie; None if one is not contiguous."""
    if not all(one.is_contiguous() for one in weights):
        return None
    blocks = [
        (one.data_ptr() + begin, min(BLOCK, one.nbytes - begin))
        for one in weights
        for begin in range(0, one.nbytes, BLOCK)
    ]
    addresses, sizes = np.array(blocks, np.int64).reshape(-1, 2).T.copy()
    return WeightPlaces(addresses, sizes)


class Digest(NamedTuple):
    """Shapes and precisions of some weights, and the sums of their blocks."""

    kinds: tuple[Any, ...]
    sums: tuple[int, ...]


def digest(weights: Sequence[Tensor]) -> Digest:
    """The numbers of the weights, in short: whether their layout must be made again."""
    flat = [one.detach().contiguous() for one in weights]
    places = places_of(flat)
    assert places is not None
    return Digest(tuple((tuple(one.shape), one.dtype) for one in flat), tuple(sums_at(places).tolist()))
