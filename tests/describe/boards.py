"""The board that `regard describe` prints for a spec, with the weights of its network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.data.batch import Batch
from regard.describe import answers
from regard.describe.six_answers import memory_symbols, read_by
from regard.nn.memory import Memory
from regard.nn.network import Network
from regard.nn.symbols import MemorySymbols
from regard.notation import primed
from regard.spec import Spec
from regard.testing.board import Board
from tests.describe.bindings import of_decoder, of_encoder
from tests.describe.small import true_looks

SECTIONS = ("encoder", "decoder", "loss")


@dataclass(frozen=True)
class Evaluated:
    """A board and the network's results for the same row.

    apart      boards of inputs that share the encoder of another input: its equations with their own words
    memories   by input; `given` are the memories of each output, `truth` the true attention of its decoder
    """

    board: Board
    apart: dict[str, Board]
    memories: dict[str, Memory]
    given: dict[str, dict[str, Memory]]
    truth: dict[str, dict[str, Any]]


def evaluated(network: Network, spec: Spec, batch: Batch, wrong: tuple[str, str] | None = None) -> Evaluated:
    """wrong: a piece of the board and its replacement, for tests that a wrong board is noticed."""
    lines = {section: answers(spec)[section] for section in SECTIONS}
    if wrong is not None:
        assert any(wrong[0] in line for part in lines.values() for line in part), wrong[0]
        lines = {section: [line.replace(*wrong) for line in part] for section, part in lines.items()}
    memories = network.encode(batch)
    symbols, binding = memory_symbols(spec), dict[str, Any]()
    apart: dict[str, Board] = {}
    for place, (name, options) in enumerate(spec.encoder.items()):
        owner = options.part.owner(options)
        if owner is None:
            _add(binding, _of_input(network, spec, batch, name, name, place))
            continue
        other = _of_input(network, spec, batch, owner, name, list(spec.encoder).index(owner))
        apart[name] = Board(_block(lines["encoder"], owner, list(spec.encoder)), other)
        _add(binding, _found(apart[name], symbols[owner], symbols[name]))
    given, truth = {}, {}
    for place, (name, decoder) in enumerate(network.decoders.items()):
        given[name] = network.memories(name, memories)
        truth[name] = true_looks(decoder, given[name], batch[name])
        written, options = read_by(spec, name), spec.decoder[name]
        found = of_decoder(decoder, options, given[name], written, batch[name], truth[name])
        plain = [*options.part.board(options, written), *options.part.board_loss(options, written)]
        kept = {one for memory in written.values() for one in memory.names}
        _add(binding, _renamed(found, plain, place, kept))
    board = Board([line for section in SECTIONS for line in lines[section]], binding)
    return Evaluated(board, apart, memories, given, truth)


def _of_input(
    network: Network, spec: Spec, batch: Batch, owner: str, name: str, place: int
) -> dict[str, Any]:
    """The binding of the owner's encoder, applied to the input `name`."""
    tree = batch[network.trees[name]] if name in network.trees else None
    options = spec.encoder[owner]
    found = of_encoder(network.encoders[owner], options, batch[name], tree)
    return _renamed(found, options.part.board(options), place)


def _renamed(
    binding: Mapping[str, Any], lines: Sequence[str], place: int, kept: set[str] | None = None
) -> dict[str, Any]:
    """Add the primes that the symbols have in the lines."""
    names = primed([*lines, *binding], place, kept or ())[len(lines) :]
    return dict(zip(names, binding.values(), strict=True))


def _block(lines: Sequence[str], name: str, among: Sequence[str]) -> list[str]:
    """The lines below a heading, up to the next one."""
    headings = {f"— {one}": one for one in among}
    found, current = [], ""
    for line in lines:
        current = headings.get(line, current)
        if current == name:
            found.append(line)
    return found


def _found(board: Board, theirs: MemorySymbols, mine: MemorySymbols) -> dict[str, Any]:
    """The memory computed by a separate board, under its symbols on the whole board."""
    values = board.all(theirs.values)
    return {mine.length: len(values), mine.values: values, mine.summary: board(theirs.summary)}


def _add(binding: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add symbols to the binding; a symbol must not be bound twice."""
    twice = [
        name
        for name, value in more.items()
        if name in binding and not (isinstance(value, int) and binding[name] == value)
    ]
    assert not twice, f"{', '.join(twice)}: bound twice"
    binding.update(more)


def stacked(board: Board, symbol: str, tables: int) -> torch.Tensor:
    """A symbol for every position. If each hop has its own, concatenate them, as the memory does."""
    found = board.all(symbol)
    return found if found.ndim == 2 else torch.cat(list(found[:tables]), -1)
