"""Gradient clipping: descent at a cliff and training of a real RNN, with and without it.

    if ‖g‖ > η:  g ← η g / ‖g‖

The cliff is that of the surface in `surface.py`. The RNN predicts the next character of a text by stochastic
gradient descent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.course.lab.lab import Lab, LabResult, written
from regard.course.lab.surface import surface
from regard.course.lab.texts import read_text
from regard.inspect.image_plot import draw_raster
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Positive, Seed, register
from regard.trace import Array

START = (5.3, -2.4)
"""(w, b) near the cliff, on its low side."""
WINDOW = ((4.0, 6.0), (-3.2, -1.8))
DESCENT, RATE, NORM = 60, 0.3, 0.1
"""Steps, learning rate and maximum norm of the descent on the surface."""
Rate = Annotated[float, Field(gt=0, le=1000)]


@register("lab", "clipping")
class ClippingLab(Lab):
    """Gradient descent with and without clipping, on a cliff and on a text."""

    class Options(Lab.Options):
        """Gradient descent with and without clipping, on a cliff and on a text."""

        clip: Positive = 1.0
        """η, the maximum norm of a gradient."""
        rate: Rate = 1.0
        """Learning rate of the two runs that are compared."""
        small_rate: Rate = 0.3
        """Learning rate of a third run, without clipping: small enough to be stable."""
        steps: Annotated[int, Field(ge=2, le=5000)] = 200
        """Updates of each run."""
        size: Annotated[int, Field(ge=1, le=512)] = 48
        """Units of the RNN."""
        text: str = ""
        """File to train on; default: the source of Python's `textwrap`."""
        seed: Seed = 0
        """Seed of the weights and of the order of the text."""

    summary = "with and without clipping: a step off a cliff, and real training curves of an RNN"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        paths = {"clipped": descend(NORM), "not clipped": descend(None)}
        text = read_text(options.text)
        given = {"text": text, "steps": options.steps, "size": options.size, "seed": options.seed}
        runs = {
            f"clipped at {options.clip:g}": train(rate=options.rate, clip=options.clip, **given),
            "not clipped": train(rate=options.rate, clip=None, **given),
            f"not clipped, rate {options.small_rate:g}": train(rate=options.small_rate, clip=None, **given),
        }
        last, at = max(1, options.steps // 10), np.arange(1, options.steps + 1)
        rows = [
            (
                name,
                float(losses[-last:].mean()),
                float(losses.max()),
                float(norms.max()),
                float((norms > options.clip).mean()),
            )
            for name, (losses, norms) in runs.items()
        ]
        return LabResult(
            title="Clipping the gradient",
            see=_seen(paths, [end for _, end, *_ in rows], options.rate),
            blocks=[_cliff(paths), *_trainings(runs, at)],
            table=(
                ("", "loss at the end", "largest loss", "largest ‖g‖", f"share of ‖g‖ > {options.clip:g}"),
                rows,
            ),
            numbers={
                "paths": paths,
                "losses": {name: losses for name, (losses, _) in runs.items()},
                "norms": {name: norms for name, (_, norms) in runs.items()},
                "final_loss": {name: end for name, end, *_ in rows},
                "largest_loss": {name: largest for name, _, largest, *_ in rows},
            },
            worked=[*_worked(paths["not clipped"]), _spikes(runs)],
        )


def _seen(paths: Mapping[str, Array], ends: Sequence[float], rate: float) -> str:
    """What the figures show; ends: the losses at the end, clipped, not clipped, and not clipped at a smaller rate."""
    farthest = float(np.abs(np.diff(paths["not clipped"], axis=0)).max())
    longest = float(np.linalg.norm(np.diff(paths["clipped"], axis=0), axis=1).max())
    clipped_end, free, slow = (written(round(one, 2)) for one in ends)
    return (
        f"On the cliff one unclipped step leaps {written(farthest)} away; clipped, no step is longer than "
        f"{written(longest)}. In training, the RNN at rate {rate:g} reaches a loss of {clipped_end} with clipping and "
        f"{free} without; without clipping it needs a smaller rate, and is slower ({slow}). The loss at the end is the "
        "mean of the last tenth of the updates; a curve ends with a single one."
    )


def _cliff(paths: Mapping[str, Array]) -> Any:
    """Both descents over the loss."""
    (w_low, w_high), (b_low, b_high) = WINDOW
    loss, _, _ = surface(np.linspace(w_low, w_high, 160)[None], np.linspace(b_high, b_low, 120)[:, None])
    return draw_raster(
        loss / loss.max(),
        title="Descent beside a cliff",
        name="loss",
        ends=("0", f"{loss.max():.2f}"),
        x_name="w",
        y_name="b",
        x_range=(w_low, w_high),
        y_range=(b_low, b_high),
        size=280,
        height=150,
        smooth=True,
        over={
            "not clipped": _path(_inside(paths["not clipped"]), "truth"),
            "clipped": _path(paths["clipped"], "series-5"),
            "_start": Curve(np.array([START[0]]), np.array([START[1]]), "dots", "series-5"),
        },
        terminal=False,
    )


def _trainings(runs: Mapping[str, tuple[Array, Array]], at: Array) -> list[Any]:
    """The losses and the norms of the gradients of all trainings."""
    ceiling = float(np.ceil(max(losses[0] for losses, _ in runs.values()) * 2))
    return [
        draw_plot(
            {name: Curve(at, losses) for name, (losses, _) in runs.items()},
            title="An RNN learns a text",
            x_name="update",
            y_name="loss",
            y_range=(0, ceiling),
        ),
        draw_plot(
            {name: Curve(at, norms) for name, (_, norms) in runs.items()},
            title="Norm of its gradient",
            x_name="update",
            log_y=True,
            height=110,
        ),
    ]


def _worked(path: Array) -> list[str]:
    """The step over the cliff, clipped; and two gradients whose mean has another direction when they are clipped."""
    step = int(np.argmax(np.linalg.norm(np.diff(path, axis=0), axis=1)))
    gradient = (path[step] - path[step + 1]) / RATE
    short = clipped(gradient, NORM)
    one, other = np.array([10.0, 0.0]), np.array([0.0, 1.0])
    mean, biased = (one + other) / 2, (clipped(one, 1.0) + clipped(other, 1.0)) / 2
    return [
        f"at the cliff g = {_pair(gradient)}, ‖g‖ = {written(float(np.linalg.norm(gradient)))} > η = {NORM:g}:",
        f"  g ← η g / ‖g‖ = {_pair(short)}, of norm {written(float(np.linalg.norm(short)))}",
        f"biased: {_pair(one)} and {_pair(other)} have the mean {_pair(mean)}, "
        f"clipped at η = 1 the mean {_pair(biased)}: another direction",
    ]


def _spikes(runs: Mapping[str, tuple[Array, Array]]) -> str:
    """How many updates raise the loss by more than 1."""
    counts = (f"{name}: {int((np.diff(losses) > 1).sum())}" for name, (losses, _) in runs.items())
    return f"updates that raise the loss by more than 1 — {'; '.join(counts)}"


def _pair(vector: Array) -> str:
    return f"({written(float(vector[0]))}, {written(float(vector[1]))})"


def clipped(gradient: Array, most: float | None) -> Array:
    """The gradient, scaled down to a norm of `most` if it is longer."""
    norm = float(np.linalg.norm(gradient))
    return gradient if most is None or norm <= most else most * gradient / norm


def descend(most: float | None) -> Array:
    """(DESCENT + 1, 2): the path of (w, b) in gradient descent on the surface."""
    place = np.array(START)
    found = [place]
    for _ in range(DESCENT):
        _, along_w, along_b = surface(place[0], place[1])
        place = place - RATE * clipped(np.array([float(along_w), float(along_b)]), most)
        found.append(place)
    return np.array(found)


def _path(points: Array, role: str) -> Curve:
    return Curve(points[:, 0], points[:, 1], role=role)


def _inside(path: Array) -> Array:
    """The path up to its first point outside the window, which is moved to the edge."""
    (w_low, w_high), (b_low, b_high) = WINDOW
    outside = [i for i, (w, b) in enumerate(path) if not (w_low <= w <= w_high and b_low <= b <= b_high)]
    if not outside:
        return path
    before, after = path[outside[0] - 1], path[outside[0]]
    room = [
        (high - at) / (to - at) if to > high else (low - at) / (to - at) if to < low else 1.0
        for at, to, (low, high) in zip(before, after, WINDOW, strict=True)
    ]
    return np.concatenate([path[: outside[0]], [before + min(room) * (after - before)]])


def train(
    *,
    text: str,
    rate: float,
    clip: float | None,
    steps: int,
    size: int,
    seed: int,
    batch: int = 16,
    span: int = 50,
) -> tuple[Array, Array]:
    """(steps,) losses in nats per character, and (steps,) norms of the gradient before it is clipped."""
    letters = sorted(set(text))
    places = {letter: i for i, letter in enumerate(letters)}
    ids = torch.tensor([places[letter] for letter in text])
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network, output = nn.RNN(len(letters), size, batch_first=True), nn.Linear(size, len(letters))
        nn.init.orthogonal_(dict(network.named_parameters())["weight_hh_l0"])
    parameters = [*network.parameters(), *output.parameters()]
    losses, norms = np.full(steps, np.nan), np.full(steps, np.nan)
    for step in range(steps):
        starts = torch.randint(0, len(ids) - span - 1, (batch,), generator=generator)
        rows = ids[starts[:, None] + torch.arange(span + 1)]  # (B, T + 1)
        inputs = nn.functional.one_hot(rows[:, :-1], len(letters)).float()
        states: Tensor = network(inputs)[0]
        loss = nn.functional.cross_entropy(output(states).flatten(0, 1), rows[:, 1:].flatten())
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        norm = float(nn.utils.clip_grad_norm_(parameters, float("inf") if clip is None else clip))
        if not np.isfinite(norm):
            break  # the training has diverged: all further losses would be NaN
        losses[step], norms[step] = float(loss.detach()), norm
        with torch.no_grad():
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=rate)
    return losses, norms
