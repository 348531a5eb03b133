"""The board: all six answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.describe.attention import drawing_line
from regard.describe.lines import Answer, column_line, decoder_lines, encoder_lines, loss_line
from regard.spec import RecurrentDecoderSpec, Spec, TrainingSpec

if TYPE_CHECKING:
    from rich.console import RenderableType


def answers(spec: Spec) -> dict[str, Answer]:
    """The six answers in plain text, the parameters in symbols (`board` counts them)."""
    return {
        "data": _data(spec),
        "encoder": [
            line
            for name, encoder in spec.encoder.items()
            for line in _named(name, encoder_lines(encoder), spec.encoder)
        ],
        "decoder": [
            line
            for name in spec.outputs
            for line in _named(name, decoder_lines(spec.decoder[name]), spec.outputs)
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
    inputs = ", ".join(column_line(column, name) for name, column in spec.inputs.items())
    outputs = ", ".join(column_line(column, name) for name, column in spec.outputs.items())
    lines = [f"pairs (x, y):   x = {inputs}   y = {outputs}"]
    lines += [f"known truth: {column_line(column, name)}" for name, column in spec.truth.items()]
    if spec.data.world:
        lines.append(f"from the generated world {spec.data.world!r}")
    elif spec.data.package:
        options = ", ".join(f"{key} {value}" for key, value in spec.data.options.items())
        lines.append(f"from the package {spec.data.package!r}" + (f" ({options})" if options else ""))
    elif spec.data.train:
        lines.append(f"from {', '.join(spec.data.train)}")
    return lines


def _parameters(spec: Spec, what: str) -> Answer:
    from regard.model.counting import parameter_counts

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
        lines += _named(name, [weight + loss_line(decoder)], spec.outputs)
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
    if any(isinstance(decoder, RecurrentDecoderSpec) for decoder in spec.decoder.values()):
        lines.append("teacher forcing, back-propagation through time")
    for decoder in spec.decoder.values():
        if isinstance(decoder, RecurrentDecoderSpec) and decoder.scheduled_sampling:
            sampling = decoder.scheduled_sampling
            lines[-1] = (
                f"scheduled sampling up to {sampling.share} over {sampling.steps} steps, back-propagation through time"
            )
        if isinstance(decoder, RecurrentDecoderSpec):
            lines += [drawing_line(part.hard) for part in decoder.attention if part.select == "hard"]
    if any(isinstance(decoder, RecurrentDecoderSpec) for decoder in spec.decoder.values()):
        ways = {
            "greedy": "greedy search",
            "beam": f"beam search of {search.beam}, length penalty {search.length_penalty:g}",
            "sample": f"sampling at temperature {search.temperature:g}",
        }
        lines.append(f"written by {ways[search.method]}")
    return lines
