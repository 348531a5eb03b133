"""Shorten long inputs and words in figures: positions with little attention are merged, words are cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from regard.trace import Trace
from regard.trace.traced import Array

LONGEST = 600
"""Maximum number of positions of an input that is drawn completely."""
SHOWN = 200
"""Number of positions that are drawn of a longer input."""
FOLD = "…"
WORD = 1_000
"""Maximum number of characters kept of a word without blanks."""
UNBROKEN = re.compile(rf"\S{{{WORD + 1},}}")


def with_short_words(trace: Trace) -> Trace:
    """The trace with words cut to `WORD` characters."""
    shown = {name: [_cut(piece) for piece in pieces] for name, pieces in trace.input.items()}
    output = [_cut(piece) for piece in trace.output]
    hypotheses = [(_cut(text), score) for text, score in trace.hypotheses]
    if (shown, output, hypotheses) == (trace.input, trace.output, trace.hypotheses):
        return trace
    structures = {name: found.with_texts(_cut) for name, found in trace.structures.items()}
    return replace(trace, input=shown, output=output, hypotheses=hypotheses, structures=structures)


def _cut(text: str) -> str:
    if len(text) <= WORD:
        return text
    return UNBROKEN.sub(lambda found: f"{found[0][:WORD]}{FOLD}", text)


def narrowed(trace: Trace) -> Trace:
    """The trace with each run of hardly attended positions merged into one, with their total weight.

    Only inputs of more than `LONGEST` positions are changed. Of such an input, only attention, truth and copies are
    kept.
    """
    long = [name for name in {**trace.attention, **trace.copied} if len(trace.input[name]) > LONGEST]
    if not long:
        return trace
    parts = {name: _parts(trace, name) for name in long}
    pieces = {
        name: [trace.input[name][run[0]] if len(run) == 1 else FOLD for run in runs]
        for name, runs in parts.items()
    }

    def folded(found: dict[str, Array]) -> dict[str, Array]:
        return {name: _summed(one, parts[name]) if name in parts else one for name, one in found.items()}

    return replace(
        trace,
        input={**trace.input, **pieces},
        attention=folded(dict(trace.attention)),
        copied=folded(dict(trace.copied)),
        truth=folded(dict(trace.truth)),
        effects={name: one for name, one in trace.effects.items() if name not in long},
        structures={name: one for name, one in trace.structures.items() if name not in long},
        glimpses={name: one for name, one in trace.glimpses.items() if name not in long},
        heads={name: one for name, one in trace.heads.items() if one.over not in long},
    )


def _parts(trace: Trace, name: str) -> list[list[int]]:
    """The positions that are drawn one by one, and the runs of the others between them."""
    count = len(trace.input[name])
    looks = [found[name] for found in (trace.attention, trace.copied, trace.truth) if name in found]
    most = np.max([one.max(0, initial=0.0) for one in looks], axis=0)
    shown = set(np.argsort(-most, kind="stable")[:SHOWN].tolist())
    runs: list[list[int]] = []
    for place in range(count):
        if place not in shown and runs and runs[-1][-1] not in shown:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _summed(weights: Array, runs: Iterable[list[int]]) -> Array:
    return np.stack([weights[:, run].sum(1) for run in runs], 1)
