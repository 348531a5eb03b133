"""Where each letter of a lecture lives in a network: the parameter and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.course.notations.letters import CELLS
from regard.course.notations.lines import Lettering, placed
from regard.describe.notations import Weight
from regard.model.building import build_network
from regard.model.counting import fitted_to_nothing
from regard.model.loading import read_columns
from regard.spec import Spec

MATRICES = {"W": "weight_ih", "U": "weight_hh", "b": "bias_ih", "c": "bias_hh"}
ADDITIVE = {"vector": "v_a·", "query.weight": "U_a", "key.weight": "W_a"}


class Weights:
    """All weights of a model, each with its letter."""

    def __init__(self, spec: Spec, lettering: Lettering, columns_file: Path | None) -> None:
        self.lettering, self.letters = lettering, lettering.letters
        self.known = columns_file is not None
        columns = read_columns(columns_file) if columns_file is not None else fitted_to_nothing(spec)
        with torch.device("meta"):
            network = build_network(spec, columns, read_files=False)
        self.names = {id(parameter): name for name, parameter in network.named_parameters()}
        application = lettering.application
        self.encoder: Any = network.encoders[application.source] if application.source else None
        self.image: Any = network.encoders[application.image] if application.image else None
        self.decoder: Any = network.decoders[application.target]

    def found(self) -> list[Weight]:
        """In the order of the network."""
        return [*self._encoders(), *self._decoder()]

    def _weight(
        self, letter: str, parameter: Any, index: Sequence[slice | int] = (), words: str = ""
    ) -> Weight:
        shape = [str(side) for side in (parameter[tuple(index)] if index else parameter).shape]
        if words and not self.known:
            shape[0] = f"V({words})"
        return Weight(letter, self.names[id(parameter)], tuple(index), tuple(shape))

    def _encoders(self) -> Iterator[Weight]:
        application, options = self.lettering.application, self.lettering.encoder
        if application.kind == "language":
            return
        if self.image is not None:
            yield from self._convolutions(self.image)
        if application.kind == "image":
            yield from self._convolutions(self.encoder)
        elif application.kind == "video":
            yield from self._convolutions(self.encoder.frames)
            yield from self._layer(self.encoder.layer, "", options)
        elif application.kind == "hierarchical":
            yield self._weight("e_enc", self.encoder.embedding.weight, words=application.source)
            for level, mark in ((options.words, "w"), (options.sentences, "")):
                reader = self.encoder.words if mark else self.encoder.sentences
                yield from self._layer(reader.layers[0], mark, level)
            if self.encoder.attention is not None:
                yield self._weight("q_w", self.encoder.query)
                yield from self._looks_of_level(self.encoder.attention.score, "w")
        else:
            name = "q" if application.kind == "question" else "enc"
            yield self._weight(f"e_{name}", self.encoder.embedding.weight, words=application.source)
            yield from self._layer(self.encoder.layers[0], "", options)

    def _convolutions(self, module: Any) -> Iterator[Weight]:
        for parameter in module.parameters():
            yield Weight("W_conv", self.names[id(parameter)], (), tuple(map(str, parameter.shape)))

    def _layer(self, layer: Any, word: str, options: Any) -> Iterator[Weight]:
        kind, both = options.cell.type, options.bidirectional
        learned = getattr(options, "first", "learned") == "learned"
        for number, mark in enumerate("→←" if both else ("" if word else "x")):
            yield from self._cell(layer.cells[number], kind, word, mark)
        if not both and word:
            yield from self._cell(layer.cells[0], kind, word, "")
        if not learned:
            return
        size = layer.cells[0].size
        kinds = layer.first.shape[1] // size
        for number in range(2 if both else 1):
            arrow = ("→", "←")[number] if both else ""
            at = "{S+1}" if (arrow == "←") != layer.backward else "0"
            for part, letter in enumerate("hm"[:kinds]):
                index = (number, slice(part * size, (part + 1) * size))
                yield self._weight(self._first_state(arrow, letter, at, word), layer.first, index)

    def _first_state(self, arrow: str, letter: str, at: str, word: str) -> str:
        lettering, letters = self.lettering, self.letters
        if lettering.levels:
            at = at.replace("S", "K")
            level = "^1" if word else "" if lettering.attends else "^2"
            return f"{arrow}{letter}_{'0' if word else at}{level}"
        if lettering.application.kind == "question":
            letter = letter.replace("h", "h̃")
        if lettering.application.at_once and letters.condition:
            at = at.replace("S", "T")
        return placed(f"{arrow}{letter.replace('h', letters.value, 1)}_{at}", letters)

    def _cell(self, cell: Any, kind: str, word: str, mark: str) -> Iterator[Weight]:
        for ours, attribute in MATRICES.items():
            parameter = getattr(cell, attribute)
            for number, gate in enumerate(CELLS[kind]):
                rows = slice(number * cell.size, (number + 1) * cell.size)
                yield self._weight(self.lettering.cell_weight(ours, gate, word, mark), parameter, (rows,))

    def _looks_of_level(self, score: Any, level: str) -> Iterator[Weight]:
        """u_w, W_w and the factors of b_w."""
        letters = {"vector": "u", "query.weight": "B", "key.weight": "W"}
        for name, parameter in score.named_parameters():
            yield self._weight(f"{letters[name]}_{level}", parameter)

    def _decoder(self) -> Iterator[Weight]:
        target, decoder, options = self.lettering.application.target, self.decoder, self.lettering.decoder
        if options.type == "recurrent":
            yield self._weight("e_dec", decoder.embedding.weight, words=target)
            yield from self._cell(decoder.stack.cells[0], options.cell.type, "", "y")
            yield from self._first_states(options)
            if decoder.reading is not None:
                yield from self._attention()
            if decoder.combine is not None:
                yield self._weight("W_out", decoder.combine.weight)
                yield self._weight("b_out", decoder.combine.bias)
        elif options.type == "language":
            yield self._weight("e", decoder.embedding.weight, words=target)
            yield from self._cell(decoder.cells[0], options.cell.type, "", "s")
            carried = ["s", *options.cell.part.carried_letters("n")]
            for letter, part in zip(carried, _pieces(decoder, len(carried)), strict=False):
                yield self._weight(placed(f"{letter}_0", self.letters), decoder.firsts[0], (part,))
        elif self.lettering.attends:
            yield self._weight("q", decoder.query)
            attention = decoder.reading.attention(self.lettering.application.source)
            yield from self._looks_of_level(attention.score, "s")
        yield self._weight(self.letters.output, decoder.output.weight, words=target)
        yield self._weight(self.lettering.bias, decoder.output.bias, words=target)

    def _first_states(self, options: Any) -> Iterator[Weight]:
        carried = ["s", *options.cell.part.carried_letters("n")]
        for number, letter in enumerate(carried):
            rows = slice(number * options.size, (number + 1) * options.size)
            above = f"^{letter}" if len(carried) > 1 else ""
            if self.decoder.bridge is not None:
                yield self._weight(f"W_init{above}", self.decoder.bridge.weight, (rows,))
                yield self._weight(f"b_init{above}", self.decoder.bridge.bias, (rows,))
            elif self.decoder.first is not None:
                yield self._weight(placed(f"{letter}_0", self.letters), self.decoder.first, (rows,))

    def _attention(self) -> Iterator[Weight]:
        attention = self.decoder.reading.attention(self.lettering.application.source)
        named = dict(attention.score.named_parameters())
        for name, parameter in named.items():
            ours = ADDITIVE[name] if "vector" in named else "W_a"
            theirs = self.letters.score.get(ours, ours) if "vector" in named else self.letters.general
            yield self._weight(theirs.rstrip("·ᵀ "), parameter)
        mine = {id(parameter) for parameter in named.values()}
        for parameter in attention.parameters():
            if id(parameter) not in mine:
                yield self._weight("θ_a", parameter)


def _pieces(decoder: Any, count: int) -> list[slice]:
    """The equal pieces of the first state that a language model learned; none if it is zero."""
    size = decoder.cells[0].state_size // count
    return [slice(number * size, (number + 1) * size) for number in range(count if decoder.firsts else 0)]
