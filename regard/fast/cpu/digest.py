# mypy: disable-error-code="no-any-return, attr-defined, call-arg, var-annotated"
"""Digests of weights: whether their numbers have changed. The version counter of a tensor does not count changes
through `data` or numpy, so the numbers are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, types
from numba.extending import intrinsic
from torch import Tensor

from regard.structures.kernels.cpu.compilation import kernel, part

Array = Any


class WeightPlaces(NamedTuple):
    """Where the numbers of some weights lie: addresses (n) and bytes (n). They must be contiguous."""

    addresses: Array
    sizes: Array


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


@kernel
def _sums(places: WeightPlaces, sums: Array) -> None:
    """The weighted sum of each weight, in words of 64 bits, or of 32 where its bytes make none."""
    for i in range(len(sums)):
        address, size = places.addresses[i], places.sizes[i]
        if address % 8 == 0 and size % 8 == 0:
            sums[i] = _weighted_sum(carray(_pointer(address, np.uint64(0)), size // 8))
        else:
            sums[i] = _weighted_sum(carray(_pointer(address, np.uint32(0)), size // 4))


def sums_at(places: WeightPlaces) -> Array:
    """The sums of the weights that lie at these places, in one call that other threads need not wait for."""
    sums = np.empty(len(places.addresses), np.uint64)
    _sums(places, sums)
    return sums


def places_of(weights: Sequence[Tensor]) -> WeightPlaces | None:
    """Where these weights lie; None if one is not contiguous."""
    if not all(one.is_contiguous() for one in weights):
        return None
    return WeightPlaces(
        np.array([one.data_ptr() for one in weights], np.int64),
        np.array([one.numel() * one.element_size() for one in weights], np.int64),
    )


def digest(weights: Sequence[Tensor]) -> tuple[Any, ...]:
    """Shapes, precisions and numbers of the weights, in short: whether their layout must be made again."""
    flat = [one.detach().contiguous() for one in weights]
    places = places_of(flat)
    assert places is not None
    kinds = ((tuple(one.shape), one.dtype) for one in flat)
    return tuple(zip(kinds, sums_at(places).tolist(), strict=True))
