# mypy: disable-error-code="call-arg, var-annotated"
"""What Python lays out for the kernels: weights in panels, memories, buffers, and codes of cells, scores and
selections."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import kernel, reduction
from regard.structures.kernels.cpu.exponential import exponential
from regard.structures.kernels.cpu.mathematics import larger, smaller
from regard.structures.kernels.cpu.parallel import over_batch

Array = Any
GRU, LSTM, TANH, LOGISTIC, RELU, IDENTITY = range(6)
KINDS = {"gru": GRU, "lstm": LSTM, "tanh": TANH, "sigmoid": LOGISTIC, "relu": RELU, "identity": IDENTITY}
"""Cells by name; a plain rnn by its activation."""
ADDITIVE, DOT, LINEAR = range(3)
SOFTMAX, SIGMOID, SEGMENTS = 0, 1, 2
LARGEST = (
    11.0  # of queries and keys whose exponentials are used: (e^{2·11} e^{2·11})² is within single precision
)


def panels(weight: Tensor) -> Array:
    """A weight (M, K), for products x ↦ W x, as panels (P, K, WIDTH) of WIDTH rows, padded with zeros."""
    found: Array = stacked_panels(weight[None])[0]
    return found


def stacked_panels(weights: Tensor) -> Array:
    """The panels (L, P, K, WIDTH) of the weights (L, M, K) of all layers or directions; L may be 0."""
    layers, rows, depth = weights.shape
    weights = weights.detach()
    if rows % WIDTH:  # torch 2.6 pads no tensor with an empty axis, not even by nothing
        weights = torch.cat([weights, weights.new_zeros(layers, -rows % WIDTH, depth)], 1)
    apart = weights.reshape(layers, weights.shape[1] // WIDTH, WIDTH, depth)
    return apart.transpose(2, 3).contiguous().numpy()


def products(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ right for each layer or direction: left (L, N, G), right (L, N, H) → (L, G, H)."""
    found = left.new_empty(len(left), left.shape[2], right.shape[2])
    for one, other, product in zip(left, right, found, strict=True):
        torch.mm(one.t(), other, out=product)
    return found


LINE = 64
"""Bytes of a line of the cache. A vector of 512 bits that begins inside one is read from two."""


def room(like: Tensor, *shape: int) -> Tensor:
    """An empty CPU tensor in the precision of another, at the start of a line.

    numpy requests huge pages for its memory. torch's allocator returns memory to the system within
    milliseconds and gets it back page by page, which takes a tenth of the time of an update.
    """
    kind = np.dtype(np.float32 if like.dtype == torch.float32 else np.float64)
    count = math.prod(shape)
    lines = np.empty(count + LINE // kind.itemsize, kind)
    start = -lines.ctypes.data % LINE // kind.itemsize
    return torch.from_numpy(lines[start : start + count]).view(shape)


def kept_gates(kind: int) -> int:
    """Numbers that each unit keeps for the backward pass."""
    return {GRU: 4, LSTM: 6}.get(kind, 1)


class Choice(NamedTuple):
    """How energies become weights.

    kind         SOFTMAX, SIGMOID or SEGMENTS
    normalize    λ, the sum to which a reading rescales the weights; 0: no rescaling
    between      (1, 4) the transitions b00 b01 b10 b11 of segments
    """

    kind: int
    normalize: float
    between: Array


class LocationPanels(NamedTuple):
    """filters (R, J), V (A, J) and its transpose, both in panels; empty for scores without location."""

    filters: Array
    place: Array
    back: Array


@cache
def _no_location(dtype: torch.dtype) -> LocationPanels:
    return location_of(torch.empty(0, 0, dtype=dtype), torch.empty(0, 1, dtype=dtype), torch.empty(0))


def location_of(filters: Tensor | None, place: Tensor | None, like: Tensor) -> LocationPanels:
    if filters is None or place is None:
        return _no_location(like.dtype)
    return LocationPanels(filters.detach().contiguous().numpy(), panels(place), panels(place.t()))


class Memories(NamedTuple):
    """The memories that B rows attend to, in the layout of the kernels.

    keys     (B, S, A), and `grown` e^{2 keys}; `extreme` (B): whether a key is too large for that
    values   (B, S, D)
    score    ADDITIVE, DOT or LINEAR; `scale` multiplies the queries of a dot product
    vector   (A) of the additive score; empty for the others
    places   (B, S) the unmasked positions in order, `counts` (B) of them; the rest is unused
    exists   (B, S) whether a position is unmasked
    choice   how energies become weights
    location filters and weight of a location score
    """

    score: int
    scale: float
    keys: Array
    grown: Array
    extreme: Array
    values: Array
    vector: Array
    places: Array
    counts: Array
    exists: Array
    choice: Choice
    location: LocationPanels

    def select(self, rows: Array) -> Memories:
        """The memories of some rows."""
        return self._replace(**{name: getattr(self, name)[rows] for name in BY_ROW})


BY_ROW = ("keys", "grown", "extreme", "values", "places", "counts", "exists")


@reduction
def _grow_row(row: Array, out: Array) -> Any:
    """Write e^{2k} of a row of keys; return the largest |k|."""
    largest, limit = row.dtype.type(0), row.dtype.type(LARGEST)
    for a in range(len(row)):
        largest = larger(largest, abs(row[a]))
        near = smaller(larger(row[a], -limit), limit)
        out[a] = exponential(near + near)
    return largest


@kernel
def _grow_keys(keys: Array, grown: Array, extreme: Array, first: int, last: int) -> None:
    """Write e^{2k} of the keys (B, S, A) of some rows, and whether one of a row is too large for that."""
    for b in range(first, last):
        for s in range(keys.shape[1]):
            if _grow_row(keys[b, s], grown[b, s]) > LARGEST:
                extreme[b] = True


def memories(
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    vector: Tensor,
    choice: Choice,
    *,
    score: int,
    scale: float = 1.0,
    location: LocationPanels,
) -> Memories:
    kept = keys.detach().contiguous().numpy()
    grown, extreme = kept, np.zeros(len(kept), np.bool_)
    if score == ADDITIVE and len(location.filters) == 0:
        grown = np.empty_like(kept)
        over_batch(_grow_keys, len(kept), kept[0].size if len(kept) else 0, kept, grown, extreme)
    return Memories(
        score,
        scale,
        kept,
        grown,
        extreme,
        values.detach().contiguous().numpy(),
        vector.detach().contiguous().numpy(),
        (~mask).to(torch.uint8).sort(dim=1, stable=True).indices.contiguous().numpy(),
        mask.sum(1).numpy(),
        mask.contiguous().numpy(),
        choice,
        location,
    )
