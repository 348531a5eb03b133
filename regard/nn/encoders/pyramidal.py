"""Pyramidal encoder: recurrent layers over a long series of frames, the upper ones at fewer positions."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.data.media import Series
from regard.errors import RegardError
from regard.nn.cells import AnyCell
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.layer_symbols import LayerSymbols
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.recurrence import First, RecurrentLayer
from regard.parts import Depth, Dropout, Mistakes, Options, Plan, Size, register


@register("encoder", "pyramidal")
class PyramidalEncoder(Encoder):
    """The listener of Listen, Attend and Spell (Chan, Jaitly, Le, Vinyals 2015).

        h¹_s = [→h¹_s; ←h¹_s] of the frames x_s
        hˡ_s = [→hˡ_s; ←hˡ_s] of the pairs [hˡ⁻¹_2s; hˡ⁻¹_2s+1]

    The last `reductions` of the `layers` read pairs of neighbors, so that n frames become ⌈n / 2^reductions⌉
    positions, few enough for a decoder to attend to. With 0 reductions this is a plain recurrent encoder.
    With as many reductions as layers, even the first layer reads pairs of frames. If the number of positions
    is odd, zeros complete the last pair. With `bidirectional: false` each layer reads forward only. Dropout
    acts between layers. The summary is [→h_n; ←h_1] of the last layer.

    input_size      D of the series (B, T, D)
    frame_seconds   duration of a frame, if known; positions are then named by their time
    """

    class Options(Encoder.Options):
        """Recurrent layers over audio or a series, the upper ones reading pairs of neighboring states (Chan 2015)."""

        cell: AnyCell = "lstm"
        """The recurrent cell."""
        size: Size = 128
        """Units of each layer, in each direction."""
        layers: Depth = 3
        """Number of stacked recurrent layers."""
        reductions: Annotated[int, Field(ge=0, le=32)] = 2
        """Number of upper layers that halve the number of positions."""
        bidirectional: bool = True
        """Read in both directions."""
        first: First = "learned"
        """The initial state: learned, or zero."""
        dropout: Dropout = 0.0
        """Dropout between the layers."""

    reads = ("audio", "series")
    names_positions = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> PyramidalEncoder:
        return cls(
            column.width,
            cell=options.cell,
            size=options.size,
            layers=options.layers,
            reductions=options.reductions,
            bidirectional=options.bidirectional,
            dropout=options.dropout,
            first=options.first,
            frame_seconds=getattr(column, "frame_seconds", None),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.reductions > options.layers:
            mistakes.add(
                f"{options.layers} layers cannot halve the time {options.reductions} times.",
                "reductions",
                fix=f"Set  layers: {options.reductions}, or lower reductions.",
            )
        if options.dropout and options.layers == 1:
            mistakes.add(
                "dropout has no effect: it applies between layers, and there is only one.",
                "dropout",
                fix="Add layers, or leave dropout out.",
            )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size * (2 if options.bidirectional else 1))

    @classmethod
    def _layer(cls, options: Any) -> LayerSymbols:
        """The symbols of layer l."""
        both, first = options.bidirectional, ("0", "S_l+1")
        return LayerSymbols(options.cell, both, inputs="x_lm", at=("l",), index="m", mark="l", first=first)

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return under("layers.*", cls._layer(options).letters())

    @classmethod
    def board(cls, options: Any) -> list[str]:
        last, plain = options.layers, options.layers - options.reductions
        both = options.bidirectional
        layer = cls._layer(options)
        steps, (note, zeros) = layer.steps(), layer.first_states(options.first, options.size)
        dropout = f", dropout {options.dropout} between layers" if options.dropout else ""
        lines = [
            f"j = 1 … S, l = 1 … {last}, m = 1 … S_l{', d ∈ {→, ←}' * both}     — S = S_{last}",
            "x_lm = x_m     for l = 1     — x_m: frame m"
            if plain
            else "x_lm = [x_{2m−1}; x_{2m}]     for l = 1",
        ]
        if plain > 1:
            lines.append(f"x_lm = h_{{l−1,m}}     for l = 2 … {plain}")
        if plain < last and last > 1:
            lines.append(f"x_lm = [h_{{l−1,2m−1}}; h_{{l−1,2m}}]     for l > {max(plain, 1)}")
        if plain < last:
            lines.append(f"h_lm = 0_{cls.width(options)}     for m > S_l")
        return [
            *lines,
            steps[0] + note,
            *steps[1:],
            *zeros,
            *(["h_lm = [→h_lm; ←h_lm]"] if both else []),
            f"h_j = h_{last}j",
            (f"h = [→h_{last}S; ←h_{{{last},1}}]" if both else f"h = h_{last}S") + "     — the summary",
            *layer.functions(),
            *([f"— S_l: half of S_{{l−1}}, rounded up, for l > {plain}"] if plain < last else []),
            f"— {options.size} units{' in each direction' * both}{dropout}",
        ]

    def __init__(
        self,
        input_size: int,
        *,
        cell: str | Options = "lstm",
        size: int = 128,
        layers: int = 3,
        reductions: int = 2,
        bidirectional: bool = True,
        dropout: float = 0.0,
        first: First = "learned",
        frame_seconds: float | None = None,
    ) -> None:
        super().__init__()
        if not 0 <= reductions <= layers or layers < 1:
            raise RegardError(
                f"A pyramid of {layers} layers cannot halve {reductions} times.",
                fix="Choose at least one layer, and at most as many reductions as layers.",
            )
        width = 2 * size if bidirectional else size
        self.value_size = self.summary_size = width
        self.input_size, self.reductions, self.frame_seconds = input_size, reductions, frame_seconds
        self.pairs = [layer >= layers - reductions for layer in range(layers)]
        self.layers = nn.ModuleList(
            RecurrentLayer(
                (input_size if layer == 0 else width) * (2 if paired else 1),
                size,
                cell=cell,
                bidirectional=bidirectional,
                first=first,
            )
            for layer, paired in enumerate(self.pairs)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, series: Series) -> Memory:
        if series.values.shape[-1] != self.input_size:
            raise RegardError(
                f"The frames have {series.values.shape[-1]} features, expected {self.input_size}."
            )
        lengths = series.lengths
        counts = lengths.cpu() if series.counts is None else series.counts
        packing = Packing.of(lengths, series.values.shape[1], counts)
        values = packing.pack(series.values)  # (N, D): padding is never read
        summary = values.new_zeros(0)
        for index, (layer, paired) in enumerate(zip(self.layers, self.pairs, strict=True)):
            if index:
                values = self.dropout(values)
            if paired:
                lengths, counts = (lengths + 1) // 2, (counts + 1) // 2
                padded = paired_up(packing.unpack(values))  # (B, ⌈T / 2⌉, 2 D)
                packing = Packing.of(lengths, padded.shape[1], counts)
                values = packing.pack(padded)
            values, summary = layer(values, packing)
        states = packing.unpack(values)  # (B, S, width)
        mask = torch.arange(states.shape[1], device=states.device) < lengths[:, None]
        return Memory(states, mask, summary, layout="frames")

    def position_names(self, series: Series, pieces: Any = None) -> list[list[str]]:
        """For each position of each row, the time at which it begins, or its first frame counted from 0."""
        step = 2**self.reductions
        longest = -(-series.values.shape[1] // step)
        if self.frame_seconds is None:
            names = [f"frame {place * step}" for place in range(longest)]
        else:
            names = [f"{place * step * self.frame_seconds:.2f} s" for place in range(longest)]
        return [names[: -(-length // step)] for length in series.lengths.tolist()]


def paired_up(values: Tensor) -> Tensor:
    """Concatenate neighbors: (B, T, D) → (B, ⌈T / 2⌉, 2 D), the last one with zeros if T is odd."""
    rows, longest, width = values.shape
    even = nn.functional.pad(values, (0, 0, 0, longest % 2))
    return even.reshape(rows, -1, 2 * width)
