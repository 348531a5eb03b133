"""Any model as the six answers a lecturer would write on the board.

Data, encoder, decoder, parameters, loss, algorithm, each in the form that is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.spec import (
    AttentionSpec,
    ConvolutionalEncoderSpec,
    LabelDecoderSpec,
    LabelSpec,
    MeanEncoderSpec,
    RecurrentDecoderSpec,
    RecurrentEncoderSpec,
    Spec,
    TagsDecoderSpec,
    TagsSpec,
    TextSpec,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.spec import ColumnSpec, DecoderSpec, EncoderSpec

Answer = list[str]

SCORES = {
    "additive": "e_tj = v·tanh(U {q} + W h_j)",
    "dot": "e_tj = {q}·h_j",
    "scaled-dot": "e_tj = {q}·h_j / √D",
    "general": "e_tj = {q}·W h_j",
    "linear": "e_tj = w·[{q}; h_j]",
}
SELECTIONS = {
    "uniform": "α_tj = 1/S",
    "softmax": "α_t = softmax(e_t)",
    "sigmoid": "α_tj = σ(e_tj)",
    "local": "α_t = softmax(e_t) within {window} of p_t, {centre}",
    "oracle": "α_t = the true alignment",
}
CENTRES = {
    "predicted": "p_t = S·σ(v·tanh(W {q})), times exp(−(j − p_t)² / 2(D/2)²), D = {window}",
    "monotonic": "p_t = t",
}
UPDATES = {
    "torch": "h' = (1 − z) ⊙ n + z ⊙ h",
    "cho": "h' = z ⊙ n + (1 − z) ⊙ h",
}


def answers(spec: Spec) -> dict[str, Answer]:
    """The six answers in plain text, the parameters in symbols (`board` counts them)."""
    return {
        "data": _data(spec),
        "encoder": [line for name in spec.inputs for line in _encoder(name, spec.encoder[name], spec)],
        "decoder": [line for name in spec.outputs for line in _decoder(name, spec.decoder[name], spec)],
        "parameters": [],
        "loss": _loss(spec),
        "algorithm": _algorithm(spec),
    }


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


def _column(name: str, column: ColumnSpec) -> str:
    if isinstance(column, TextSpec):
        units = {"word": "words", "char": "characters", "byte": "bytes", "subword": "subwords"}
        return f"{name}: {units[column.unit]}"
    if isinstance(column, LabelSpec):
        return f"{name}: one of {len(column.classes)} classes" if column.classes else f"{name}: a class"
    if isinstance(column, TagsSpec):
        return f"{name}: a tag for each token of {column.of}"
    return f"{name}: which source token each target token comes from"


def _data(spec: Spec) -> Answer:
    inputs = ", ".join(_column(name, column) for name, column in spec.inputs.items())
    outputs = ", ".join(_column(name, column) for name, column in spec.outputs.items())
    lines = [f"pairs (x, y):   x = {inputs}   y = {outputs}"]
    lines += [f"known truth: {_column(name, column)}" for name, column in spec.truth.items()]
    if spec.data.world:
        lines.append(f"from the generated world {spec.data.world!r}")
    elif spec.data.package:
        options = ", ".join(f"{key} {value}" for key, value in spec.data.options.items())
        lines.append(f"from the package {spec.data.package!r}" + (f" ({options})" if options else ""))
    elif spec.data.train:
        lines.append(f"from {', '.join(spec.data.train)}")
    return lines


def cell_equations(
    cell: str, state: str, inputs: str, activation: str = "tanh", update: str = "torch"
) -> Answer:
    """One step of a cell from `state` and `inputs`, in the form that is computed."""
    if cell == "rnn":
        f = {"tanh": "tanh", "sigmoid": "σ", "relu": "relu", "identity": ""}[activation]
        return [f"rnn: h' = {f}(W {inputs} + U {state} + b)"]
    if cell == "gru":
        return [
            f"gru: r, z = σ(W {inputs} + U {state} + b)   n = tanh(W {inputs} + b + r ⊙ (U {state} + c))   "
            f"{UPDATES[update]}"
        ]
    return [
        f"lstm: i, f, o = σ(W {inputs} + U {state} + b)   g = tanh(W {inputs} + U {state} + b)   "
        "c' = f ⊙ c + i ⊙ g   h' = o ⊙ tanh(c')"
    ]


def _encoder(name: str, encoder: EncoderSpec, spec: Spec) -> Answer:
    prefix = f"{name}: " if len(spec.inputs) > 1 else ""
    drop = f", dropout {encoder.dropout}" if encoder.dropout else ""
    read = f"e(x_j) of {encoder.embedding}" + (f" from {encoder.vectors}" if encoder.vectors else "")
    if isinstance(encoder, RecurrentEncoderSpec):
        first = "learned" if encoder.first == "learned" else "0"
        layers = f"{encoder.layers} layers, " if encoder.layers > 1 else ""
        residual = "residual, " if encoder.residual else ""
        both = " in each direction" if encoder.bidirectional else ""
        if encoder.bidirectional:
            states = "h_j = [→h_j; ←h_j]   →h_j = {0}(→h_{{j−1}}, e(x_j))   ←h_j = {0}(←h_{{j+1}}, e(x_j))"
            summary = "summary [→h_S; ←h_1]"
        else:
            states, summary = "h_j = {0}(h_{{j−1}}, e(x_j))", "summary h_S"
        return [
            prefix + states.format(encoder.cell) + f"   h_0 {first}",
            *cell_equations(encoder.cell, "h", "x", encoder.activation, encoder.update),
            f"{layers}{residual}{encoder.size} units{both}, {read}{drop}; {summary}",
        ]
    if isinstance(encoder, ConvolutionalEncoderSpec):
        return [
            prefix
            + "h ← h + a ⊙ σ(b),  [a; b] = W * h   (gated convolution)   h_j starts as e(x_j) + position",
            f"{encoder.layers} layers of {encoder.size} units, width {encoder.width}, {read}{drop}; summary mean of h",
        ]
    if isinstance(encoder, MeanEncoderSpec):
        return [prefix + f"h_j = e(x_j); summary mean of h; {read}{drop}"]
    raise TypeError(encoder)


def attention_equations(attention: AttentionSpec, query: str) -> str:
    """score, select, read, as they are computed."""
    score = SCORES[attention.score].format(q=query)
    centre = CENTRES[attention.centre].format(q=query, window=attention.window)
    select = SELECTIONS[attention.select].format(window=attention.window, centre=centre)
    if attention.select in ("uniform", "oracle"):
        return f"{select}   c_t = Σ_j α_tj h_j"
    return f"{score}   {select}   c_t = Σ_j α_tj h_j"


def _decoder(name: str, decoder: DecoderSpec, spec: Spec) -> Answer:
    prefix = f"{name}: " if len(spec.outputs) > 1 else ""
    if isinstance(decoder, LabelDecoderSpec):
        lines = [prefix + "p(y) = softmax(V s + b)   s = " + ("c" if decoder.attention else "the summary")]
        if decoder.attention:
            lines.append(attention_equations(decoder.attention, "q") + "   q learned")
        return lines
    if isinstance(decoder, TagsDecoderSpec):
        return [prefix + "p(y_j) = softmax(V h_j + b) at each position"]
    return _recurrent_decoder(prefix, decoder)


def _recurrent_decoder(prefix: str, decoder: RecurrentDecoderSpec) -> Answer:
    condition = decoder.condition or (("start", "attention") if decoder.attention else ("start",))
    current = any(attention.state == "current" for attention in decoder.attention)
    inputs = ["e(y_{t−1})"]
    if "every-step" in condition:
        inputs.append("h")
    if decoder.attention:
        inputs.append("ŝ_{t−1}" if current else "c_t")
    joined = f"[{'; '.join(inputs)}]" if len(inputs) > 1 else inputs[0]
    first = "s_0 = tanh(W h + b), h the summary" if "start" in condition else "s_0 learned"
    lines = [f"{prefix}{first}   s_t = {decoder.cell}(s_{{t−1}}, {joined})"]
    lines += cell_equations(decoder.cell, "s", "x", decoder.activation, decoder.update)
    for attention in decoder.attention:
        over = f"over {attention.over}: " if len(decoder.attention) > 1 else ""
        lines.append(over + attention_equations(attention, "s_t" if current else "s_{t−1}"))
    read = ["s_t", *(["c_t"] if decoder.attention else []), *(["e(y_{t−1})"] if decoder.deep else [])]
    if decoder.deep or current:
        lines.append(f"ŝ_t = tanh(W [{'; '.join(read)}] + b)   p(y_t) = softmax(V ŝ_t + b)")
    else:
        lines.append("p(y_t) = softmax(V s_t + b)")
    notes = [f"{decoder.size} units", f"e(y) of {decoder.embedding}"]
    if decoder.layers > 1:
        notes.insert(0, f"{decoder.layers} layers")
    if decoder.residual:
        notes.append("residual")
    if decoder.tie != "none":
        notes.append("V is the embedding" + (" of both sides" if decoder.tie == "all" else ""))
    if decoder.dropout:
        notes.append(f"dropout {decoder.dropout}")
    return [*lines, ", ".join(notes)]


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
        prefix = f"{name}: " if len(spec.outputs) > 1 else ""
        if isinstance(decoder, RecurrentDecoderSpec):
            line = f"{prefix}{weight}−Σ_t log p(y_t | y_<t, x), mean over the target tokens"
            if decoder.label_smoothing:
                line += f", label smoothing {decoder.label_smoothing}"
            for attention in decoder.attention:
                if attention.guide:
                    line += f"   + {attention.guide} · (−Σ_j a_tj log α_tj), a the true alignment"
        elif isinstance(decoder, LabelDecoderSpec):
            line = f"{prefix}{weight}−log p(y | x)" + (_weighted(decoder.class_weights))
        else:
            line = f"{prefix}{weight}−Σ_j log p(y_j | x), mean over the positions" + _weighted(
                decoder.class_weights
            )
        lines.append(line)
    return lines


def _weighted(weights: Mapping[str, float] | str | None) -> str:
    return ", classes weighted" + (" by their rarity" if weights == "balanced" else "") if weights else ""


def _algorithm(spec: Spec) -> Answer:
    training, search = spec.training, spec.search
    batch = (
        f"{training.batch_rows} rows" if training.batch_rows else f"{training.batch_tokens or 4000} tokens"
    )
    clip = f", gradient norm at most {training.clip}" if training.clip else ""
    schedule = training.schedule
    rate = f"{training.lr:g}" + (f", {schedule.type}" if schedule.type != "constant" else "")
    rate += f" after {schedule.warmup} steps of warm-up" if schedule.warmup else ""
    lines = [
        f"{training.optimizer}, rate {rate}{clip}; batches of {batch}, {training.epochs} epochs, seed {training.seed}",
        "teacher forcing, back-propagation through time",
    ]
    for decoder in spec.decoder.values():
        if isinstance(decoder, RecurrentDecoderSpec) and decoder.scheduled_sampling:
            sampling = decoder.scheduled_sampling
            lines[-1] = (
                f"scheduled sampling up to {sampling.share} over {sampling.steps} steps, back-propagation through time"
            )
    if any(isinstance(decoder, RecurrentDecoderSpec) for decoder in spec.decoder.values()):
        ways = {
            "greedy": "greedy search",
            "beam": f"beam search of {search.beam}, length penalty {search.length_penalty:g}",
            "sample": f"sampling at temperature {search.temperature:g}",
        }
        lines.append(f"written by {ways[search.method]}")
    return lines
