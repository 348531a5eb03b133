"""Packing: sequences of different lengths, row after row of each time step, without the padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import Tokens


@dataclass(frozen=True)
class Packing:
    """The N real positions of B rows, longest row first, so that the rows alive at a step are always the first ones.

    order    (B) the rows, longest first
    back     (B) where each row went
    places   (N) the position row·width + time of each packed one, all of time 0 first
    starts   where each step begins among the N; one more than there are steps
    width    the padded length
    """

    order: Tensor
    back: Tensor
    places: Tensor
    starts: list[int]
    width: int

    @staticmethod
    def of(lengths: Tensor, width: int, counts: Tensor | None = None) -> Packing:
        """counts   the same lengths on the CPU, where they are known there"""
        known = (lengths.cpu() if counts is None else counts).numpy()
        order = np.argsort(-known, kind="stable")
        times = np.arange(known.max(initial=0))[:, None]
        alive = times < known[order]  # (T, B)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(lengths.device, non_blocking=True)

        starts = [0, *alive.sum(1).cumsum().tolist()]
        return Packing(tensor(order), tensor(back), tensor((order * width + times)[alive]), starts, width)

    @staticmethod
    def full(rows: int, width: int) -> Packing:
        """Rows of one length: all positions, those of time 0 first."""
        order = torch.arange(rows)
        places = (order * width + torch.arange(width)[:, None]).flatten()
        return Packing(order, order, places, list(range(0, rows * width + 1, rows)), width)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """First and last-plus-one packed position of each time step."""
        return list(zip(self.starts[:-1], self.starts[1:], strict=True))

    @property
    def sizes(self) -> Tensor:
        """(T) how many rows are alive at each step, as torch's own recurrences want it: on the CPU."""
        return torch.tensor(self.starts).diff()

    def pack(self, padded: Tensor) -> Tensor:
        """(B, width, …) → (N, …)."""
        return padded.flatten(0, 1).index_select(0, self.places)

    def pack_all(self, padded: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The same of several, by name."""
        return {name: self.pack(tensor) for name, tensor in padded.items()}

    def unpack(self, packed: Tensor) -> Tensor:
        """(N, D) → (B, width, D), zero where there is padding."""
        rows = len(self.order)
        padded = packed.new_zeros(rows * self.width, packed.shape[1])
        return padded.index_copy(0, self.places, packed).view(rows, self.width, -1)

    def rows(self) -> Tensor:
        """(N) the row each packed position belongs to."""
        return self.places // self.width

    def turned(self) -> Tensor:
        """(N) for each position the one as far from the end of its row as it is from the beginning."""
        starts = np.asarray(self.starts)
        alive = np.diff(starts)  # (T) rows at each step
        times = np.repeat(np.arange(len(alive)), alive)
        ranks = np.arange(starts[-1]) - starts[times]
        lengths = (alive[:, None] > np.arange(alive.max(initial=0))).sum(0)
        return torch.from_numpy(starts[lengths[ranks] - 1 - times] + ranks).to(self.places.device)

    def before(self) -> Tensor:
        """(N − rows of the first step) for each position but the first of a row: where the row's step before is."""
        pieces = [
            np.arange(low, low + end - high)
            for low, high, end in zip(self.starts[:-2], self.starts[1:-1], self.starts[2:], strict=True)
        ]
        return torch.from_numpy(np.concatenate([np.empty(0, np.int64), *pieces])).to(self.places.device)


@dataclass(frozen=True)
class BucketPacking(Packing):
    """The real positions of sequences that lie in several buckets (N_k, L_k), as if they were in one.

    shapes   of the buckets; a position of a bucket is counted behind all those of the buckets before it
    """

    shapes: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def over(buckets: Sequence[Tokens]) -> BucketPacking:
        shapes = tuple((len(bucket.ids), int(bucket.ids.shape[1])) for bucket in buckets)
        counts = [bucket.lengths.cpu() if bucket.counts is None else bucket.counts for bucket in buckets]
        known = torch.cat(counts).numpy()
        ends = np.cumsum([rows * width for rows, width in shapes])
        begins = np.concatenate(
            [
                end - rows * width + np.arange(rows) * width
                for end, (rows, width) in zip(ends, shapes, strict=True)
            ]
        )
        order = np.argsort(-known, kind="stable")
        times = np.arange(known.max(initial=0))[:, None]
        alive = times < known[order]  # (T, N)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        device = buckets[0].ids.device

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device, non_blocking=True)

        starts = [0, *alive.sum(1).cumsum().tolist()]
        places = tensor((begins[order] + times)[alive])
        return BucketPacking(tensor(order), tensor(back), places, starts, int(ends[-1]), shapes)

    def pack(self, padded: Tensor) -> Tensor:
        """All positions of all buckets, one bucket behind the other, (P, …) → (N, …)."""
        return padded.index_select(0, self.places)

    def softmax(self, scores: Tensor) -> Tensor:
        """(N) → (N): a softmax over the positions of each row."""
        shares = [torch.softmax(bucket, 1) for bucket in self.apart(scores.unsqueeze(1), fill=-torch.inf)]
        return self.pack(torch.cat([bucket.flatten() for bucket in shares]))

    def sums(self, packed: Tensor) -> Tensor:
        """(N, D) → (rows, D): the sum over the positions of each row, in the order of the buckets."""
        return torch.cat([bucket.sum(1) for bucket in self.apart(packed)])

    def apart(self, packed: Tensor, fill: float = 0.0) -> list[Tensor]:
        """(N, D) → (N_k, L_k, D) of each bucket, `fill` where there is padding."""
        padded = packed.new_full((self.width, packed.shape[1]), fill).index_copy(0, self.places, packed)
        pieces = padded.split([rows * width for rows, width in self.shapes])
        return [piece.view(rows, width, -1) for piece, (rows, width) in zip(pieces, self.shapes, strict=True)]
