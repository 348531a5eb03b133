"""Greedy search for the sources of one thread in one kernel, from the first step to the last."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.layout import Memories
from regard.fast.cpu.ranking import Bound, rank, room_to_rank
from regard.fast.cpu.step import Layers, advance_rows
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
from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.rows import copy

Array = Any


class Written(NamedTuple):
    """The result for B sources, as in `Hypotheses`; `unsound` (parts): whether a score was not finite."""

    tokens: Array
    lengths: Array
    scores: Array
    attention: Array
    unsound: Array


@kernel
def write_part(
    part: int,
    parts: int,
    how: How,
    layers: Layers,
    memories: Memories,
    start: SearchStart,
    allowed: Allowed,
    written: Written,
) -> None:
    """Write the most probable words. `written` holds zeros; if a score is not finite, the search stops."""
    sources = start.state.shape[1]
    first, end = part * sources // parts, (part + 1) * sources // parts
    count = end - first
    rows = rows_for(count, layers, memories, start)
    ranked = room_to_rank(count, 1, rows.embedded)
    nearer = room_to_rank(0, 1, rows.embedded)
    only, states, left = np.empty(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64)
    bound = Bound(allowed.after, allowed.needed, allowed.missing[:0], states, left)
    for i in range(count):
        place(i, first + i, start, rows)
        read_word(i, allowed.begin, start, rows)
    for t in range(allowed.steps):
        said = advance_rows(0, count, how.current, how.bent, how.alone, layers, memories, rows)
        for i in range(count):
            only[i] = only_word(rows.source[i], t, allowed)
            left[i] = allowed.last[rows.source[i]] - t - 1
        rank(count, said, layers, forbidden_at(t, allowed), only, bound, ranked, nearer)
        going = 0
        for i in range(count):
            source, word = rows.source[i], ranked.words[i, 0]
            score = ranked.values[i, 0] - ranked.normalizers[i]
            if not np.isfinite(score):
                written.unsound[part] = True
                return
            written.tokens[source, t] = word
            written.scores[source, t] = score
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
            return
