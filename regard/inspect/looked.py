"""Where a trace looked, row by row: one for each piece that was written, or for each glimpse of one answer."""

from __future__ import annotations

from dataclasses import dataclass

from regard.trace import Array, Trace


@dataclass(frozen=True, eq=False)
class Looked:
    """names (R), weights (R, S) over one input; truth (R, S) and probabilities (R,) where they are known.

    outlined   what the cells of the truth are: the true place, or the imposed one
    """

    names: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    probabilities: Array | None = None
    outlined: str = "true place"


def looked(trace: Trace, name: str) -> Looked:
    """The looks at an input that was attended to."""
    several, outlined = (
        trace.glimpses.get(name),
        "imposed place" if name in trace.overridden else "true place",
    )
    if several is None:
        truth = trace.truth.get(name)
        return Looked(tuple(trace.output), trace.attention[name], truth, trace.probabilities, outlined)
    names = several.names or tuple(f"glimpse {number}" for number in range(1, len(several.weights) + 1))
    return Looked(names, several.weights, several.truth, outlined=outlined)
