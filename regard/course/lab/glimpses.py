"""Glimpses: a fovea with a place of its own, which learns where to look next by the score function (Williams 1992).

    φ_t = the 3 × 3 cells around the fovea, less the middle one        all that is seen of the image
    a_t ~ π = softmax(W φ_t)                                           stay, or move one cell up, down, left, right
    R_t = −(sum of the distances from the target after move t)
    ∇ E R_1 = E Σ_t (R_t − R̄_t) ∇ log π(a_t)              R̄ the mean of the batch; each step is divided by its deviation

The target of each image is known here; it glows, weaker with distance. R tells how far the looks were, not where
the target is.

A second fovea counts the symbols of an image, which takes several glimpses and a state that is kept (`gathering`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.gathering import Gathered, gathered
from regard.course.lab.lab import Lab, LabResult
from regard.inspect.image_plot import draw_raster
from regard.inspect.layout import Block, beside
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array
from regard.trace.structure import Places

MOVES = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
"""Stay, up, down, left, right: changes of row and column."""
TESTED = 400
"""Images on which the learned fovea is measured."""
SHARP = 8.0
"""Scale of what the fovea sees."""


@register("lab", "glimpses")
class GlimpsesLab(Lab):
    """A fovea that learns to find a target by the score function."""

    class Options(Lab.Options):
        """A fovea that learns to find a target by the score function."""

        size: Annotated[int, Field(ge=3, le=15)] = 9
        """Cells along each side of an image."""
        glimpses: Annotated[int, Field(ge=1, le=40)] = 14
        """Looks at each image, after the first, whose place is random."""
        updates: Annotated[int, Field(ge=1, le=1000)] = 160
        """Updates of W."""
        readings: Annotated[int, Field(ge=1, le=1000)] = 200
        """Updates of each network that counts symbols."""
        batch: Annotated[int, Field(ge=2, le=500)] = 60
        """Images of each update."""
        rate: Annotated[float, Field(gt=0, le=10)] = 2.0
        """Learning rate."""
        noise: Annotated[float, Field(ge=0, le=1)] = 0.005
        """Standard deviation of the noise of a cell."""
        seed: Seed = 0
        """Seed of images and draws."""

    summary = "a fovea that moves over an image and learns where to look by the score function (REINFORCE)"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        generator = np.random.default_rng(options.seed)
        policy = np.zeros((len(MOVES), 9))
        curve = [_mean_distance(look(policy, scenes(options, generator), options.glimpses, generator))]
        for update in range(options.updates):
            seen = look(policy, scenes(options, generator), options.glimpses, generator)
            rate = options.rate * (1 - update / options.updates)
            policy = policy + rate * score_function(seen) / options.glimpses
            curve.append(_mean_distance(seen))
        tested = scenes(options, np.random.default_rng(options.seed + 1), TESTED)
        before, after = (
            look(one, tested, options.glimpses, np.random.default_rng(options.seed + 2), sure=sure)
            for one, sure in ((np.zeros_like(policy), False), (policy, True))
        )
        found = {"before": _at_target(before), "after": _at_target(after)}
        start = int(np.abs(tested.starts - tested.targets).sum(1)[:50].argmax())  # a long way to go
        counted = gathered(options.readings, options.seed)
        rows = [
            ("looks end at the target, untrained, %", 100 * found["before"]),
            ("looks end at the target, trained, %", 100 * found["after"]),
            ("a random cell is the target, %", 100 / options.size**2),
            ("mean distance of the last look, untrained", _mean_distance(before)),
            ("mean distance of the last look, trained", _mean_distance(after)),
            ("crosses counted right after one glimpse, %", 100 * counted.kept[0]),
            ("after two", 100 * counted.kept[1]),
            ("after three", 100 * counted.kept[2]),
            ("after four", 100 * counted.kept[3]),
            ("after four, the state reset before each", 100 * counted.reset),
            ("after four blurred ones", 100 * counted.blurred),
        ]
        return LabResult(
            title="Glimpses",
            see=f"The fovea sees nine cells of {options.size**2} and chooses its next place. Told only how far its "
            f"looks were, it ends at the target in {100 * found['after']:.0f} % of {TESTED} new images, "
            f"untrained in {100 * found['before']:.0f} %. A network counts the crosses among four symbols, seen one "
            f"by one: right in {100 * counted.kept[-1]:.0f} %, with its state reset before each glimpse in "
            f"{100 * counted.reset:.0f} %.",
            blocks=[
                beside(
                    [_picture("untrained", tested, before, start), _picture("trained", tested, after, start)],
                    gap=8,
                ),
                draw_plot(
                    {"_distance": Curve(np.arange(len(curve), dtype=float), np.array(curve))},
                    title="Distance of the last look from the target",
                    x_name="updates",
                    height=100,
                ),
                _curve(counted),
            ],
            table=(("", "value"), rows),
            numbers={
                "policy": policy,
                "distance": curve,
                "at_target": found,
                "targets": tested.targets,
                "places": after.places,
                "counted": {"kept": counted.kept, "reset": counted.reset, "blurred": counted.blurred},
            },
        )


@dataclass(frozen=True, eq=False)
class Scenes:
    """images (B, N + 2, N + 2) with a dark rim, targets and first places (B, 2)."""

    images: Array
    targets: Places
    starts: Places


@dataclass(frozen=True, eq=False)
class Looks:
    """features (T, B, 9), moves (T, B), their probabilities (T, B, A), places (T + 1, B, 2), distances (T, B)."""

    features: Array
    moves: Places
    probabilities: Array
    places: Places
    distances: Array


def scenes(options: Any, generator: np.random.Generator, count: int | None = None) -> Scenes:
    """Images with a glowing target at a random cell, and random places to begin at."""
    B, N = count or options.batch, options.size
    targets, starts = generator.integers(0, N, (B, 2)), generator.integers(0, N, (B, 2))
    row, column = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")
    apart = np.abs(row - targets[:, :1, None]) + np.abs(column - targets[:, 1:, None])  # (B, N, N)
    glow = np.exp(-apart / 4) + options.noise * generator.standard_normal((B, N, N))
    return Scenes(np.pad(glow, ((0, 0), (1, 1), (1, 1))), targets, starts)


def features_at(images: Array, places: Places) -> Array:
    """(B, 9) what the fovea sees at places (B, 2): nine cells less the middle one."""
    rows = np.arange(len(places))
    patch = np.stack(
        [images[rows, places[:, 0] + i, places[:, 1] + j] for i in range(3) for j in range(3)], 1
    )
    return SHARP * (patch - patch[:, 4:5])


def look(
    policy: Array, given: Scenes, glimpses: int, generator: np.random.Generator, *, sure: bool = False
) -> Looks:
    """Move the fovea over all images at once; `sure` takes the most probable move instead of a draw."""
    places, N = given.starts, given.images.shape[1] - 2
    features: list[Array] = []
    moves: list[Places] = []
    shares: list[Array] = []
    been: list[Places] = [places]
    for _ in range(glimpses):
        seen = features_at(given.images, places)
        scores = seen @ policy.T
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        drawn = (p.cumsum(1) < generator.random((len(p), 1))).sum(1).clip(max=len(MOVES) - 1)
        chosen = p.argmax(1) if sure else drawn
        places = np.clip(places + MOVES[chosen], 0, N - 1)
        features.append(seen)
        moves.append(chosen)
        shares.append(p)
        been.append(places)
    distances = np.abs(np.array(been)[1:] - given.targets).sum(-1).astype(float)  # (T, B)
    return Looks(np.array(features), np.array(moves), np.array(shares), np.array(been), distances)


def score_function(seen: Looks, *, baseline: bool = True) -> Array:
    """The estimate of ∇ E R_1 from drawn moves, (A, 9): mean of Σ_t (R_t − R̄_t) ∇ log π(a_t) / σ_t.

    Without `baseline` R̄ is 0 and σ is 1."""
    rewards = -seen.distances[::-1].cumsum(0)[::-1]  # (T, B)
    if baseline:
        rewards = (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, keepdims=True) + 1e-9)
    slopes = np.eye(len(MOVES))[seen.moves] - seen.probabilities  # ∂ log π / ∂ scores
    return np.asarray(np.einsum("tb,tba,tbf->af", rewards, slopes, seen.features) / rewards.shape[1])


def _mean_distance(seen: Looks) -> float:
    return float(seen.distances[-1].mean())


def _at_target(seen: Looks) -> float:
    return float((seen.distances[-1] == 0).mean())


def _curve(counted: Gathered) -> Block:
    glimpses = np.arange(1, len(counted.kept) + 1, dtype=float)
    return draw_plot(
        {
            "state kept": Curve(glimpses, 100 * np.array(counted.kept)),
            "reset": Curve(glimpses[-1:], np.array([100 * counted.reset]), "dots"),
        },
        title="Crosses among four symbols counted right, %",
        x_name="glimpses",
        height=100,
        y_range=(0, 100),
    )


def _picture(title: str, given: Scenes, seen: Looks, place: int) -> Block:
    N = given.images.shape[1] - 2
    image = given.images[place, 1:-1, 1:-1].clip(0, 1)
    way, target = (
        np.stack([one[..., 1] + 0.5, N - 0.5 - one[..., 0]])  # x, and y upward
        for one in (seen.places[:, place], given.targets[place][None])
    )
    return draw_raster(
        image,
        title=title,
        name="",
        ends=("", ""),
        size=140,
        x_range=(0, N),
        y_range=(0, N),
        scale=False,
        over={
            "_way": Curve(way[0], way[1], "line", "series-2"),
            "_places": Curve(way[0], way[1], "dots", "series-2"),
            "_target": Curve(target[0], target[1], "dots", "truth"),
        },
        terminal=False,
    )
