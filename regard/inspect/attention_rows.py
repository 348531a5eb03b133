"""The attention of a trace in rows: one per output piece, or per glimpse of one answer."""

from __future__ import annotations

from dataclasses import dataclass

from regard.trace import Array, Trace


@dataclass(frozen=True, eq=False)
class AttentionRows:
    """names (R) and weights (R, S) over one input; truth (R, S) and probabilities (R,) if known.

    outlined   the meaning of the true cells: the true position or region, or the override
    """

    names: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    probabilities: Array | None = None
    outlined: str = "true position"


def attention_rows(trace: Trace, name: str) -> AttentionRows:
    """The attention to an input."""
    several = trace.glimpses.get(name)
    kind = "region" if name in trace.seen else "position"
    outlined = f"{'imposed' if name in trace.overridden else 'true'} {kind}"
    if several is None:
        truth = trace.truth.get(name)
        return AttentionRows(tuple(trace.output), trace.attention[name], truth, trace.probabilities, outlined)
    names = several.names or tuple(f"glimpse {number}" for number in range(1, len(several.weights) + 1))
    return AttentionRows(names, several.weights, several.truth, several.probabilities, outlined)
