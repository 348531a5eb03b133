"""The video encoder: a convolutional network reads each frame, and a recurrent one reads the sequence."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from pydantic import field_validator
from torch import Tensor, nn

from regard.data.media import Videos
from regard.nn.encoders.encoder import Encoder, refuse_unread
from regard.nn.encoders.image import AnyNetwork, ImageNetwork, make_network
from regard.nn.encoders.layer_symbols import LayerSymbols
from regard.nn.encoders.mean import masked_mean
from regard.nn.letters import Letters, renamed, under
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.recurrence import RecurrentLayer
from regard.nn.symbols import MemorySymbols
from regard.notation import primed
from regard.parts import Dropout, Mistakes, Options, Plan, Size, one_of, register

Values = Literal["states", "frames"]
DOT = "\u0307"
"""The sign above the symbols of the network that reads changes."""


@register("encoder", "video")
class VideoEncoder(Encoder):
    """Videos → Memory with layout frames, a position for each frame.

        v_t = [f(x_t); g(x_t − x_{t−1}, x_{t+1} − x_t)]     f reads the frame, g its changes (local motion)
        h_t = cell(h_{t−1}, v_t)                             in one direction or both

    Without a `motion` network v_t = f(x_t). At the ends of a video, the change to the missing neighbor is
    zero. Without a `cell`, the features v_t are the memory, and their mean is the summary (Yao et al. 2015).
    With a cell, the summary is its last state, [→h_T; ←h_1] in both directions.

    frames    f: pixels (N, C, H, W) → its summary
    motion    g: changes (N, 2C, H, W), in the same units → its summary
    values    the values that attention reads: the states h_t, or the features v_t with the states as keys
    """

    class Options(Encoder.Options):
        """h_t = cell(h_{t−1}, CNN(x_t)): a convolutional network for each frame,
        a recurrent one over time."""

        network: AnyNetwork = {"type": "vgg", "connected": 128}
        """The network that reads a frame."""
        motion: Literal["none", "local"] = "none"
        """local: add a second network of this kind that reads the differences to the previous and the next
        frame (local motion features, Yao 2015)."""
        cell: Annotated[Any, one_of("cell")] | None = "gru"
        """The recurrent cell over time;
        null: none, the features of the frames are the memory, their mean the summary."""
        size: Size | None = None
        """Units of the recurrent network, in each direction; default: 128."""
        bidirectional: bool = True
        """Read in both directions."""
        values: Values = "states"
        """Values that attention reads. states: the recurrent states; frames: the features of the frames, with
        the states as keys."""
        dropout: Dropout = 0.0
        """Dropout of the features of a frame."""

        moved = {"frame": "network: {type: vgg, …}"}

        @field_validator("cell", mode="before")
        @classmethod
        def _null(cls, value: Any) -> Any:
            if value == "none":
                raise ValueError("'none' is not a known cell. Without a cell write  cell: null")
            return value

    reads = ("video",)
    names_positions = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> VideoEncoder:
        def network(channels: int) -> ImageNetwork:
            return make_network(
                options.network, (channels, *column.canvas), dropout=options.dropout, read_files=read_files
            )

        return cls(
            network(column.channels),
            motion=network(2 * column.channels) if options.motion == "local" else None,
            cell=options.cell,
            size=options.size or 128,
            bidirectional=options.bidirectional,
            values=options.values,
            dropout=options.dropout,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        options.network.part.check(options.network, plan.inputs[name].sides, mistakes.at("network"))
        refuse_unread(options, ["values"], plan, mistakes)
        for option in ("size", "bidirectional", "values"):
            if options.cell is None and option in options.model_fields_set:
                mistakes.add(
                    f"{option} has no effect: it belongs to the recurrent network, and cell is null.",
                    option,
                    fix=f"Choose a cell, or leave {option} out.",
                )

    @classmethod
    def width(cls, options: Any) -> int | None:
        if options.cell is None or options.values == "frames":
            return None
        return int((options.size or 128) * (2 if options.bidirectional else 1))

    @classmethod
    def board(cls, options: Any) -> list[str]:
        both = options.bidirectional and options.cell is not None
        dropout = [f"— dropout {options.dropout}"] if options.dropout else []
        return [
            "j = 1 … S, ζ = 1 … K" + (", d ∈ {→, ←}" if both else "") + "     — S frames of K positions",
            *cls._seen_lines(options),
            *cls._state_lines(options),
            *dropout,
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        seen = options.network.part.letters(options.network)
        motion = renamed(seen, lambda letter: cls._of_changes([letter])[0])
        found = under("frames", seen) | under("motion", motion)
        if options.cell is not None:
            found |= under("layer", cls._layer(options).letters())
        return found

    @classmethod
    def _of_changes(cls, lines: list[str]) -> list[str]:
        """Symbols of the network that reads changes, from those of the network that reads frames."""
        shared = ("ẋ_j", "j", "l", "ζ", "K", "norm", "squash")
        return primed(lines, 1, shared, sign=DOT)

    @classmethod
    def _layer(cls, options: Any) -> LayerSymbols:
        alone = "κ" if options.values == "frames" and not options.bidirectional else "h"
        return LayerSymbols(options.cell, options.bidirectional, inputs="v_j", letter=alone)

    @classmethod
    def _seen_lines(cls, options: Any) -> list[str]:
        """Equations from the pixels to the features of a frame, v_j."""
        network, local = options.network.part, options.motion == "local"
        seen = network.board(options.network, "x_j", "j", "f_j" if local else "v_j")
        lines = [network.pixel_line(options.network, "j"), *seen]
        if not local:
            return lines
        motion = cls._of_changes(network.board(options.network, "ẋ_j", "j", "f_j"))
        return [
            *lines,
            "ẋ_j = [x_j − x_{j−1}; x_{j+1} − x_j]     — differences from the neighboring frames, for a second network",
            "x_0 = x_1     — at the ends the difference is 0",
            "x_{S+1} = x_S",
            *(line for line in motion if line not in lines),
            f"v_j = [f_j; f{DOT}_j]",
        ]

    @classmethod
    def _state_lines(cls, options: Any) -> list[str]:
        if options.cell is None:
            return ["h_j = v_j", "h = Σ_j h_j / S     — the summary"]
        both, keys = options.bidirectional, options.values == "frames"
        memory = "κ" if keys else "h"
        layer = cls._layer(options)
        steps, (note, _) = layer.steps(), layer.first_states("learned", options.size or 128)
        return [
            steps[0] + note,
            *steps[1:],
            *([f"{memory}_j = [→h_j; ←h_j]"] if both else []),
            *(["h_j = v_j     — the values; κ_j: the keys"] if keys else []),
            ("h = [→h_S; ←h_1]" if both else f"h = {memory}_S") + "     — the summary",
            *layer.functions(),
            f"— {options.size or 128} units" + (" in each direction" if both else ""),
        ]

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        keys = options.cell is not None and options.values == "frames"
        return MemorySymbols(keys="κ_j" if keys else "")

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        frames: ImageNetwork,
        *,
        motion: ImageNetwork | None = None,
        cell: str | Options | None = "gru",
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

    def forward(self, films: Videos) -> Memory:
        mask = films.mask
        packing = Packing.of(films.lengths, films.frames.shape[1], films.counts)
        pixels = (films.frames.to(self.mean.dtype) - self.mean) / self.std  # (B, T, C, H, W)
        seen = _looked(self.frames, packing.pack(pixels))  # (N, D): padding is never computed
        if self.motion is not None:
            changes = packing.pack(neighbors(pixels, mask))
            seen = torch.cat([seen, _looked(self.motion, changes)], -1)
        seen = self.dropout(seen)
        if self.layer is None:
            features = packing.unpack(seen)
            return Memory(features, mask, masked_mean(features, mask), layout="frames")
        states, summary = self.layer(seen, packing)
        if self.values == "states":
            return Memory(packing.unpack(states), mask, summary, layout="frames")
        return Memory(packing.unpack(seen), mask, summary, keys=packing.unpack(states), layout="frames")

    def position_names(self, films: Videos, pieces: Any = None) -> list[list[str]]:
        """The names of the frames of each row, counted from 1."""
        return [[f"frame {place}" for place in range(1, count + 1)] for count in films.lengths.tolist()]


def _looked(network: ImageNetwork, pixels: Tensor) -> Tensor:
    """The summaries of many images: (N, C, H, W) → (N, D)."""
    summary: Tensor = network(pixels.contiguous(memory_format=torch.channels_last))[1]
    return summary


def neighbors(pixels: Tensor, mask: Tensor) -> Tensor:
    """[x_t − x_{t−1}; x_{t+1} − x_t]: (B, T, C, H, W) → (B, T, 2C, H, W), zero if there is no such frame."""
    both = (mask[:, 1:] & mask[:, :-1])[..., None, None, None]
    change = (pixels[:, 1:] - pixels[:, :-1]) * both  # (B, T − 1, C, H, W)
    nothing = pixels.new_zeros(pixels.shape[0], 1, *pixels.shape[2:])
    return torch.cat([torch.cat([nothing, change], 1), torch.cat([change, nothing], 1)], 2)
