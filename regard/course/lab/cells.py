"""What single cells of a recurrent network represent (after Karpathy, Johnson and Fei-Fei 2015).

A small LSTM learns to predict the next character of a text, in seconds. Then each of its memories, tanh(c),
is compared with features of every character: its place in the line, its place in the word, whether it is
inside quotes or brackets. For each feature the cell with the largest correlation is drawn over the text. The same
cell is then compared with it on lines that were not in the training, and the best cell of the untrained LSTM beside it.

    r = cov(tanh(c), feature) / (σ σ)

`run=RUN` uses the states of a trained model's encoder instead.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.course.lab.lab import Lab, LabResult, written
from regard.course.lab.texts import read_text
from regard.errors import RegardError
from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import Block
from regard.inspect.palette import LEVELS, Over, Shade
from regard.inspect.plot import WIDTH
from regard.inspect.scene import Group, Mark, Rect, Text
from regard.parts import Seed, register
from regard.trace import Array

WORDS = (
    "the",
    "red",
    "old",
    "cat",
    "dog",
    "saw",
    "ran",
    "bird",
    "sun",
    "sea",
    "hand",
    "road",
    "and",
    "of",
    "to",
)
CALLS = ("go", "stop", "now", "here", "yes", "no", "look", "come")
BATCH, SPAN, RATE = 16, 48, 0.02
CHARACTER, LINE, FONT = 8.2, 17.0, 11.5
"""Width and height of a character cell, and the font size."""
BLANK = "␣"
"""The token of a space in a text column of characters."""


@register("lab", "cells")
class CellsLab(Lab):
    """Cells of an LSTM over a text, and the feature that each follows."""

    class Options(Lab.Options):
        """Cells of an LSTM over a text, and the feature that each follows."""

        text: str = ""
        """File to train on and to draw; default: generated lines of words, (numbers) and "calls"."""
        run: str = ""
        """Folder of a trained model whose encoder reads text, to use instead of training one."""
        size: Annotated[int, Field(ge=1, le=512)] = 32
        """Units of the LSTM."""
        updates: Annotated[int, Field(ge=1, le=5000)] = 90
        """Number of training updates."""
        characters: Annotated[int, Field(ge=50, le=100_000)] = 2000
        """Number of characters on which cells are compared with features."""
        lines: Annotated[int, Field(ge=1, le=20)] = 4
        """Lines of text to draw for each cell."""
        seed: Seed = 0
        """Seed of the initial weights and of the generated text."""

    summary = (
        "Karpathy's cells: which unit of a character LSTM tracks quotes, brackets or the position in the line"
    )

    @classmethod
    def run(cls, options: Any) -> LabResult:
        text = read_text(options.text) if options.text else made_text(options.seed)
        controls: dict[str, dict[str, float]] = {"new": {}, "untrained": {}}
        if options.run:
            seen, memories, loss = *states_of_run(Path(options.run), text[: options.characters]), float("nan")
            found = best_cells(memories, features(seen))
        else:
            seen = list(text[: options.characters])
            new = [] if options.text else list(made_text(options.seed + 1)[: options.characters])
            read = train_and_read(text, [seen, new], options)
            memories, loss = read.trained[0], read.loss
            found = best_cells(memories, features(seen))
            controls["untrained"] = strongest(read.untrained, features(seen))
            if new:
                controls["new"] = followed(read.trained[1], features(new), found)
        if not found:
            raise RegardError("no cell varies over this text.", fix="Train longer: --set updates=500")
        rows = [(match.feature, f"cell {match.cell}", match.correlation) for match in found]
        source = (
            f"of {Path(options.run).name}"
            if options.run
            else f"of an LSTM of {options.size} units, loss {loss:.2f}"
        )
        first = found[0]
        return LabResult(
            title="What single cells know",
            see=f"Each panel shades the same text by one cell {source}: cell {first.cell} follows "
            f"“{first.feature}” with a correlation of {written(round(first.correlation, 2))}; the title of each panel "
            "names what its cell follows.",
            blocks=[_panel(match, seen, memories, options.lines) for match in found],
            table=(("feature", "best cell", "correlation"), rows),
            numbers={
                "loss": loss,
                "text": "".join(seen),
                "cells": {match.feature: match.cell for match in found},
                "correlations": {match.feature: match.correlation for match in found},
                "activations": {match.feature: memories[:, match.cell] for match in found},
                **controls,
            },
            worked=_worked(found, controls),
        )


@dataclass(frozen=True, eq=False)
class Match:
    """A feature and the cell that follows it most closely; `correlation` is negative if they are opposed."""

    feature: str
    cell: int
    correlation: float
    values: Array


@dataclass(frozen=True, eq=False)
class CellReading:
    """tanh(c) of an LSTM: `trained` over each of some texts, `untrained` over the first, (N, H) each; and its last
    loss."""

    trained: list[Array]
    untrained: Array
    loss: float


def _worked(found: list[Match], controls: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The correlations of each cell on new lines, and of the best cell before training."""
    lines = []
    for match in found:
        told = [f"{match.feature}: cell {match.cell}, r = {match.correlation:.2f}"]
        if match.feature in controls["new"]:
            told.append(f"on new lines {controls['new'][match.feature]:.2f}")
        if match.feature in controls["untrained"]:
            told.append(f"before training, best of all cells {controls['untrained'][match.feature]:.2f}")
        lines.append("; ".join(told).replace("-", "−"))
    return lines if any(controls.values()) else []


def made_text(seed: int, characters: int = 20_000) -> str:
    """Generate lines of words, (numbers) and "calls"."""
    draw = random.Random(seed)
    lines, length = [], 0
    while length < characters:
        words = " ".join(draw.choices(WORDS, k=draw.randint(1, 3)))
        numbers = " ".join(str(draw.randint(0, 99)) for _ in range(draw.randint(1, 3)))
        calls = " ".join(draw.choices(CALLS, k=draw.randint(1, 3)))
        lines.append(f'{words} ({numbers}) "{calls}"\n')
        length += len(lines[-1])
    return "".join(lines)


def features(characters: list[str]) -> dict[str, Array]:
    """(N,) each: the place in the line, inside quotes, inside brackets, and the place in the word."""
    found: dict[str, list[float]] = {
        "place in the line": [],
        "inside quotes": [],
        "inside brackets": [],
        "place in the word": [],
    }
    column = word = depth = 0
    quoted = False
    for character in characters:
        quoted ^= character == '"'
        depth += character in "([{"
        word = word + 1 if character.isalnum() else 0
        found["place in the line"].append(column)
        found["inside quotes"].append(float(quoted or character == '"'))
        found["inside brackets"].append(float(depth > 0))
        found["place in the word"].append(min(word, 8))
        depth = max(0, depth - (character in ")]}"))
        column = 0 if character == "\n" else column + 1
    return {name: np.array(values) for name, values in found.items()}


def correlations(memories: Array, feature: Array) -> Array:
    """(H,) Pearson correlations of each cell with a feature; 0 where either does not vary."""
    left, right = memories - memories.mean(0), feature - feature.mean()
    scale = np.sqrt((left**2).sum(0) * (right**2).sum())
    return np.asarray(np.divide(right @ left, scale, out=np.zeros(memories.shape[1]), where=scale > 1e-12))


def best_cells(memories: Array, known: Mapping[str, Array]) -> list[Match]:
    """For each feature the cell that follows it most closely, the closest first; no cell is taken twice."""
    strengths = {name: correlations(memories, values) for name, values in known.items()}
    found: list[Match] = []
    for name in sorted(known, key=lambda name: -float(np.abs(strengths[name]).max())):
        free = np.abs(strengths[name])
        free[[match.cell for match in found]] = 0.0
        cell = int(free.argmax())
        if free[cell]:
            found.append(Match(name, cell, float(strengths[name][cell]), known[name]))
    return found


def followed(memories: Array, known: Mapping[str, Array], found: list[Match]) -> dict[str, float]:
    """The correlation of each cell that was found with its feature, on another text."""
    return {match.feature: float(correlations(memories, known[match.feature])[match.cell]) for match in found}


def strongest(memories: Array, known: Mapping[str, Array]) -> dict[str, float]:
    """For each feature the largest correlation of any cell, with its sign."""
    every = {name: correlations(memories, values) for name, values in known.items()}
    return {name: float(values[np.abs(values).argmax()]) for name, values in every.items()}


def train_and_read(text: str, texts: list[list[str]], options: Any) -> CellReading:
    """Train an LSTM on a text; tanh(c) over some texts, and over the first of them before training."""
    letters = sorted(set(text))
    places = {letter: i for i, letter in enumerate(letters)}
    ids = torch.tensor([places[letter] for letter in text])
    with torch.random.fork_rng():
        torch.manual_seed(options.seed)
        embedding = nn.Embedding(len(letters), 16)
        network, output = nn.LSTM(16, options.size, batch_first=True), nn.Linear(options.size, len(letters))
        with torch.no_grad():
            dict(network.named_parameters())["bias_ih_l0"][options.size : 2 * options.size] = 1.0

    def over(characters: list[str]) -> Array:
        with torch.no_grad():
            read = embedding(torch.tensor([places[one] for one in characters], dtype=torch.long))
            return _memories(network, read).numpy().astype(np.float64)

    untrained = over(texts[0])
    parameters = [*embedding.parameters(), *network.parameters(), *output.parameters()]
    moments = [(torch.zeros_like(one), torch.zeros_like(one)) for one in parameters]
    generator = torch.Generator().manual_seed(options.seed)
    losses = []
    for update in range(1, options.updates + 1):
        starts = torch.randint(0, len(ids) - SPAN - 1, (BATCH,), generator=generator)
        rows = ids[starts[:, None] + torch.arange(SPAN + 1)]  # (B, T + 1)
        scores = output(network(embedding(rows[:, :-1]))[0])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten())
        adam(parameters, torch.autograd.grad(loss, parameters), moments, update)
        losses.append(float(loss.detach()))
    return CellReading([over(one) for one in texts if one], untrained, float(np.mean(losses[-10:])))


def adam(
    parameters: list[nn.Parameter],
    gradients: tuple[Tensor, ...],
    moments: list[tuple[Tensor, Tensor]],
    update: int,
) -> None:
    """One clipped Adam update. Importing torch.optim would take seconds, as long as the whole training."""
    norm = float(torch.stack([gradient.norm() for gradient in gradients]).norm())
    with torch.no_grad():
        for parameter, gradient, (mean, square) in zip(parameters, gradients, moments, strict=True):
            gradient = gradient / max(1.0, norm)
            mean.lerp_(gradient, 0.1)
            square.lerp_(gradient**2, 0.001)
            unbiased = (square / (1 - 0.999**update)).sqrt() + 1e-8
            parameter.sub_(RATE * mean / (1 - 0.9**update) / unbiased)


def _memories(network: nn.LSTM, inputs: Tensor) -> Tensor:
    """tanh(c) after each of the inputs (N, I). torch's LSTM does not return its memories, so its gates are
    recomputed from its outputs."""
    outputs = network(inputs)[0]
    before = torch.cat([torch.zeros_like(outputs[:1]), outputs[:-1]])
    weights = dict(network.named_parameters())
    read = nn.functional.linear(inputs, weights["weight_ih_l0"], weights["bias_ih_l0"])
    said = read + nn.functional.linear(before, weights["weight_hh_l0"], weights["bias_hh_l0"])
    enter, keep, new, _ = said.chunk(4, -1)
    memory, found = torch.zeros_like(outputs[0]), []
    for kept, added in zip(torch.sigmoid(keep), torch.sigmoid(enter) * torch.tanh(new), strict=True):
        memory = kept * memory + added
        found.append(memory)
    return torch.tanh(torch.stack(found))


def states_of_run(folder: Path, text: str) -> tuple[list[str], Array]:
    """The tokens of a text that a trained model's encoder reads, and its states (N, H) over them."""
    from regard.model import load
    from regard.nn.network import answering

    model = load(folder, device="cpu")
    inputs = [name for name in model.spec.inputs if model.columns[name].is_text]
    if len(model.spec.inputs) != 1 or not inputs:
        raise RegardError(
            "expected a model with one input, a text.",
            where=str(folder),
            fix="Leave out run=…, and an LSTM is trained.",
        )
    line = " ".join(text.split())  # an input is one line
    column = model.columns[inputs[0]]
    batch = model.dataset([model.row(line)]).batch([0])
    with torch.inference_mode(), answering(model):
        memory = model.network.encode(batch)[inputs[0]]
    values = memory.values[0].numpy().astype(np.float64)
    pieces = [" " if piece == BLANK else piece for piece in column.tokens(line)]
    if len(pieces) != len(values):
        raise RegardError(
            f"the encoder leaves {len(values)} states for {len(pieces)} pieces of text, expected one for each.",
            where=str(folder),
            fix="Choose a model whose encoder keeps one state a character.",
        )
    return pieces, values


def _panel(match: Match, characters: list[str], memories: Array, lines: int) -> Block:
    """The first lines of the text, shaded by a cell's activation between its smallest and its largest value."""
    values = memories[:, match.cell]
    low, high = float(values.min()), float(values.max())
    shares = (values - low) / ((high - low) or 1.0)
    if match.correlation < 0:
        shares = 1 - shares
    across = int(WIDTH // CHARACTER)
    heading = f"{match.feature}: cell {match.cell}, r = {match.correlation:.2f}".replace("-", "−")
    marks: list[Mark] = [Text(0, 12, heading, size=13, bold=True)]
    x = line = 0
    for character, share in zip(characters, shares, strict=True):
        if line >= lines:
            break
        shade = Shade(
            round(LEVELS * float(share) / 5) * 5 / LEVELS
        )  # in steps of five, to keep the style sheet short
        left, top = x * CHARACTER, 20 + line * LINE
        shown = "⏎" if character == "\n" else character
        marks.append(Rect(left, top, CHARACTER + 0.4, LINE - 1, fill=shade))
        if not shown.isspace():
            marks.append(
                Text(
                    left + CHARACTER / 2,
                    top + 12,
                    shown[:1],
                    size=FONT,
                    mono=True,
                    anchor="middle",
                    color=Over(shade),
                )
            )
        x += 1
        if character == "\n" or x >= across:
            x, line = 0, line + 1
    seen = min(len(values), 60)
    series = {f"cell {match.cell}": values[:seen], "feature": match.values[:seen]}
    chart = Chart(
        "lines", tuple(float(i) for i in range(seen)), series, (), heading, "character", "", "{:.2f}"
    )
    return Block((Group(tuple(marks), kind="text", content=chart),), WIDTH, 20 + (line + (x > 0)) * LINE)
