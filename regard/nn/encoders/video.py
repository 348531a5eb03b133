"""The video encoder: every frame is seen by a convolutional network, and a recurrent one reads what was seen."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.data.perceived import Films
from regard.nn.cells import CellName
from regard.nn.encoders.image import PictureNetwork
from regard.nn.encoders.layer import RecurrentLayer
from regard.nn.encoders.mean import masked_mean
from regard.nn.memory import Memory
from regard.nn.packing import Packing

Values = Literal["states", "frames"]


class VideoEncoder(nn.Module):
    """Films → Memory with layout frames, a position for each frame.

        v_t = [f(x_t); g(x_t − x_{t−1}, x_{t+1} − x_t)]     f sees the frame, g how it changes (local motion)
        h_t = cell(h_{t−1}, v_t)                             from one end, or from both

    Without a `motion` network v_t = f(x_t). The first frame came from nowhere: what has no neighbour does not change.
    Without a `cell` the features v_t are the memory, and their mean is the summary (Yao et al. 2015); with one the
    summary is its last state, [→h_T; ←h_1] where it reads from both ends.

    frames    f: pixels (N, C, H, W) → its summary
    motion    g: changes (N, 2C, H, W), in the same units → its summary
    values    what a look reads: the states h_t, or the features v_t of the frame alone, with the states as keys
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        frames: PictureNetwork,
        *,
        motion: PictureNetwork | None = None,
        cell: CellName | None = "gru",
        size: int = 128,
        bidirectional: bool = True,
        values: Values = "states",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.frames, self.motion, self.values = frames, motion, values
        features = frames.summary_size + (0 if motion is None else motion.summary_size)
        self.layer = (
            None if cell is None else RecurrentLayer(features, size, cell=cell, bidirectional=bidirectional)
        )
        width = features if cell is None else size * (2 if bidirectional else 1)
        self.key_size = self.summary_size = width
        self.value_size = width if values == "states" else features
        self.dropout = nn.Dropout(dropout)
        for name, numbers in (("mean", frames.mean), ("std", frames.std)):
            self.register_buffer(name, torch.tensor(numbers).reshape(-1, 1, 1) * 255, persistent=False)

    def forward(self, films: Films) -> Memory:
        mask = films.mask
        packing = Packing.of(films.lengths, films.frames.shape[1], films.counts)
        pixels = (films.frames.to(self.mean.dtype) - self.mean) / self.std  # (B, T, C, H, W)
        seen = _looked(self.frames, packing.pack(pixels))  # (N, D): padding is never computed
        if self.motion is not None:
            changes = packing.pack(neighbours(pixels, mask))
            seen = torch.cat([seen, _looked(self.motion, changes)], -1)
        seen = self.dropout(seen)
        if self.layer is None:
            features = packing.unpack(seen)
            return Memory(features, mask, masked_mean(features, mask), layout="frames")
        states, summary = self.layer(seen, packing)
        if self.values == "states":
            return Memory(packing.unpack(states), mask, summary, layout="frames")
        return Memory(packing.unpack(seen), mask, summary, keys=packing.unpack(states), layout="frames")

    def positions(self, films: Films) -> list[list[str]]:
        """The names of the frames of each row, counted from 1."""
        return [[f"frame {place}" for place in range(1, count + 1)] for count in films.lengths.tolist()]


def _looked(network: PictureNetwork, pixels: Tensor) -> Tensor:
    """The summaries of many pictures: (N, C, H, W) → (N, D)."""
    summary: Tensor = network(pixels.contiguous(memory_format=torch.channels_last))[1]
    return summary


def neighbours(pixels: Tensor, mask: Tensor) -> Tensor:
    """[x_t − x_{t−1}; x_{t+1} − x_t]: (B, T, C, H, W) → (B, T, 2C, H, W), zero where there is no such frame."""
    both = (mask[:, 1:] & mask[:, :-1])[..., None, None, None]
    change = (pixels[:, 1:] - pixels[:, :-1]) * both  # (B, T − 1, C, H, W)
    nothing = pixels.new_zeros(pixels.shape[0], 1, *pixels.shape[2:])
    return torch.cat([torch.cat([nothing, change], 1), torch.cat([change, nothing], 1)], 2)
