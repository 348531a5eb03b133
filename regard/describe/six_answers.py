"""The six answers about a model, as lines of plain text: data, encoder, decoder, parameters, loss, algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.nn.search import Sample
from regard.nn.symbols import MemorySymbols
from regard.notation import primed
from regard.parts import as_data, is_stream
from regard.spec import Spec, TrainingSpec
from regard.spec.sections import SPAN, STREAMS

Answer = list[str]
NOTE = "—"
"""Starts a note on a line."""


def answers(spec: Spec) -> dict[str, Answer]:
    """The six answers in plain text, with symbolic parameter counts (`board` has the numbers)."""
    return {
        "data": _data(spec),
        "encoder": _encoders(spec),
        "decoder": _decoders(spec),
        "parameters": [],
        "loss": _loss(spec),
        "algorithm": _algorithm(spec),
    }


def memory_symbols(spec: Spec) -> dict[str, MemorySymbols]:
    """The notation for the memory of each input: that of the second input has a prime, that of the third two."""
    found = {}
    for place, (name, options) in enumerate(spec.encoder.items()):
        owner = options.part.owner(options)
        owned = options if owner is None else spec.encoder[owner]
        found[name] = owned.part.symbols(owned).primed(place)
    return found


def read_by(spec: Spec, output: str) -> dict[str, MemorySymbols]:
    """The memories that the decoder of an output reads."""
    symbols, decoder = memory_symbols(spec), spec.decoder[output]
    of = getattr(spec.outputs[output], "of", None)
    over = decoder.over or tuple(symbols)
    if isinstance(of, str):  # a column of one input; its decoder may read others too
        read = {*decoder.part.reads_positions(decoder, output, spec)}
        read |= {*decoder.part.reads_summaries(decoder, output, spec)}
        over = tuple(dict.fromkeys((of, *(name for name in over if name in read))))
    return {name: symbols[name] for name in over}


def _encoders(spec: Spec) -> Answer:
    symbols, lines = memory_symbols(spec), []
    if not spec.encoder:
        return [f"{NOTE} none: the model has no input"]
    for place, (name, options) in enumerate(spec.encoder.items()):
        found = primed(options.part.board(options), place)
        for symbol, other in options.part.borrowed(options).items():
            mine = primed([symbol], place)[0]
            found.append(f"{mine} = {symbols[other].embedding}     — shared with {other}")
        lines += _named(name, found, spec.encoder)
    return lines


def _decoders(spec: Spec) -> Answer:
    lines = []
    for place, name in enumerate(spec.outputs):
        options, memories = spec.decoder[name], read_by(spec, name)
        found = primed(options.part.board(options, memories), place, _kept(memories))
        lines += _named(name, found, spec.outputs)
    return lines


def _kept(memories: Mapping[str, MemorySymbols]) -> set[str]:
    """The symbols of memories, which no decoder may use otherwise."""
    return {name for memory in memories.values() for name in memory.names}


def _named(name: str, lines: Answer, among: Mapping[str, Any]) -> Answer:
    """The lines, preceded by a line with the name if there are several."""
    return [f"{NOTE} {name}", *lines] if len(among) > 1 else lines


def _data(spec: Spec) -> Answer:
    inputs = ", ".join(column.part.describe(column, name) for name, column in spec.inputs.items())
    outputs = ", ".join(column.part.describe(column, name) for name, column in spec.outputs.items())
    lines = ["pairs (x, y):", f"x = {inputs}", f"y = {outputs}"] if inputs else [f"y = {outputs}"]
    lines += [f"known truth: {column.part.describe(column, name)}" for name, column in spec.truth.items()]
    if spec.data.world:
        lines.append(f"from the generated world {spec.data.world.type!r}")
    elif spec.data.package:
        given = as_data(spec.data.package)
        options = ", ".join(f"{key} {value}" for key, value in given.items() if key != "type")
        lines.append(f"from the package {given['type']!r}" + (f" ({options})" if options else ""))
    elif spec.data.train:
        lines.append(f"from {', '.join(spec.data.train)}")
    return lines


def _loss(spec: Spec) -> Answer:
    lines, total = [], []
    for place, name in enumerate(spec.outputs):
        options, memories = spec.decoder[name], read_by(spec, name)
        found = options.part.board(options, memories)
        own = primed([*found, *options.part.board_loss(options, memories)], place, _kept(memories))[
            len(found) :
        ]
        lines += _named(name, own, spec.outputs)
        weight = f"{options.weight:g} " if options.weight != 1.0 else ""
        total.append(f"{weight}loss{'′' * place}")
    weighted = len(total) > 1 or total != ["loss"]
    return [*lines, *([f"{NOTE} total: {' + '.join(total)}"] if weighted else [])]


def _duration(training: TrainingSpec) -> str:
    steps = [] if training.steps is None else [f"{training.steps:,} updates"]
    return " or ".join(([] if training.passes is None else [f"{training.passes} epochs"]) + steps)


def _algorithm(spec: Spec) -> Answer:
    training, search = spec.training, spec.search
    tokens = "a measured number of" if training.batch_tokens == "auto" else training.batch_tokens or 4000
    batch = f"{training.batch_rows} rows" if training.batch_rows else f"{tokens} tokens"
    if is_stream(spec):
        carried = (
            "the state carried over from span to span" if training.carry else "the state reset for each span"
        )
        batch = f"{training.batch_rows or STREAMS} rows of {training.span or SPAN} tokens, {carried}"
    clip = f", gradient norm at most {training.clip}" if training.clip else ""
    rate = f"{training.lr:g}{training.schedule.part.described(training.schedule)}"
    if training.curriculum is not None:
        batch += training.curriculum.part.described(training.curriculum)
    optimizer = training.optimizer.part.described(training.optimizer)
    lines = [
        f"{optimizer}, learning rate {rate}{clip}; batches of {batch}, {_duration(training)}, seed {training.seed}",
    ]
    for decoder in spec.decoder.values():
        lines += [line for line in decoder.part.board_algorithm(decoder) if line not in lines]
    if is_stream(spec):
        lines.append(f"generated by {Sample.described(search.options_of(Sample.Options))}")
    elif any(decoder.part.stepwise for decoder in spec.decoder.values()):
        lines.append(f"decoded by {search.method.part.described(search.method)}")
        if search.constraint:
            told = " and ".join(one.part.described(one) for one in search.constraint)
            lines.append(f"every output {told}")
    return lines
