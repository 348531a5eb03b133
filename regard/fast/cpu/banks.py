# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""A beam that is shared among banks, as in `regard.nn.search.banks`, for one source of a search in one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.fast.cpu.ranking import Bound, Ranked
from regard.structures.kernels.cpu.compilation import part

Array = Any


@part
def _known(word: int, words: Array) -> bool:
    found = False
    for one in words:
        found |= one == word
    return found


@part
def candidates(
    low: int,
    count: int,
    live: Array,
    ranked: Ranked,
    nearer: Ranked,
    bound: Bound,
    vocabulary: int,
    scores: Array,
    names: Array,
    size: int,
    end: int,
) -> bool:
    """The continuations of the prefixes of a source, rows low … low + count, in the order in which the beam takes them:
    scores (2K) and names (2K), parent · V + word. Returns whether all is finite."""
    first, second = ranked.values.shape[1], nearer.values.shape[1]
    most = count * (first + second)
    totals, found, banks = np.empty(most, scores.dtype), np.empty(most, np.int64), np.empty(most, np.int64)
    number = 0
    for slot in range(count):
        normalizer = ranked.normalizers[low + slot]
        if not np.isfinite(normalizer):
            return False
        gained = live[slot] - normalizer
        targets = bound.after[bound.states[low + slot]]
        for c in range(first + second):
            if c < first:
                value, word = ranked.values[low + slot, c], ranked.words[low + slot, c]
            else:
                value, word = nearer.values[low + slot, c - first], nearer.words[low + slot, c - first]
            if value == -np.inf or (c >= first and _known(word, ranked.words[low + slot])):
                continue
            totals[number], found[number] = value + gained, slot * vocabulary + word
            banks[number] = bound.missing[targets[word]]
            number += 1
    order = np.argsort(-totals[:number], kind="mergesort")
    deep = 0
    for i in range(number):
        deep = max(deep, banks[i])
    seen, ranks = np.zeros(deep + 1, np.int64), np.empty(number, np.int64)
    for i in range(number):
        bank = banks[order[i]]
        ranks[i] = seen[bank]
        seen[bank] += 1
    turn = np.argsort(ranks, kind="mergesort")
    scores[:] = -np.inf
    names[:] = 0
    for i in range(min(number, 2 * size)):
        scores[i], names[i] = totals[order[turn[i]]], found[order[turn[i]]]
    return True


@part
def in_order(scores: Array, names: Array, size: int, vocabulary: int, end: int) -> None:
    """Keep the first K candidates that continue, and sort them: the best first, then nothing."""
    kept = 0
    for c in range(len(scores)):
        if scores[c] == -np.inf or names[c] % vocabulary == end or kept == size:
            continue
        score, name = scores[c], names[c]
        place = kept
        while place > 0 and score > scores[place - 1]:
            scores[place], names[place] = scores[place - 1], names[place - 1]
            place -= 1
        scores[place], names[place] = score, name
        kept += 1
    scores[kept:] = -np.inf
