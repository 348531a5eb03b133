"""Where a trace looked, row by row: one for each piece that was written, or for each glimpse of one answer."""

from __future__ import annotations

from dataclasses import dataclass

from regard.prediction import Array, Trace


@dataclass(frozen=True, eq=False)
class Looked:
    """names (R), weights (R, S) over one input; truth (R, S) and probabilities (R,) where they are known."""

    names: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    probabilities: Array | None = None


def looked(trace: Trace, name: str) -> Looked:
    """The looks at an input that was attended to."""
    several = trace.glimpses.get(name)
    if several is None:
        return Looked(tuple(trace.output), trace.attention[name], trace.truth.get(name), trace.probabilities)
    names = tuple(f"glimpse {number}" for number in range(1, len(several.weights) + 1))
    return Looked(names, several.weights, several.truth)
