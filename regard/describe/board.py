"""The board: all six answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.model.counting import parameter_counts
from regard.parts import as_data
from regard.spec import Spec, TrainingSpec

if TYPE_CHECKING:
    from rich.console import RenderableType


Answer = list[str]


def answers(spec: Spec) -> dict[str, Answer]:
    """The six answers in plain text, the parameters in symbols (`board` counts them)."""
    return {
        "data": _data(spec),
        "encoder": [
            line
            for name, encoder in spec.encoder.items()
            for line in _named(name, encoder.part.board(encoder), spec.encoder)
        ],
        "decoder": [
            line
            for name in spec.outputs
            for line in _named(name, spec.decoder[name].part.board(spec.decoder[name]), spec.outputs)
        ],
        "parameters": [],
        "loss": _loss(spec),
        "algorithm": _algorithm(spec),
    }


def _named(name: str, lines: Answer, among: Mapping[str, Any]) -> Answer:
    """The first line begins with the name where there are several."""
    return [f"{name}: {lines[0]}", *lines[1:]] if len(among) > 1 else lines


def board(spec: Spec, what: str = "") -> RenderableType:
    """The answers as a rich table, with the parameters counted."""
    from rich.table import Table
    from rich.text import Text

    title = spec.name or what
    table = Table(
        title=title,
        title_style="bold",
        show_header=False,
        box=None,
        padding=(0, 2, 1, 0),
        title_justify="left",
    )
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    found = answers(spec)
    found["parameters"] = _parameters(spec, what)
    if spec.description:
        table.caption, table.caption_justify = spec.description, "left"
    for question, lines in found.items():
        # one equation a line: a narrow terminal would break them anywhere
        table.add_row(question, Text("\n".join(part for line in lines for part in line.split("   "))))
    return table


def _data(spec: Spec) -> Answer:
    inputs = ", ".join(column.part.describe(column, name) for name, column in spec.inputs.items())
    outputs = ", ".join(column.part.describe(column, name) for name, column in spec.outputs.items())
    lines = [f"pairs (x, y):   x = {inputs}   y = {outputs}"]
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


def _parameters(spec: Spec, what: str) -> Answer:
    run = Path(what)
    known = run / "columns.json"
    counts, sizes = parameter_counts(spec, known if known.is_file() else None)
    lines = [f"{part}: {count}" for part, count in counts.items()]
    if sizes:
        lines.append(", ".join(f"V({name}) = {size:,}" for name, size in sizes.items()))
    return lines


def _loss(spec: Spec) -> Answer:
    lines = []
    for name, decoder in spec.decoder.items():
        weight = f"{decoder.weight} · " if decoder.weight != 1.0 else ""
        lines += _named(name, [weight + decoder.part.board_loss(decoder)], spec.outputs)
    return lines


def _duration(training: TrainingSpec) -> str:
    steps = [] if training.steps is None else [f"{training.steps:,} updates"]
    return " or ".join(([] if training.passes is None else [f"{training.passes} epochs"]) + steps)


def _algorithm(spec: Spec) -> Answer:
    training, search = spec.training, spec.search
    batch = (
        f"{training.batch_rows} rows" if training.batch_rows else f"{training.batch_tokens or 4000} tokens"
    )
    clip = f", gradient norm at most {training.clip}" if training.clip else ""
    rate = f"{training.lr:g}{training.schedule.part.described(training.schedule)}"
    lines = [
        f"{training.optimizer}, rate {rate}{clip}; batches of {batch}, {_duration(training)}, seed {training.seed}",
    ]
    for decoder in spec.decoder.values():
        lines += [line for line in decoder.part.board_algorithm(decoder) if line not in lines]
    if any(decoder.part.stepwise for decoder in spec.decoder.values()):
        ways = {
            "greedy": "greedy search",
            "beam": f"beam search of {search.beam}, length penalty {search.length_penalty:g}",
            "sample": f"sampling at temperature {search.temperature:g}",
        }
        lines.append(f"written by {ways[search.method]}")
    return lines
