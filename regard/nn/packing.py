"""Packing: sequences of different lengths without padding, sorted by time step, then by row; and targets, packed for
teacher forcing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import BEGIN, END, PAD, Tokens
from regard.errors import RegardError
from regard.nn.portable import portable
from regard.private import recorded, transforms_active


def refuse_tracer() -> None:
    """Refuse `torch.export` and tracers: the order of computation depends on the lengths, which the recorded
    program would keep for all later inputs. `torch.compile` leaves this part to Python."""
    if recorded():
        raise RegardError(
            "This part arranges its rows by their lengths, and an exported or traced program cannot: it would "
            "keep the lengths of the example for all inputs.",
            fix="Use torch.compile, or a part that computes all positions at once (encoders convolutional, mean, "
            "transformer).",
        )


def as_array(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor. Under `torch.func.grad` their memory is hidden, but not their values."""
    host = tensor.cpu()
    if torch.compiler.is_compiling() or not transforms_active():
        return host.numpy()
    kind = np.float64 if host.is_floating_point() else np.bool_ if host.dtype == torch.bool else np.int64
    return np.array([one.item() for one in host.flatten()], kind).reshape(host.shape)


def sent(device: torch.device, *arrays: np.ndarray) -> list[Tensor]:
    """Move integer arrays to a device in one asynchronous copy.

    A transform of `torch.func` hides the memory of a new tensor, so that nothing can be written into it there.
    """
    if device.type == "cpu":
        return [torch.from_numpy(array) for array in arrays]
    if not torch.compiler.is_compiling() and transforms_active():
        return [torch.from_numpy(array.ravel()).to(device) for array in arrays]
    sizes = [array.size for array in arrays]
    lasting = torch.empty(sum(sizes), dtype=torch.int64, pin_memory=device.type == "cuda")
    np.concatenate([array.ravel() for array in arrays], out=lasting.numpy())
    return list(lasting.to(device, non_blocking=True).split(sizes))


@dataclass(frozen=True)
class Packing:
    """The N real positions of B rows, longest row first, so that the active rows are always the first ones.

    places   (N) the padded index row·width + time of each packed position, all of time 0 first
    starts   the packed index at which each step begins, and N at the end
    width    the padded length
    longest  (B) the rows, longest first, on the CPU
    known    (B) the lengths of the rows, on the CPU
    """

    places: Tensor
    starts: list[int]
    width: int
    longest: np.ndarray
    known: np.ndarray

    @staticmethod
    def of(lengths: Tensor, width: int, counts: Tensor | None = None) -> Packing:
        """counts   the lengths on the CPU, if available"""
        if torch.compiler.is_compiling() and portable():
            return PaddedRows(lengths, width)
        refuse_tracer()
        known = as_array(lengths if counts is None else counts)
        longest, times, alive, starts = _arranged(known)
        (places,) = sent(lengths.device, (longest * width + times)[alive])
        return Packing(places, starts, width, longest, known)

    @cached_property
    def order(self) -> Tensor:
        """(B) the rows, longest first."""
        return sent(self.places.device, self.longest)[0]

    @cached_property
    def back(self) -> Tensor:
        """(B) the index of each row in `order`."""
        return sent(self.places.device, np.argsort(self.longest, kind="stable"))[0]

    @property
    def steps(self) -> list[tuple[int, int]]:
        """First and last-plus-one packed position of each time step."""
        return list(zip(self.starts[:-1], self.starts[1:], strict=True))

    @property
    def sizes(self) -> Tensor:
        """(T) the number of active rows at each step, on the CPU, as torch's recurrent layers require."""
        return torch.tensor(self.starts).diff()

    def pack(self, padded: Tensor) -> Tensor:
        """(B, width, …) → (N, …)."""
        return padded.flatten(0, 1).index_select(0, self.places)

    def pack_all(self, padded: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Pack several tensors, by name."""
        return {name: self.pack(tensor) for name, tensor in padded.items()}

    def unpack(self, packed: Tensor) -> Tensor:
        """(N, D) → (B, width, D), with zeros as padding."""
        rows = len(self.longest)
        padded = packed.new_zeros(rows * self.width, packed.shape[1])
        return padded.index_copy_(0, self.places, packed).view(rows, self.width, -1)

    def rows_and_times(self) -> tuple[np.ndarray, np.ndarray]:
        """(N) and (N), on the CPU: the row of each packed position, and its time step."""
        starts = np.asarray(self.starts)
        times = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return self.longest[np.arange(len(times)) - starts[times]], times

    def among_times(self, rows: int) -> Tensor:
        """(N) time·rows + row of each packed position; cached, because recorded graphs read it."""
        if rows not in self._among_times:
            own, times = self.rows_and_times()
            (self._among_times[rows],) = sent(self.places.device, times * rows + own)
        return self._among_times[rows]

    @cached_property
    def _among_times(self) -> dict[int, Tensor]:
        return {}

    def rows(self) -> Tensor:
        """(N) the row of each packed position; cached, because recorded graphs read it."""
        return self._rows

    @cached_property
    def _rows(self) -> Tensor:
        return sent(self.places.device, self.rows_and_times()[0])[0]

    @cached_property
    def turned(self) -> Tensor:
        """(N) for each position, its counterpart in the reversed row."""
        (rows, times), starts = self.rows_and_times(), np.asarray(self.starts)
        return sent(
            self.places.device, starts[self.known[rows] - 1 - times] + np.arange(len(rows)) - starts[times]
        )[0]

    def turn(self, packed: Tensor) -> Tensor:
        """Packed positions (N, …), every row from its end to its begin."""
        return packed.index_select(0, self.turned)

    def before(self) -> Tensor:
        """(N − rows of the first step) the packed index of the previous step; first steps are left out."""
        pieces = [
            np.arange(low, low + end - high)
            for low, high, end in zip(self.starts[:-2], self.starts[1:-1], self.starts[2:], strict=True)
        ]
        return torch.from_numpy(np.concatenate([np.empty(0, np.int64), *pieces])).to(self.places.device)


class PaddedRows(Packing):
    """B rows with their padding, (B, width, …), for programs that take any lengths.

    It knows nothing that depends on the numbers of an example: who asks for it cannot be recorded.
    """

    def __init__(self, lengths: Tensor, width: int) -> None:
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "width", width)

    lengths: Tensor

    def __getattr__(self, name: str) -> Any:
        refuse_tracer()
        raise AttributeError(name)

    @property
    def mask(self) -> Tensor:
        """(B, width) True where there is a position."""
        return torch.arange(self.width, device=self.lengths.device) < self.lengths[:, None]

    def pack(self, padded: Tensor) -> Tensor:
        return padded

    def unpack(self, packed: Tensor) -> Tensor:
        nothing = torch.zeros((), dtype=packed.dtype, device=packed.device)
        return torch.where(self.mask.unsqueeze(-1), packed, nothing)

    def turn(self, packed: Tensor) -> Tensor:
        times = torch.arange(self.width, device=self.lengths.device)
        here = torch.where(self.mask, self.lengths[:, None] - 1 - times, times)
        return packed.gather(1, here.unsqueeze(-1).expand(packed.shape))


class FullPacking(Packing):
    """Rows of equal length in their original order: packing is a transpose and needs no indices."""

    @staticmethod
    def over(rows: int, width: int, device: torch.device) -> FullPacking:
        counts = torch.full((rows,), width)
        found = Packing.of(counts.to(device), width, counts)
        return FullPacking(found.places, found.starts, width, found.longest, found.known)

    def pack(self, padded: Tensor) -> Tensor:
        return padded.transpose(0, 1).flatten(0, 1)

    def unpack(self, packed: Tensor) -> Tensor:
        return packed.view(self.width, len(self.longest), -1).transpose(0, 1)


@dataclass(frozen=True)
class BucketPacking(Packing):
    """The real positions of sequences in several buckets (N_k, L_k), packed together.

    shapes   shapes of the buckets, whose positions are numbered consecutively, bucket after bucket
    """

    shapes: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def over(buckets: Sequence[Tokens]) -> BucketPacking:
        shapes = tuple((len(bucket.ids), int(bucket.ids.shape[1])) for bucket in buckets)
        counts = [bucket.lengths.cpu() if bucket.counts is None else bucket.counts for bucket in buckets]
        refuse_tracer()
        known = as_array(torch.cat(counts))
        ends = np.cumsum([rows * width for rows, width in shapes])
        begins = np.concatenate(
            [
                end - rows * width + np.arange(rows) * width
                for end, (rows, width) in zip(ends, shapes, strict=True)
            ]
        )
        longest, times, alive, starts = _arranged(known)
        (places,) = sent(buckets[0].ids.device, (begins[longest] + times)[alive])
        return BucketPacking(places, starts, int(ends[-1]), longest, known, shapes)

    def pack(self, padded: Tensor) -> Tensor:
        """The concatenated positions of all buckets, (P, …) → (N, …)."""
        return padded.index_select(0, self.places)

    def softmax(self, scores: Tensor) -> Tensor:
        """(N) → (N): a softmax over the positions of each row."""
        shares = [torch.softmax(bucket, 1) for bucket in self.apart(scores.unsqueeze(1), fill=-torch.inf)]
        return self.pack(torch.cat([bucket.flatten() for bucket in shares]))

    def sums(self, packed: Tensor) -> Tensor:
        """(N, D) → (rows, D): the sum over the positions of each row, in the order of the buckets."""
        return torch.cat([bucket.sum(1) for bucket in self.apart(packed)])

    def apart(self, packed: Tensor, fill: float = 0.0) -> list[Tensor]:
        """(N, D) → (N_k, L_k, D) of each bucket, with `fill` as padding."""
        padded = packed.new_full((self.width, packed.shape[1]), fill).index_copy_(0, self.places, packed)
        pieces = padded.split([rows * width for rows, width in self.shapes])
        return [piece.view(rows, width, -1) for piece, (rows, width) in zip(pieces, self.shapes, strict=True)]


def _arranged(known: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Lengths (B) → rows, longest first (B); times (T, 1); mask of a row's times (T, B); starts of steps."""
    if len(known) == 1:  # the same, in a fraction of the time
        count = int(known[0])
        times = np.arange(count)[:, None]
        return np.zeros(1, np.int64), times, np.ones((count, 1), bool), [*range(count + 1)]
    longest = np.argsort(-known, kind="stable")
    times = np.arange(known.max(initial=0))[:, None]
    alive = times < known[longest]
    return longest, times, alive, [0, *alive.sum(1).cumsum().tolist()]


def shifted(target: Tokens) -> tuple[Tensor, Tensor, Tensor]:
    """Previous words, next words and their lengths: [BEGIN, y_1 … y_n] → [y_1 … y_n, END], both (B, T+1)."""
    begin = target.ids.new_full((len(target.ids), 1), BEGIN)
    previous = torch.cat([begin, target.ids], 1)
    following = torch.cat([target.ids, torch.full_like(begin, PAD)], 1)
    following = following.scatter(1, target.lengths[:, None], END)
    return previous, following, target.lengths + 1


def forced(target: Tokens) -> tuple[Tensor, Tensor, Packing]:
    """Previous and next words as in `shifted`, and the packing of their positions, for teacher forcing."""
    previous, following, lengths = shifted(target)
    counts = None if target.counts is None else target.counts + 1
    return previous, following, Packing.of(lengths, following.shape[1], counts)
