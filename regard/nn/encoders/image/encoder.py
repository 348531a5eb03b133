"""The image encoder: an image becomes a grid of positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.data.media import Images
from regard.nn.encoders.encoder import Encoder, refuse_unread, summary_read
from regard.nn.encoders.image.network import AnyNetwork, ImageNetwork, make_network
from regard.nn.encoders.image.position import GridPosition, Position
from regard.nn.encoders.image.rows import RowReader
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.parts import Dropout, Mistakes, Plan, register

POSITIONS = {
    "none": ("G[j]", ""),
    "coordinates": (
        "[G[j]; λ_j]",
        "     — λ_j: the center of position j, −1 … 1 from left to right and from top to bottom",
    ),
    "learned": ("G[j] + R_x[ρ_j] + C_x[χ_j]", "     — ρ_j, χ_j: the row and the column of position j"),
}
"""The value at a position of the memory, and a note on its symbols."""


@register("encoder", "image")
class ImageEncoder(Encoder):
    """Images → Memory with layout grid: values h_s, s = row · columns + column, and the network's summary.

    position   how a value encodes its position (`GridPosition`)
    rows       whether a recurrent network reads each row of the grid (`RowReader`)
    dropout    dropout of the values' features
    """

    class Options(Encoder.Options):
        """A convolutional network: a grid of positions to attend to, and a summary."""

        network: AnyNetwork = "resnet"
        """The network that reads the image."""
        position: Position = "learned"
        """How a position encodes its place. none: not at all; coordinates: append x and y to the features;
        learned: add a learned vector."""
        rows: bool = False
        """Read each row of the grid in both directions with a recurrent network,
        for lines of symbols (Deng 2017)."""
        dropout: Dropout = 0.0
        """Dropout of the features of a position, and of the input of a connected summary."""

        moved = {
            "channels": "network: {type: resnet, channels: …}",
            "blocks": "network: {type: resnet, blocks: …}",
            "cell": "network: {type: resnet, stride: …}",
            "normalise": "network: {type: resnet, normalize: …}",
            "summary": "network: {type: resnet, connected: 128}",
            "size": "network: {type: resnet, connected: …}",
            "pretrained": "network: {type: timm, name: …, pretrained: …}",
            "freeze": "network: {type: timm, name: …, train: frozen}",
        }

    reads = ("image",)
    names_positions = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> ImageEncoder:
        canvas = (column.channels, *column.canvas)
        network = make_network(options.network, canvas, dropout=options.dropout, read_files=read_files)
        return cls(network, position=options.position, rows=options.rows, dropout=options.dropout)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        positions = ["rows"] if options.position == "none" else ["position", "rows"]
        refuse_unread(options, positions, plan, mistakes)
        connected = getattr(options.network, "connected", None) is not None
        if not connected:
            refuse_unread(options, ["dropout"], plan, mistakes)
        elif not summary_read(plan, options):
            mistakes.add(
                "connected has no effect: no decoder reads the summary of this image.",
                "network",
                "connected",
                fix="Leave connected out.",
            )
        sides = plan.inputs[name].sides
        options.network.part.check(options.network, sides, mistakes.at("network"))

    @classmethod
    def width(cls, options: Any) -> int | None:
        features = options.network.part.width(options.network)
        if features is None:
            return None
        features = features + 2 if options.position == "coordinates" else features
        return 2 * ((features + 1) // 2) if options.rows else int(features)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        network = options.network.part
        placed, note = POSITIONS[options.position]
        dropout = [f"— dropout {options.dropout}"] if options.dropout else []
        return [
            "j = 1 … S",
            network.pixel_line(options.network, ""),
            *network.board(options.network, "x", "", "h"),
            f"{'v' if options.rows else 'h'}_j = {placed}{note}",
            *(RowReader.board() if options.rows else []),
            *dropout,
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        network = under("network", options.network.part.letters(options.network))
        rows = under("rows", RowReader.letters())
        return network | rows | {"position.rows": "R_x", "position.columns": "C_x"}

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        network: ImageNetwork,
        *,
        position: Position = "none",
        rows: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.network = network
        self.position = GridPosition(position, network.grid, network.channels)
        self.rows = RowReader(network.grid, self.position.size) if rows else None
        self.dropout = nn.Dropout(dropout)
        self.value_size = self.position.size if self.rows is None else self.rows.size
        self.summary_size = network.summary_size
        for name, numbers in (("mean", network.mean), ("std", network.std)):
            self.register_buffer(name, torch.tensor(numbers).reshape(-1, 1, 1) * 255, persistent=False)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the memory."""
        return self.network.grid

    def forward(self, pictures: Images) -> Memory:
        pixels = (pictures.pixels.to(self.mean.dtype) - self.mean) / self.std  # (B, C, H, W)
        # channels last: convolutions are faster, and the values below need no copy
        features, summary = self.network(pixels.contiguous(memory_format=torch.channels_last))
        values = self.position(self.dropout(features.flatten(2).transpose(1, 2)))  # (B, S, D)
        if self.rows is not None:
            values = self.rows(values)
        mask = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
        return Memory(values, mask, summary, layout="grid", shape=self.network.grid)

    def position_names(self, pictures: Images, pieces: Any = None) -> list[list[str]]:
        """The names of the positions of each row: "3,5" is row 3, column 5 of the grid, from 0."""
        rows, columns = self.network.grid
        names = [f"{row},{column}" for row in range(rows) for column in range(columns)]
        return [list(names) for _ in range(len(pictures.pixels))]
