# mypy: disable-error-code="no-any-return, call-arg"
"""Greedy search for the sources of one thread in one kernel, from the first step to the last."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.either import depth_of
from regard.fast.cpu.layout import Memories
from regard.fast.cpu.product import Window
from regard.fast.cpu.ranking import Bound, Ranked, rank, room_to_rank
from regard.fast.cpu.screen import Screen, best_of_few
from regard.fast.cpu.step import Layers, advance_rows
from regard.fast.cpu.together import Shared, Team, team_of
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


class Written(NamedTuple):
    """The result for B sources, as in `Hypotheses`; `unsound` (parts): whether a score was not finite."""

    tokens: Array
    lengths: Array
    scores: Array
    attention: Array
    unsound: Array


PENDING = 64
"""Words whose scores are computed at once."""


class Pending(NamedTuple):
    """Words that were written without their scores.

    sources, steps, words   (n)   given (n, O) the readouts that they were chosen by
    """

    sources: Array
    steps: Array
    words: Array
    given: Array


@part
def _score(
    team: Team,
    count: int,
    pending: Pending,
    layers: Layers,
    bound: Bound,
    ranked: Ranked,
    nearer: Ranked,
    written: Written,
) -> bool:
    """Compute the scores of some words. Returns whether all are finite."""
    nothing = pending.words[:0]
    given = Window(pending.given, 0, 1, 0)
    rank(team, count, given, layers, nothing, pending.words, bound, ranked, nearer)
    for i in range(count):
        score = ranked.values[i, 0] - ranked.normalizers[i]
        if not np.isfinite(score):
            return False
        written.scores[pending.sources[i], pending.steps[i]] = score
    return True


@kernel
def write_part(
    part: int,
    parts: int,
    shared: Shared,
    how: How,
    layers: Layers,
    screen: Screen | None,
    memories: Memories,
    start: SearchStart,
    allowed: Allowed,
    written: Written,
) -> None:
    """Write the most probable words. `written` holds zeros; if a score is not finite, the search stops.

    shared   what this thread shares with its helpers
    """
    team, sources = team_of(shared), start.state.shape[1]
    first, end = part * sources // parts, (part + 1) * sources // parts
    count = end - first
    rows = rows_for(count, layers, memories, start)
    ranked = room_to_rank(count, 1, team.members, rows.embedded)
    nearer = room_to_rank(0, 1, 1, rows.embedded)
    only, states, left = np.empty(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64)
    bound = Bound(allowed.after, allowed.needed, allowed.missing[:0], states, left)
    free = Bound(allowed.after[:0], allowed.needed, allowed.missing[:0], states, left)
    later = room_to_rank(PENDING, 1, team.members, rows.embedded)
    places = np.empty((3, PENDING), np.int64)
    given = np.empty((PENDING, depth_of(layers.output)), rows.embedded.dtype)
    pending = Pending(places[0], places[1], places[2], given)
    waiting = 0
    for i in range(count):
        place(i, first + i, start, rows)
        read_word(i, allowed.begin, start, rows)
    for t in range(allowed.steps):
        said = advance_rows(
            team, 0, count, how.current, how.bent, how.alone, how.folded, layers, memories, rows
        )
        for i in range(count):
            only[i] = only_word(rows.source[i], t, allowed)
            left[i] = allowed.last[rows.source[i]] - t - 1
        forbidden = forbidden_at(t, allowed)
        if waiting + count > PENDING:
            if not _score(team, waiting, pending, layers, free, later, nearer, written):
                written.unsound[part] = True
                return
            waiting = 0
        screened = len(allowed.after) == 0 and best_of_few(
            team,
            count,
            said,
            layers,
            screen,
            forbidden,
            only,
            pending.words[waiting:],
            pending.given[waiting:],
        )
        if not screened:
            rank(team, count, said, layers, forbidden, only, bound, ranked, nearer)
        going = 0
        for i in range(count):
            source = rows.source[i]
            if screened:
                word = pending.words[waiting]
                pending.sources[waiting], pending.steps[waiting] = source, t
                waiting += 1
            else:
                word = ranked.words[i, 0]
                score = ranked.values[i, 0] - ranked.normalizers[i]
                if not np.isfinite(score):
                    written.unsound[part] = True
                    return
                written.scores[source, t] = score
            written.tokens[source, t] = word
            copy(rows.weights[i], written.attention[source, t])
            if word == allowed.end:
                written.lengths[source] = t + 1
                continue
            move(i, rows, going, rows, how.feeds)
            read_word(going, word, start, rows)
            if len(allowed.after) > 0:
                states[going] = allowed.after[states[i], word]
            going += 1
        count = going
        if count == 0:
            break
    if not _score(team, waiting, pending, layers, free, later, nearer, written):
        written.unsound[part] = True
