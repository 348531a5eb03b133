# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Beam search for the sources of one thread in one kernel, from the first step to the last.

The rows of a source are its K best prefixes, one after the other; those that do not exist have no row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.banks import candidates, in_order
from regard.fast.cpu.best import insert
from regard.fast.cpu.layout import Memories
from regard.fast.cpu.ranking import Bound, Ranked, rank, room_to_rank
from regard.fast.cpu.step import Layers, advance_rows
from regard.fast.cpu.together import Shared, team_of
from regard.fast.cpu.whole_search import (
    Allowed,
    How,
    SearchStart,
    forbidden_at,
    move,
    only_word,
    place,
    read_word,
    rows_for,
)
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.rows import copy

Array = Any


class BeamRecord(NamedTuple):
    """Every step of B sources, as `BackPointers`: words, parents, totals (T, B, K), looks (T, B, K, S)."""

    words: Array
    parents: Array
    totals: Array
    looks: Array


class Ended(NamedTuple):
    """The finished hypotheses of B sources, as `Finished`: (B, K) each."""

    normalized: Array
    totals: Array
    steps: Array
    slots: Array


class Found(NamedTuple):
    """The result, as in `Hypotheses`: tokens (B, R, T), lengths (B, R), token_scores (B, R, T), attention (B, R, T, S).

    penalties   (T) divisors of the scores of hypotheses that end at a step
    unsound     (parts) whether a score was not finite, or a source has no hypothesis
    """

    tokens: Array
    lengths: Array
    token_scores: Array
    attention: Array
    penalties: Array
    unsound: Array


@part
def _merge(
    low: int, count: int, live: Array, ranked: Ranked, vocabulary: int, scores: Array, names: Array
) -> bool:
    """The best continuations of the prefixes of a source, rows low … low + count: scores (2K), best first, and
    names (2K), parent · V + word. Returns whether all is finite."""
    scores[:] = -np.inf
    names[:] = 0
    for slot in range(count):
        normalizer = ranked.normalizers[low + slot]
        if not np.isfinite(normalizer):
            return False
        gained = live[slot] - normalizer
        for c in range(ranked.values.shape[1]):
            total = ranked.values[low + slot, c] + gained
            if not total > scores[-1]:
                break
            insert(total, slot * vocabulary + ranked.words[low + slot, c], scores, names)
    return True


@part
def _finish(source: int, step: int, total: Any, normalized: Any, slot: int, ended: Ended) -> None:
    """Add a hypothesis to the finished ones, behind those that are as good."""
    last = ended.normalized.shape[1] - 1
    if not normalized > ended.normalized[source, last]:
        return
    rank_ = last
    while rank_ > 0 and normalized > ended.normalized[source, rank_ - 1]:
        ended.normalized[source, rank_] = ended.normalized[source, rank_ - 1]
        ended.totals[source, rank_] = ended.totals[source, rank_ - 1]
        ended.steps[source, rank_] = ended.steps[source, rank_ - 1]
        ended.slots[source, rank_] = ended.slots[source, rank_ - 1]
        rank_ -= 1
    ended.normalized[source, rank_], ended.totals[source, rank_] = normalized, total
    ended.steps[source, rank_], ended.slots[source, rank_] = step, slot


@part
def _follow(source: int, end: int, record: BeamRecord, ended: Ended, found: Found) -> bool:
    """Walk back from the ends of the best hypotheses of a source. Returns whether there is one."""
    for best in range(found.tokens.shape[1]):
        total = ended.totals[source, best]
        if total == -np.inf:
            continue
        last, slot = ended.steps[source, best], ended.slots[source, best]
        found.lengths[source, best] = last + 1
        found.tokens[source, best, last] = end
        copy(record.looks[last, source, slot], found.attention[source, best, last])
        after = total
        for t in range(last - 1, -1, -1):
            before = record.totals[t, source, slot]
            found.token_scores[source, best, t + 1] = after - before
            found.tokens[source, best, t] = record.words[t, source, slot]
            slot, after = record.parents[t, source, slot], before
            copy(record.looks[t, source, slot], found.attention[source, best, t])
        found.token_scores[source, best, 0] = after
    return ended.totals[source, 0] > -np.inf


@kernel
def beam_part(
    part: int,
    parts: int,
    shared: Shared,
    how: How,
    layers: Layers,
    memories: Memories,
    start: SearchStart,
    allowed: Allowed,
    record: BeamRecord,
    ended: Ended,
    found: Found,
) -> None:
    """Search. `ended` and `found` hold zeros, and −inf as scores of `ended`; if a score is not finite, it stops.

    shared   what this thread shares with its helpers
    """
    team = team_of(shared)
    sources, vocabulary = start.state.shape[1], len(layers.output_bias)
    size, best = record.words.shape[2], found.tokens.shape[1]
    first, last = part * sources // parts, (part + 1) * sources // parts
    active, capacity = last - first, (last - first) * size
    rows, other = rows_for(capacity, layers, memories, start), rows_for(capacity, layers, memories, start)
    ranked = room_to_rank(capacity, min(2 * size, vocabulary), team.members, rows.embedded)
    banked = len(allowed.missing) > 0
    enough = size
    if banked:  # as `Beam.enough`
        enough = max(best, (size + allowed.missing[0]) // (allowed.missing[0] + 1))
    nearer = room_to_rank(capacity if banked else 0, min(size, vocabulary), 1, rows.embedded)
    only, left = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    states, later = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    counts, live = np.ones(active, np.int64), np.zeros((active, size), rows.embedded.dtype)
    scores, names = np.empty(2 * size, rows.embedded.dtype), np.empty(2 * size, np.int64)
    for i in range(active):
        place(i, first + i, start, rows)
        read_word(i, allowed.begin, start, rows)
    count = active
    for t in range(allowed.steps):
        said = advance_rows(
            team, 0, count, how.current, how.bent, how.alone, how.folded, layers, memories, rows
        )
        for i in range(count):
            only[i] = only_word(rows.source[i], t, allowed)
            left[i] = allowed.last[rows.source[i]] - t - 1
        bound = Bound(allowed.after, allowed.needed, allowed.missing, states, left)
        rank(team, count, said, layers, forbidden_at(t, allowed), only, bound, ranked, nearer)
        penalty = found.penalties[t]
        low, going, kept = 0, 0, 0
        for i in range(active):
            source, prefixes = rows.source[low], counts[i]
            if banked:
                sound = candidates(
                    low,
                    prefixes,
                    live[i],
                    ranked,
                    nearer,
                    bound,
                    vocabulary,
                    scores,
                    names,
                    size,
                    allowed.end,
                )
            else:
                sound = _merge(low, prefixes, live[i], ranked, vocabulary, scores, names)
            if not sound:
                found.unsound[part] = True
                return
            for slot in range(prefixes):
                copy(rows.weights[low + slot], record.looks[t, source, slot])
            if banked:
                for c in range(size):
                    if scores[c] > -np.inf and names[c] % vocabulary == allowed.end:
                        _finish(source, t, scores[c], scores[c] / penalty, names[c] // vocabulary, ended)
                in_order(scores, names, size, vocabulary, allowed.end)
            slot = 0
            for c in range(2 * size):
                if scores[c] == -np.inf:
                    break
                parent, word = names[c] // vocabulary, names[c] % vocabulary
                if word == allowed.end:
                    if c < size:
                        _finish(source, t, scores[c], scores[c] / penalty, parent, ended)
                elif slot < size:
                    live[kept, slot] = scores[c]
                    record.totals[t, source, slot] = scores[c]
                    record.words[t, source, slot], record.parents[t, source, slot] = word, parent
                    move(low + parent, rows, going + slot, other, how.feeds)
                    read_word(going + slot, word, start, other)
                    if len(allowed.after) > 0:
                        later[going + slot] = allowed.after[states[low + parent], word]
                    slot += 1
            low += prefixes
            full = ended.normalized[source, enough - 1] > -np.inf
            if (
                slot == 0
                or t >= allowed.last[source]
                or (full and live[kept, 0] / penalty <= ended.normalized[source, best - 1])
            ):
                if not _follow(source, allowed.end, record, ended, found):
                    found.unsound[part] = True
                    return
                continue
            counts[kept] = slot
            going += slot
            kept += 1
        rows, other = other, rows
        states, later = later, states
        active, count = kept, going
        if active == 0:
            return
