"""The graph of a model: its encoders, then its decoders, which use the symbols of the encoders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from regard.describe.graph.counting import count, group
from regard.describe.graph.latent import tell_apart
from regard.describe.graph.part import Names, PartGraph, part_graph
from regard.describe.graph.part_board import PartBoard
from regard.describe.six_answers import memory_symbols, read_by
from regard.describe.sizes import Size
from regard.describe.vertices import Graph, Vertex
from regard.describe.weights import LetteredWeight, held, primed_letters
from regard.model.building import build_network
from regard.model.count_formula import CountFormula
from regard.model.counting import data_sizes, fitted_to_nothing, parameter_formulas
from regard.model.loading import read_columns
from regard.nn.encoders import encoder_letters
from regard.nn.symbols import MemorySymbols
from regard.notation import Range, primed, symbols
from regard.notation.grammar import Parser
from regard.notation.walking import written_symbol
from regard.parts import as_data
from regard.spec import Spec


def graph(spec: Spec, what: str = "") -> Graph:
    """The graph of a model; if `what` is the folder of a run, with its vocabularies."""
    file = Path(what) / "columns.json"
    columns = read_columns(file) if file.is_file() else fitted_to_nothing(spec)
    with torch.device("meta"):
        network: Any = build_network(spec, columns, read_files=False)
    formulas = {} if file.is_file() else parameter_formulas(spec)
    unknown = {name for one in formulas.values() for term in one.terms for name in term}
    encoders = {name: _encoder(spec, network, name) for name in spec.encoder}
    ranges: dict[str, Range] = {}
    sizes: dict[tuple[str, int], Size] = {}
    for one in encoders.values():
        ranges |= one.part.ranges
        sizes |= one.sizes
    outside = _memories(spec, encoders)
    decoders = []
    for name in spec.outputs:
        decoders.append(_decoder(spec, network, name, outside, ranges, sizes, formulas))
        ranges |= decoders[-1].part.ranges
    parts = [*encoders.values(), *decoders]
    tell_apart([unit for one in parts for unit in one.part.units])
    made = Graph(
        spec.name or what,
        [one.part for one in parts],
        [arrow for one in parts for arrow in one.arrows],
        sum(parameter.numel() for parameter in network.parameters()),
        {name: size for name, size in data_sizes(columns).items() if name in unknown},
    )
    _leave_out_unread(made)
    count(made, formulas)
    group(made)
    return made


def _leave_out_unread(made: Graph) -> None:
    """Drop the boxes of encoders that nothing reads, if others have their weights: a summary that no decoder uses, or
    the positions of a perceptron of which only the summary is read."""
    while True:
        read = {one.source for one in made.arrows if one.source != one.target}
        holders = Counter(one for unit in made.units() for one in {weight.identity for weight in unit.held})
        unread = {
            unit.key
            for unit in made.units()
            if unit.kind == "computed"
            and unit.part.startswith("encoder ")
            and unit.key not in read
            and all(holders[one.identity] > 1 for one in unit.held)
        }
        if not unread:
            return
        for part in made.parts:
            part.units = [unit for unit in part.units if unit.key not in unread]
        made.arrows = [one for one in made.arrows if one.target not in unread]


def _encoder(spec: Spec, network: Any, name: str) -> PartGraph:
    place, options, column = list(spec.encoder).index(name), spec.encoder[name], spec.inputs[name]
    owner = options.part.owner(options) or name
    owned = spec.encoder[owner]
    lines = owned.part.board(owned)
    letters = primed_letters(encoder_letters(owned), lines, place, set())
    board = PartBoard(
        f"encoder {name}",
        primed(lines, place),
        held(network.encoders[owner], letters, f"encoders.{owner}"),
        primes="′" * place,
    )
    names = Names(f"encoder of {name}", _said(options), name, column.part.describe(column, name))
    return part_graph(board, names, {})


def _decoder(
    spec: Spec,
    network: Any,
    name: str,
    outside: Mapping[str, Vertex],
    ranges: Mapping[str, Range],
    sizes: Mapping[tuple[str, int], Size],
    formulas: Mapping[str, CountFormula],
) -> PartGraph:
    place, options, column = list(spec.outputs).index(name), spec.decoder[name], spec.outputs[name]
    read = read_by(spec, name)
    kept = {one for memory in read.values() for one in memory.names}
    lines = [*options.part.board(options, read), *options.part.board_loss(options, read)]
    letters = primed_letters(options.part.letters(options, read), lines, place, kept)
    count = len(options.part.board(options, read))
    written = primed(lines, place, kept)
    board = PartBoard(
        f"decoder {name}",
        primed(lines[:count], place, kept),
        held(network.decoders[name], letters, f"decoders.{name}"),
        loss=written[count:],
        primes="′" * place,
        outside=outside,
        ranges=ranges,
        decodes=True,
    )
    names = Names(f"decoder of {name}", _said(options), name, column.part.describe(column, name))
    unknown = {term for one in formulas.values() for term in one.terms}
    grown = {weight.name for weight in board.weights if _has_a_row_each(weight, formulas)}
    return part_graph(board, names, sizes, f"V({name})" if (name,) in unknown else "", grown)


def _has_a_row_each(weight: LetteredWeight, formulas: Mapping[str, CountFormula]) -> bool:
    """Whether a weight has a row for each unit of a vocabulary."""
    if weight.name not in formulas:
        return False
    row = weight.tensor.numel() // max(1, weight.tensor.shape[0])
    return any(len(term) == 1 and factor == row for term, factor in formulas[weight.name].terms.items())


def _memories(spec: Spec, encoders: Mapping[str, PartGraph]) -> dict[str, Vertex]:
    """{symbol of an encoder that decoders may use: its vertex}."""
    found: dict[str, Vertex] = {}
    memories = memory_symbols(spec)
    for name, encoder in encoders.items():
        for text in _memory_texts(memories[name]):
            for symbol in symbols(Parser(text).expression()):
                unit = encoder.definer(symbol)
                if unit is not None:
                    found[written_symbol(symbol)] = unit
    return found


def _memory_texts(memory: MemorySymbols) -> list[str]:
    found = [memory.values, memory.keys, memory.summary, *memory.last, *memory.carried]
    if memory.words is not None:
        found += _memory_texts(memory.words)
    return [one for one in found if one]


def _said(options: Any) -> str:
    """Options in words: `recurrent, cell gru, size 128`."""
    data = as_data(options)
    if not isinstance(data, Mapping):
        return str(data)
    rest = [f"{key} {_plain(value)}" for key, value in data.items() if key != "type"]
    return ", ".join([str(data.get("type", "")), *rest])


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        kind = value.get("type")
        inside = ", ".join(f"{key} {_plain(item)}" for key, item in value.items() if key != "type")
        return f"{kind} ({inside})" if kind and inside else str(kind or inside)
    if isinstance(value, list):
        return " + ".join(map(_plain, value))
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
