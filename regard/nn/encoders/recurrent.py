"""Recurrent encoder: reads a text forward, backward, or in both directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.cells import AnyCell
from regard.nn.cells.cell import states_of
from regard.nn.embedding import TokenVectors, check_dropout
from regard.nn.encoders.encoder import LastStates, positions_read, refuse_unread
from regard.nn.encoders.layer_symbols import LayerSymbols
from regard.nn.encoders.text import (
    TextEncoder,
    build_word_embedding,
    embedding_note,
    parents_lines,
    word_vector,
)
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import faster
from regard.nn.recurrence import First, RecurrentLayer, check_residual
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Mistakes, Options, Plan, Size, register

Values = Literal["states", "embeddings"]
Direction = Literal["forward", "backward", "alternate"]


@register("encoder", "recurrent")
class RecurrentEncoder(TextEncoder):
    """h_s = [→h_s; ←h_s] with →h_s = cell(→h_{s−1}, e(x_s)) and ←h_s = cell(←h_{s+1}, e(x_s)).

    The summary is [→h_n; ←h_1], the last state of each direction. `layers` are stacked. With `residual` each
    layer from the second on adds its input to its output. Dropout acts between layers.

    values   the values that attention reads: the states h_s, or the embeddings e(x_s) with the states as
             keys. States include the context of a position, so that reading one may be enough; embeddings do
             not.
    """

    small = {"cell": "gru", "size": 128, "embedding": 128, "dropout": 0.2}

    class Options(TextEncoder.Options):
        """h_t = cell(h_{t−1}, e(x_t)), in one direction or both."""

        cell: AnyCell = "gru"
        """The recurrent cell."""
        size: Size = 256
        """Units of each layer, in each direction."""
        layers: Depth = 1
        """Number of stacked recurrent layers."""
        bidirectional: bool = True
        """Read in both directions."""
        direction: Direction = "forward"
        """Reading direction if not bidirectional. forward; backward: from the end, as with a reversed source
        (Sutskever 2014); alternate: the layers in turn, the first forward."""
        residual: bool = False
        """Add the input of each layer to its output, from the second layer on."""
        first: First = "learned"
        """The initial state: learned, or zero."""
        values: Values = "states"
        """Values that attention reads. states: the states of the last layer; embeddings: the embeddings, with
        the states as keys."""

        moved = {
            "activation": "cell: {type: rnn, activation: …}",
            "update": "cell: {type: gru, update: …}",
        }

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> RecurrentEncoder:
        return cls(
            build_word_embedding(options, column, read_files=read_files), **cls.layer_settings(options)
        )

    @classmethod
    def layer_settings(cls, options: Any) -> dict[str, Any]:
        """The options of the layers, as keywords of the encoder."""
        names = (
            "cell",
            "size",
            "layers",
            "bidirectional",
            "direction",
            "dropout",
            "residual",
            "first",
            "values",
        )
        return {name: getattr(options, name) for name in names}

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        refuse_unread(options, ["values"], plan, mistakes)
        if options.layers == 1:
            check_dropout(options, mistakes)
        cls.check_layers(options, plan, mistakes)

    @classmethod
    def check_layers(cls, options: Any, plan: Plan, mistakes: Mistakes) -> None:
        """Require that the direction of the layers and their residual connections have an effect."""
        if options.direction != "forward" and options.bidirectional:
            mistakes.add(
                "direction has no effect: a bidirectional encoder reads both directions.",
                "direction",
                fix="Set  bidirectional: false.",
            )
        elif options.direction == "alternate" and options.layers == 1:
            mistakes.add(
                "direction: alternate needs at least two layers.", "direction", fix="Set  layers: 2."
            )
        if options.residual and options.layers == 2 and not positions_read(plan, options):
            mistakes.add(
                "residual has no effect: with two layers it changes only the positions, which no decoder reads.",
                "residual",
                fix="Leave residual out, or add layers.",
            )
        check_residual(options, mistakes)

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size * (2 if options.bidirectional else 1))

    @classmethod
    def last_states(cls, options: Any) -> LastStates:
        return LastStates(options.layers, cls.width(options), options.cell.part.states)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        both = " in each direction" if options.bidirectional else ""
        return [
            *layer_lines(options, word_vector(options)),
            f"— {options.size} units{both}, {embedding_note(options)}",
            *parents_lines(options),
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return super().letters(options) | layer_letters(options)

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        written = written_last(super().symbols(options), options)
        return written if options.values == "states" else replace(written, keys="κ_j")

    def __init__(
        self,
        embedding: TokenVectors,
        *,
        cell: str | Options = "gru",
        size: int = 256,
        layers: int = 1,
        bidirectional: bool = True,
        direction: Direction = "forward",
        dropout: float = 0.0,
        residual: bool = False,
        first: First = "learned",
        values: Values = "states",
    ) -> None:
        super().__init__()
        if layers < 1:
            raise RegardError(f"An encoder needs at least one layer; received {layers}.")
        width = size * (2 if bidirectional else 1)
        self.embedding, self.residual = embedding, residual
        self.values, self.keyed = values, values != "states"
        self.summary_size = self.key_size = width
        self.value_size = width if values == "states" else embedding.size
        self.layers = nn.ModuleList(
            RecurrentLayer(
                embedding.size if index == 0 else width,
                size,
                cell=cell,
                bidirectional=bidirectional,
                first=first,
                backward=reads_backward(direction, index),
            )
            for index in range(layers)
        )
        self.dropout = nn.Dropout(dropout)
        self.hands_on = False

    def hand_on(self) -> LastStates:
        self.hands_on = True
        first: Any = self.layers[0]
        return LastStates(len(self.layers), self.summary_size, states_of(first.cell(0)))

    def forward(self, tokens: Tokens) -> Memory:
        found: Memory | None = faster("encoder.read", tokens.lengths.device, self, tokens)
        if found is not None:
            return found
        mask = tokens.mask
        packing = Packing.of(tokens.lengths, mask.shape[1], tokens.counts)
        embedded = self.embedding.read(tokens, packing.pack)  # (N, E): padding is never computed
        values, last = self.run_layers(embedded, packing)
        memory = Memory(packing.unpack(values), mask, last[-1][:, : self.summary_size])
        if self.hands_on:
            memory = replace(memory, last=tuple(last))
        if self.values == "states":
            return memory
        return replace(memory, values=packing.unpack(embedded), keys=memory.values)

    def run(self, embedded: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        """Packed vectors (N, E) → packed states of the last layer (N, D), and the summaries of the rows (B, D)."""
        values, last = self.run_layers(embedded, packing)
        return values, last[-1][:, : self.summary_size]

    def run_layers(self, embedded: Tensor, packing: Packing) -> tuple[Tensor, list[Tensor]]:
        """The same, with the last states of every layer (B, D),
        including what is carried if they are handed on."""
        values, last = embedded, []
        for index, layer in enumerate(self.layers):
            inputs = values if index == 0 else self.dropout(values)
            values, states = layer(inputs, packing, whole=self.hands_on)
            last.append(states)
            if self.residual and index > 0:
                values = values + inputs
        return values, last


def reads_backward(direction: Direction, layer: int) -> bool:
    """Whether a layer, counted from 0, reads backward."""
    return direction == "backward" or (direction == "alternate" and layer % 2 == 1)


def written_last(written: MemorySymbols, options: Any) -> MemorySymbols:
    """Add the symbols of the last states of all layers; that of the top layer is the summary."""
    cell = options.cell.part
    found: dict[str, list[str]] = {letter: [] for letter in ("h", *cell.carried_letters("m"))}
    alone = "κ" if options.values == "embeddings" and options.layers == 1 else "h"
    arrow = "→" if options.residual and options.layers > 1 else ""
    for layer in range(1, options.layers + 1):
        end, begin = (f"{layer}S", f"{{{layer},1}}") if options.layers > 1 else ("S", "1")
        for letter, states in found.items():
            one = f"{arrow}{alone if letter == 'h' else letter}"
            place = begin if reads_backward(options.direction, layer - 1) else end
            both = f"[→{letter}_{end}; ←{letter}_{begin}]"
            states.append(both if options.bidirectional else f"{one}_{place}")
    carried = tuple(one for letter, states in found.items() if letter != "h" for one in states)
    return replace(written, last=(*found["h"][:-1], written.summary), carried=carried)


def layer_lines(options: Any, vector: str) -> list[str]:
    """Equations from the vectors of the units to the memory and its summary."""
    return _several_layers(options, vector) if options.layers > 1 else _one_layer(options, vector)


def layer_letters(options: Any) -> Letters:
    """The letters of the layers."""
    layers = _each_layer(options)
    if all(layer is layers[0] for layer in layers):
        return under("layers.*", layers[0].letters())
    found: Letters = {}
    for number, layer in enumerate(layers):
        found |= under(f"layers.{number}", layer.letters())
    return found


def _any_layer(options: Any) -> LayerSymbols:
    """The symbols of layer l of several."""
    # if a layer adds its input, its output differs from its recurrent state
    apart = options.residual and not options.bidirectional
    mark, letter = ("l→", "→h") if apart else ("l", "h")
    return LayerSymbols(
        options.cell,
        options.bidirectional,
        inputs="h_{l−1,j}",
        at=("l",),
        letter=letter,
        mark=mark,
        backward=options.direction == "backward",
    )


def _each_layer(options: Any) -> list[LayerSymbols]:
    """The symbols of every layer; those of the layers that one line describes are the same."""
    both, backward = options.bidirectional, options.direction == "backward"
    if options.layers == 1:
        alone = "h" if both or options.values != "embeddings" else "κ"
        return [LayerSymbols(options.cell, both, letter=alone, backward=backward)]
    layer = _any_layer(options)
    if options.direction != "alternate":
        return [layer] * options.layers
    return [
        replace(
            layer,
            inputs=f"h_{number - 1}j",
            at=(str(number),),
            mark=layer.mark.replace("l", str(number)),
            backward=reads_backward(options.direction, number - 1),
        )
        for number in range(1, options.layers + 1)
    ]


def _one_layer(options: Any, vector: str) -> list[str]:
    keys, both = options.values == "embeddings", options.bidirectional
    memory, backward = "κ" if keys else "h", options.direction == "backward"
    (layer,) = _each_layer(options)
    note, zeros = layer.first_states(options.first, options.size)
    steps = layer.steps()
    return [
        "j = 1 … S" + (", d ∈ {→, ←}" if both else ""),
        f"x_j = {vector}",
        steps[0] + note,
        *steps[1:],
        *zeros,
        *([f"{memory}_j = [→h_j; ←h_j]"] if both else []),
        *(["h_j = x_j     — the values; κ_j: the keys"] if keys else []),
        ("h = [→h_S; ←h_1]" if both else f"h = {memory}_{1 if backward else 'S'}") + "     — the summary",
        *layer.functions(),
    ]


def _several_layers(options: Any, vector: str) -> list[str]:
    keys, both, last = options.values == "embeddings", options.bidirectional, options.layers
    layer, letter = _any_layer(options), _any_layer(options).letter
    note, zeros = layer.first_states(options.first, options.size)
    steps = layer.steps()
    if options.direction == "alternate":
        each = _each_layer(options)
        firsts = [one.first_states(options.first, options.size) for one in each]
        zeros = [line for _, lines in firsts for line in lines]
        steps = [line + told for one, (told, _) in zip(each, firsts, strict=True) for line in one.steps()]
        note = ""
    output = "[→h_{0}; ←h_{0}]" if both else "→h_{0}"
    outputs = [f"h_lj = {output.format('lj')}"] if both else []
    if options.residual:
        outputs = [f"h_1j = {output.format('1j')}", f"h_lj = {output.format('lj')} + h_{{l−1,j}}"]
    summary = f"[→h_{last}S; ←h_{{{last},1}}]" if both else f"{letter}_{last}S"
    if reads_backward(options.direction, last - 1):
        summary = f"{letter}_{{{last},1}}"
    return [
        f"j = 1 … S, l = 1 … {last}" + (", d ∈ {→, ←}" if both else ""),
        f"h_0j = {vector}",
        steps[0] + note,
        *steps[1:],
        *zeros,
        *outputs,
        f"{'κ' if keys else 'h'}_j = h_{last}j",
        *(["h_j = h_0j     — the values; κ_j: the keys"] if keys else []),
        f"h = {summary}     — the summary",
        *layer.functions(),
    ]
