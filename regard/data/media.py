"""Collated images, videos and series, and the regions in them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import moved
from regard.private import tensor_node


@tensor_node()
@dataclass(frozen=True)
class Images:
    """pixels (B, C, H, W) uint8. All images share one canvas, so no mask is needed."""

    pixels: Tensor

    def to(self, device: torch.device | str) -> Images:
        return Images(moved(self.pixels, device))


@tensor_node()
@dataclass(frozen=True)
class Videos:
    """A batch of videos, padded at the end with black frames.

    frames   (B, T, C, H, W) uint8
    lengths  (B,) int64
    counts   the lengths on the CPU, if known there
    """

    frames: Tensor
    lengths: Tensor
    counts: Tensor | None = None

    @property
    def mask(self) -> Tensor:
        """(B, T) bool, True where there is a frame."""
        return torch.arange(self.frames.shape[1], device=self.frames.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> Videos:
        counts = self.lengths if self.lengths.device.type == "cpu" else self.counts
        frames, lengths = (moved(part, device) for part in (self.frames, self.lengths))
        return Videos(frames, lengths, counts)


@tensor_node()
@dataclass(frozen=True)
class Series:
    """A batch of sequences of vectors (log-mel frames of audio, joints of a skeleton), padded with zeros.

    values   (B, T, D) float32
    lengths  (B,) int64
    counts   the lengths on the CPU, if known there
    """

    values: Tensor
    lengths: Tensor
    counts: Tensor | None = None

    @property
    def mask(self) -> Tensor:
        """(B, T) bool, True where there is a vector."""
        return torch.arange(self.values.shape[1], device=self.values.device) < self.lengths[:, None]

    def select(self, rows: Tensor) -> Series:
        counts = None if self.counts is None else self.counts.index_select(0, rows.to(self.counts.device))
        return Series(self.values.index_select(0, rows), self.lengths.index_select(0, rows), counts)

    def to(self, device: torch.device | str) -> Series:
        counts = self.lengths if self.lengths.device.type == "cpu" else self.counts
        values, lengths = (moved(part, device) for part in (self.values, self.lengths))
        return Series(values, lengths, counts)


@tensor_node()
@dataclass(frozen=True)
class Places:
    """Regions of an image, video or audio, each named by a token of the output.

    steps   (B, P) int64, the token; −1 is padding
    boxes   (B, P, 4) left, top, right, bottom as fractions of width and height; or (B, P, 2) begin and end as
            fractions of the duration
    """

    steps: Tensor
    boxes: Tensor

    def to(self, device: torch.device | str) -> Places:
        return Places(moved(self.steps, device), moved(self.boxes, device))

    def of_row(self, row: int) -> tuple[tuple[int, float, float, float, float], ...]:
        """(token, left, top, right, bottom) of each region of an image; empty for regions in time."""
        if self.boxes.shape[-1] != 4:
            return ()
        pairs = zip(self.steps[row].tolist(), self.boxes[row].tolist(), strict=True)
        return tuple((step, *box) for step, box in pairs if step >= 0)

    def on(self, mask: Tensor, shape: tuple[int, ...] | None, steps: int) -> Tensor:
        """(B, T, S): the regions as distributions over the positions of a memory, for the first T = `steps` tokens.

        mask    (B, S) mask of the memory
        shape   rows and columns of the memory's grid; None: its positions follow each other in time

        The row of a token is uniform over the positions whose center lies in one of its regions. A region too small to
        contain a center counts for the position with which it overlaps most. Rows of tokens without a region are zero.
        """
        cells = _grid_cells(shape, mask) if self.boxes.shape[-1] == 4 and shape else _time_cells(mask)
        axes = range(cells.shape[-1] // 2)
        half = cells.shape[-1] // 2
        low, high = cells[..., :half].unsqueeze(1), cells[..., half:].unsqueeze(1)  # (B, 1, S, A)
        first, last = self.boxes[..., None, :half], self.boxes[..., None, half:]  # (B, P, 1, A)
        center = (low + high) / 2
        inside = ((center >= first) & (center < last)).all(-1) & mask.unsqueeze(1)  # (B, P, S)
        covered = torch.ones_like(inside, dtype=self.boxes.dtype)
        for axis in axes:
            shared = torch.minimum(high[..., axis], last[..., axis]) - torch.maximum(
                low[..., axis], first[..., axis]
            )
            covered = covered * shared.clamp(min=0)
        covered = covered * mask.unsqueeze(1)
        most = (covered == covered.amax(-1, keepdim=True)) & (covered > 0)
        chosen = torch.where(inside.any(-1, keepdim=True), inside, most)  # (B, P, S)
        known = (self.steps >= 0) & (self.steps < steps)
        table = self.boxes.new_zeros(mask.shape[0], steps, mask.shape[1])
        index = self.steps.clamp(0, max(steps - 1, 0)).unsqueeze(-1).expand_as(chosen)
        table.scatter_add_(1, index, (chosen & known.unsqueeze(-1)).to(table.dtype))
        table = table.clamp(max=1)
        return table / table.sum(-1, keepdim=True).clamp(min=1)


def _grid_cells(shape: tuple[int, ...], mask: Tensor) -> Tensor:
    """(1, S, 4) left, top, right, bottom of the grid cells, row by row."""
    rows, columns = shape
    device = mask.device
    top = torch.arange(rows, device=device).repeat_interleave(columns) / rows
    left = torch.arange(columns, device=device).repeat(rows) / columns
    return torch.stack([left, top, left + 1 / columns, top + 1 / rows], -1).unsqueeze(0)


def _time_cells(mask: Tensor) -> Tensor:
    """(B, S, 2) begin and end of each position: the positions of a row divide its duration evenly."""
    count = mask.sum(1).clamp(min=1)[:, None]  # (B, 1)
    place = torch.arange(mask.shape[1], device=mask.device)[None]
    return torch.stack([place / count, (place + 1) / count], -1)
