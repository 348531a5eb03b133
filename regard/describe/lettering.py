"""A model in the notation of a lecture: `regard describe NAME --as 004`, with shape and location of each weight.

The lines are those of our own board, with each symbol renamed as in the lecture. Lectures write one bias where a cell
has two, W for the matrix of the state and U for that of the input, and enc, dec, attn for the module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from regard.describe.six_answers import NOTE, answers
from regard.errors import Message, Option, RegardError, Words
from regard.model.building import build_network
from regard.model.counting import fitted_to_nothing
from regard.model.loading import read_columns
from regard.spec import Spec

CELLS = {"rnn": "h", "gru": "rzn", "lstm": "ifgo"}
"""The gates of a cell in the order of its rows, in the letters of our board."""
MATRICES = {"W": "weight_ih", "U": "weight_hh", "b": "bias_ih", "c": "bias_hh"}
SIDES = {"x": "enc", "→": "enc", "←": "enc", "d": "enc", "y": "dec"}


NOTATION = Option("as")
WITHOUT = Message("Leave ", NOTATION, " out: `regard describe` prints any model in its own notation.")


@dataclass(frozen=True)
class Letters:
    """The differences between the notation of a lecture and ours.

    gates     {cell: {our gate: superscript of its weights}}; the candidate has none
    inside    {cell: {our letter in the function of a cell: the lecture's}}; `decoder` adds those of a decoder
    score     {our letter: the lecture's} of an additive score; `general` is W in s·W h
    weight    the indices of an attention weight: jt or ti
    """

    gates: Mapping[str, Mapping[str, str]]
    inside: Mapping[str, Mapping[str, str]]
    decoder: Mapping[str, str]
    score: Mapping[str, str]
    general: str
    weight: str
    context: str
    bias: str
    position: str = "j"
    remarks: tuple[str, ...] = ()


LECTURES = {
    "004": Letters(
        gates={
            "gru": {"r": "o", "z": "i", "n": ""},
            "lstm": {"i": "i", "f": "f", "o": "o", "g": ""},
            "rnn": {"h": ""},
        },
        inside={"gru": {"r": "o", "z": "i", "n": "s̃"}, "lstm": {"g": "s̃", "m": "s", "m′": "s′"}, "rnn": {}},
        decoder={"h": "s"},
        score={"v_a·": "V_attnᵀ ", "U_a": "W_attn", "W_a": "U_attn"},
        general="W_attn",
        weight="jt",
        context="c",
        bias="b",
        remarks=(
            "the slide sets s_0 = h_T, as `bridge: copy` does; here s_0 is a tanh layer with W_init over h_T",
            "the slide scores with s_t, which depends on c_t; here the score uses s_{t−1}",
        ),
    ),
    "003": Letters(
        gates={
            "gru": {"r": "r", "z": "z", "n": ""},
            "lstm": {"i": "i", "f": "f", "o": "o", "g": ""},
            "rnn": {"h": ""},
        },
        inside={"gru": {"n": "h̃"}, "lstm": {"g": "c̃", "m": "c", "m′": "c′"}, "rnn": {}},
        decoder={},
        score={},
        general="W_a",
        weight="ti",
        context="C",
        bias="c",
        position="i",
    ),
}
"""The lectures that name their weights."""


@dataclass(frozen=True)
class Weight:
    """The part of a parameter that one letter stands for.

    index   slice of the parameter; empty for all of it
    sides   its shape, as text: V(target) if it depends on a vocabulary
    """

    letter: str
    name: str
    index: tuple[slice | int, ...]
    sides: tuple[str, ...]

    @property
    def place(self) -> str:
        """decoders.target.stack.cells.0.weight_ih[0:256]"""
        told = [f"{one.start}:{one.stop}" if isinstance(one, slice) else str(one) for one in self.index]
        return f"{self.name}[{', '.join(told)}]" if told else self.name


@dataclass(frozen=True)
class Lettered:
    """The answers in the notation of a lecture, the location of each weight, and deviations from the lecture."""

    answers: dict[str, list[str]]
    weights: list[Weight]
    remarks: list[str] = field(default_factory=list)


def lettered(spec: Spec, deck: str, columns_file: Path | None = None) -> Lettered:
    """A model in the notation of a lecture; a RegardError names anything for which the lecture has no letters."""
    _check(spec, deck)
    letters = LECTURES[deck]
    found = answers(spec)
    for side in ("encoder", "decoder", "loss"):
        found[side] = [_line(line, letters, spec, side[:3]) for line in found[side]]
    if next(iter(spec.encoder.values())).type == "image":
        found["encoder"] = [
            "j = 1 … S".replace("j", letters.position),
            f"{NOTE} h_j = CNN(I) at each position, h = CNN(I) of the whole image",
        ]
    weights = list(_weights(spec, letters, columns_file))
    return Lettered(found, weights, _remarks(spec, letters))


def has_letters(spec: Spec, deck: str) -> bool:
    """Whether a lecture has letters for every part of a model."""
    try:
        _check(spec, deck)
    except RegardError:
        return False
    return True


def _check(spec: Spec, deck: str) -> None:
    """Refuse models that the notation of a lecture does not cover."""
    if deck not in LECTURES:
        raise RegardError(
            f"lecture {deck!r} has no notation for weights.",
            where=NOTATION,
            fix=f"Use one of {', '.join(sorted(LECTURES))}.",
        )

    def refuse(what: str, fix: Words = WITHOUT) -> None:
        raise RegardError(f"lecture {deck} has no notation for {what}.", where=NOTATION, fix=fix)

    if len(spec.encoder) != 1 or len(spec.outputs) != 1:
        refuse("several inputs or outputs")
    encoder, decoder = next(iter(spec.encoder.values())), next(iter(spec.decoder.values()))
    if encoder.type not in ("recurrent", "image") or getattr(encoder, "parents", None) is not None:
        refuse(f"the encoder {encoder.type}")
    if encoder.type == "recurrent" and (encoder.layers > 1 or encoder.cell.type not in CELLS):
        refuse("an encoder of several layers" if encoder.layers > 1 else f"the cell {encoder.cell.type}")
    if decoder.type == "recurrent":
        looks = decoder.attention
        if decoder.layers > 1 or decoder.cell.type not in CELLS:
            refuse("a decoder of several layers" if decoder.layers > 1 else f"the cell {decoder.cell.type}")
        if decoder.tie != "none" or decoder.deep:
            refuse("tied weights or a deep output")
        if len(looks) > 1 or any(one.select.type != "softmax" for one in looks):
            refuse(f"the selection {looks[0].select.type}")
        if any(one.score.type not in ("additive", "general", "dot") for one in looks):
            refuse(f"the score {looks[0].score.type}")
        if any(one.guide or one.coverage or one.repetition for one in looks):
            refuse("a guide or a penalty of the attention")
        if any(one.gate or one.level != "positions" for one in looks):
            refuse("a gate of the attention, or attention over words of sentences")
        if decoder.copy_ is not None:
            refuse("copying")
        if others := set(decoder.ways) - {"start", "every-step", "attention"}:
            refuse(f"the condition {', '.join(sorted(others))}")
    elif (
        decoder.type not in ("label", "tags")
        or getattr(decoder, "attention", None)
        or getattr(decoder, "hidden", None)
    ):
        refuse(f"the decoder {decoder.type} with these options")


def _line(line: str, letters: Letters, spec: Spec, side: str) -> str:
    """A line of the board with the lecture's names; notes stay. side: enc or dec, the module of the line."""
    said, dash, note = line.partition(NOTE)
    if not said.strip():
        return line
    options: Any = [*spec.encoder.values(), *spec.decoder.values()]
    kinds = {"enc": options[0], "dec": options[-1]}
    function = said.startswith("    ") or re.match(r"(gru|lstm|rnn)_[dxy]\(", said) is not None
    cell = getattr(getattr(kinds.get(side), "cell", None), "type", "")
    said = re.sub(r"\b([WUbc])_([a-z])([dxy])(?!\w)", lambda m: _cell_weight(m, letters, kinds), said)
    said = re.sub(r"\b(gru|lstm|rnn)_([→←d]|[xy](?!\w))", lambda m: m[1].upper() + _suffix(m[2]), said)
    if function and cell:
        renamed = {**letters.inside[cell], **(letters.decoder if side == "dec" and cell != "lstm" else {})}
        if cell == "gru" and side == "enc" and letters.decoder:
            renamed["n"] = "h̃"
        said = re.sub(r"(?<![\w^_])([a-z]′?)(?![\w(\u0300-\u036f])", lambda m: renamed.get(m[1], m[1]), said)
    else:
        said = _look(said, letters)
        said = re.sub(r"\b([Wb])_([sn])(?!\w)", lambda m: _first(m, kinds["dec"]), said)
        said = re.sub(r"\b([Wb])_o(?!\w)", r"\1_out", said)
        said = said.replace("V_y", "V").replace("b_y", letters.bias)
        said = re.sub(r"E_x\[([^\[\]]*)\]", r"e_enc(\1)", said)
        said = re.sub(r"E_y\[([^\[\]]*)\]", r"e_dec(\1)", said)
        if letters.position != "j":
            said = re.sub(r"(?<![A-Za-z])j(?![A-Za-z])|(?<=_)j|(?<=t)j\b", letters.position, said)
    return f"{said}{dash}{note}"


def _suffix(mark: str) -> str:
    """The subscript of a cell: the directions → and ←, or the name of a single encoder or decoder."""
    return f"_{mark}" if mark in "→←d" else f"_{SIDES[mark]}"


def _cell_weight(found: re.Match[str], letters: Letters, kinds: Mapping[str, Any]) -> str:
    ours, gate, mark = found.groups()
    return _weight_letter(ours, gate, mark, letters, kinds[SIDES[mark]].cell.type)


def _weight_letter(ours: str, gate: str, mark: str, letters: Letters, cell: str) -> str:
    above = letters.gates[cell][gate]
    name = {"W": "U", "U": "W", "b": "b", "c": "d"}[ours]
    direction = f"_{mark}" if mark in "→←d" else ""
    return f"{name}_{SIDES[mark]}{f'^{above}' if above else ''}{direction}"


def _first(found: re.Match[str], decoder: Any) -> str:
    """The weights of the initial state; for an LSTM, separate ones for state and memory."""
    carries = decoder.type == "recurrent" and decoder.cell.part.carries
    return f"{found[1]}_init^{found[2]}" if carries else f"{found[1]}_init"


def _look(said: str, letters: Letters) -> str:
    """Rename scores, weights and contexts of an attention."""
    at = letters.weight.replace("i", letters.position)
    if said.startswith("α_t = softmax_j(e_tj)"):
        over = letters.position
        return f"α_{at} = exp(e_{at}) / Σ_{over} exp(e_{at})     "
    if "v_a·" in said:
        said = re.sub(r"v_a·|U_a\b|W_a\b", lambda m: letters.score.get(m[0], m[0]), said)
    else:
        said = re.sub(r"\bW_a\b", letters.general, said)
    said = said.replace("e_tj", f"e_{at}").replace("α_tj", f"α_{at}")
    return re.sub(r"\bc_t\b", f"{letters.context}_t", said)


def _weights(spec: Spec, letters: Letters, columns_file: Path | None) -> Iterator[Weight]:
    """Every weight with its letter, in the order of the network."""
    known = columns_file is not None
    columns = read_columns(columns_file) if columns_file is not None else fitted_to_nothing(spec)
    with torch.device("meta"):
        network = build_network(spec, columns, read_files=False)
    places = {id(parameter): name for name, parameter in network.named_parameters()}

    def weight(letter: str, parameter: Any, index: Sequence[slice | int] = (), words: str = "") -> Weight:
        shape = [str(side) for side in (parameter[tuple(index)] if index else parameter).shape]
        if words and not known:
            shape[0] = f"V({words})"
        return Weight(letter, places[id(parameter)], tuple(index), tuple(shape))

    def of_cell(cell: Any, kind: str, mark: str) -> Iterator[Weight]:
        for ours, attribute in MATRICES.items():
            parameter = getattr(cell, attribute)
            for number, gate in enumerate(CELLS[kind]):
                rows = slice(number * cell.size, (number + 1) * cell.size)
                yield weight(_weight_letter(ours, gate, mark, letters, kind), parameter, (rows,))

    (source, options), (target, decoding) = next(iter(spec.encoder.items())), next(iter(spec.decoder.items()))
    encoder: Any = network.encoders[source]
    decoder: Any = network.decoders[target]
    if options.type == "image":
        for name, parameter in encoder.named_parameters():
            yield Weight("W_conv", f"encoders.{source}.{name}", (), tuple(map(str, parameter.shape)))
    else:
        yield weight("e_enc", encoder.embedding.weight, words=source)
        layer: Any = encoder.layers[0]
        both = len(layer.cells) == 2
        for number, mark in enumerate("→←" if both else "x"):
            yield from of_cell(layer.cells[number], options.cell.type, mark)
            if options.first == "learned":
                yield from _first_states(layer, number, both, letters, weight)
    if decoding.type != "recurrent":
        yield weight("V", decoder.output.weight, words=target)
        yield weight(letters.bias, decoder.output.bias, words=target)
        return
    yield weight("e_dec", decoder.embedding.weight, words=target)
    yield from of_cell(decoder.stack.cells[0], decoding.cell.type, "y")
    carried = ["s", *decoding.cell.part.carried_letters("n")]
    for number, letter in enumerate(carried):
        rows = slice(number * decoding.size, (number + 1) * decoding.size)
        above = f"^{letter}" if len(carried) > 1 else ""
        if decoder.bridge is not None:
            yield weight(f"W_init{above}", decoder.bridge.weight, (rows,))
            yield weight(f"b_init{above}", decoder.bridge.bias, (rows,))
        elif decoder.first is not None:
            yield weight(f"{letter}_0", decoder.first, (rows,))
    if decoder.reading is not None:
        score = decoder.reading.attention(source).score
        named = dict(score.named_parameters())
        additive = {"vector": "v_a·", "query.weight": "U_a", "key.weight": "W_a"}
        for name, parameter in named.items():
            ours = additive[name] if "vector" in named else "W_a"
            theirs = letters.score.get(ours, ours) if "vector" in named else letters.general
            yield weight(theirs.rstrip("·ᵀ "), parameter)
    if decoder.combine is not None:
        yield weight("W_out", decoder.combine.weight)
        yield weight("b_out", decoder.combine.bias)
    yield weight("V", decoder.output.weight, words=target)
    yield weight(letters.bias, decoder.output.bias, words=target)


def _first_states(layer: Any, number: int, both: bool, letters: Letters, weight: Any) -> Iterator[Weight]:
    """The learned states before the first and after the last word, and the memories of an LSTM."""
    arrow = ("→", "←")[number] if both else ""
    at = "{S+1}" if (arrow == "←") != layer.backward else "0"
    size = layer.cells[0].size
    for part, letter in enumerate("hm" if layer.first.shape[1] > size else "h"):
        yield weight(f"{arrow}{letter}_{at}", layer.first, (number, slice(part * size, (part + 1) * size)))


def _remarks(spec: Spec, letters: Letters) -> list[str]:
    """The deviations of this model from the slides."""
    decoder: Any = next(iter(spec.decoder.values()))
    found = []
    for options in (*spec.encoder.values(), decoder):
        cell = getattr(options, "cell", None)
        if cell is not None and cell.type == "gru" and cell.reset == "after":
            found.append(
                "the slide resets before the product W h, as `cell: {type: gru, reset: before}` does"
            )
            break
    if decoder.type == "recurrent":
        made = "start" in decoder.ways and decoder.bridge != "copy"
        wanted = [made, any(one.state == "previous" for one in decoder.attention)]
        found += [remark for remark, is_so in zip(letters.remarks, wanted, strict=False) if is_so]
    found.append(
        "a cell here has two biases, b for the input and d for the state; the slide has one, their sum"
    )
    return found
