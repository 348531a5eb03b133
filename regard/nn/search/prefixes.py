"""Prefix beam search: the most probable text under connectionist temporal classification (Graves 2012, Hannun 2014).

Many alignments say the same text. The search keeps the most probable beginnings of texts, not of alignments: for
each, the probability that it was said by the frames so far, with the last frame blank or not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Prefix = tuple[int, ...]


def prefix_beam(logs: Numbers, size: int, *, blank: int = 0) -> list[tuple[Prefix, float]]:
    """The texts with the highest probability that were found, best first, with log p of the alignments in the beam.

    logs   (N, V) log-probability of each symbol in each frame; −inf: never said
    size   number of beginnings to keep; if all fit, the result is exact
    """
    prefixes: list[Prefix] = [()]
    silent, saying = np.zeros(1), np.full(1, -np.inf)  # log p, by whether the last frame is blank
    for frame in logs:
        prefixes, silent, saying = _advanced(frame, prefixes, silent, saying, size, blank)
    totals = np.logaddexp(silent, saying)
    order = np.argsort(-totals, kind="stable")
    return [(prefixes[place], float(totals[place])) for place in order if totals[place] > -np.inf]


def _advanced(
    frame: Numbers, prefixes: list[Prefix], silent: Numbers, saying: Numbers, size: int, blank: int
) -> tuple[list[Prefix], Numbers, Numbers]:
    """The best beginnings after one more frame."""
    count, totals = len(prefixes), np.logaddexp(silent, saying)
    lasts = np.array([prefix[-1] if prefix else blank for prefix in prefixes])
    longer = totals[:, None] + frame  # (K, V): the beginning with one more symbol
    rows = np.arange(count)
    longer[rows, lasts] = silent + frame[lasts]  # the same symbol again needs a blank between
    longer[:, blank] = -np.inf
    said = np.where(lasts == blank, -np.inf, saying + frame[lasts])  # the last symbol goes on
    places = {prefix: place for place, prefix in enumerate(prefixes)}
    for place, prefix in enumerate(prefixes):
        before = places.get(prefix[:-1]) if prefix else None
        if before is not None:  # two ways to one beginning
            said[place] = np.logaddexp(said[place], longer[before, prefix[-1]])
            longer[before, prefix[-1]] = -np.inf
    waits = totals + frame[blank]
    scores = np.concatenate([np.logaddexp(waits, said), longer.ravel()])
    kept = np.argsort(-scores, kind="stable")[:size]
    kept = kept[scores[kept] > -np.inf]
    stay, new = kept[kept < count], kept[kept >= count] - count
    parents, symbols = np.divmod(new, frame.shape[0])
    extended = [
        (*prefixes[parent], symbol) for parent, symbol in zip(parents.tolist(), symbols.tolist(), strict=True)
    ]
    return (
        [prefixes[place] for place in stay.tolist()] + extended,
        np.concatenate([waits[stay], np.full(len(new), -np.inf)]),
        np.concatenate([said[stay], longer[parents, symbols]]),
    )
