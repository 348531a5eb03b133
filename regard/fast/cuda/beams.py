# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Bookkeeping of a beam search: one step, and the backtrace through all steps, each in one launch.

A step of one source takes the 2·SIZE best among the C best continuations of each of its K live hypotheses.
Those among the first SIZE that end go to the pool of finished hypotheses. The SIZE best that do not end
become the new live hypotheses. With banks (see `regard.nn.search.banks`) the best of each bank come first,
then the second best of each, and so on.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.structures.kernels.cuda.launching import on_device_of, power_of_two

LARGEST = 32
"""Maximum number of live hypotheses of a source."""
NOWHERE: tl.constexpr = tl.constexpr(float("-inf"))


@triton.jit
def _pick(vector, lanes, at):
    """One element of a vector."""
    return tl.sum(tl.where(lanes == at, vector, 0), 0)


@triton.jit
def _at(vector, lanes, at):
    """One element of a vector that may hold −∞."""
    return tl.max(tl.where(lanes == at, vector, NOWHERE), 0)


@triton.jit(do_not_specialize=["K", "V", "end", "penalty", "B"])
def advance_kernel(
    best, words, normalizers, live, pool_scores, pool_totals, pool_steps, pool_slots, done, last, at, sound,
    new_live, new_parents, new_words, new_scores, new_totals, new_steps, new_slots, new_done,
    banks, after, states, new_states,
    B, K, V, end, penalty, C: tl.constexpr, SIZE: tl.constexpr, BEST: tl.constexpr, ENOUGH: tl.constexpr,
    WIDE: tl.constexpr, LANES: tl.constexpr, BANKED: tl.constexpr, BOUND: tl.constexpr):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, WIDE)
    lanes = tl.arange(0, LANES)
    here = j < K * C
    k = j // C
    now = tl.load(at)
    over = tl.load(done + b) != 0
    normalizer = tl.load(normalizers + b * K + k, mask=here, other=0.0)
    reached = tl.load(live + b * K + k, mask=here, other=NOWHERE)
    finite = normalizer - normalizer == 0
    broken = here & ((normalizer != normalizer) | ((finite == 0) & (reached > NOWHERE) & (over == 0)))
    fine = tl.load(sound + b)
    tl.store(sound + b, tl.where(tl.max(broken.to(tl.int32), 0) > 0, 0, fine).to(tl.int8))
    value = tl.load(best + b * K * C + j, mask=here, other=NOWHERE)
    total = tl.where(here & finite, value + (reached - normalizer), NOWHERE)
    token = tl.load(words + b * K * C + j, mask=here, other=0)

    divisor = tl.exp(penalty * tl.log((6.0 + now.to(tl.float32)) / 6.0))
    found = 0
    ended_score = tl.full([LANES], NOWHERE, tl.float32)
    ended_total = tl.full([LANES], NOWHERE, tl.float32)
    ended_slot = tl.zeros([LANES], tl.int64)
    live_score = tl.full([LANES], NOWHERE, tl.float32)
    live_parent = tl.zeros([LANES], tl.int64)
    live_word = tl.full([LANES], 0, tl.int64) + end
    taken = tl.zeros([WIDE], tl.int32)  # candidates that were taken from the bank of each
    if BANKED:
        bank = tl.load(banks + b * K * C + j, mask=here, other=-1)
    for place in range(2 * SIZE):
        ahead = total
        if BANKED:
            turn = tl.min(tl.where(total > NOWHERE, taken, WIDE), 0)
            ahead = tl.where(taken == turn, total, NOWHERE)
        high = tl.max(ahead, 0)
        index = tl.min(tl.where(ahead == high, j, WIDE), 0)
        index = tl.where(index < K * C, index, 0)
        word = _pick(token, j, index)
        parent = (index // C).to(tl.int64)
        ends = word == end
        joins = ends & (over == 0) & (place < SIZE)
        ended_score = tl.where((lanes == place) & joins, high / divisor, ended_score)
        ended_total = tl.where((lanes == place) & joins, high, ended_total)
        ended_slot = tl.where((lanes == place) & joins, parent, ended_slot)
        goes_on = (ends == 0) & (found < SIZE) & (high > NOWHERE)
        live_score = tl.where((lanes == found) & goes_on, high, live_score)
        live_parent = tl.where((lanes == found) & goes_on, parent, live_parent)
        live_word = tl.where((lanes == found) & goes_on, word, live_word)
        found += tl.where(goes_on, 1, 0)
        if BANKED:
            taken += tl.where(bank == _pick(bank, j, index), 1, 0)
        total = tl.where(j == index, NOWHERE, total)

    first_live = tl.max(live_score, 0)
    for place in range(SIZE):
        lane = place
        if BANKED:  # those of the banks are not sorted
            high = tl.max(live_score, 0)
            lane = tl.min(tl.where(live_score == high, lanes, LANES - 1), 0)
        high = _at(live_score, lanes, lane)
        parent = _pick(live_parent, lanes, lane)
        word = _pick(live_word, lanes, lane)
        tl.store(new_live + b * SIZE + place, high)
        tl.store(new_parents + b * SIZE + place, parent)
        tl.store(new_words + b * SIZE + place, word)
        if BOUND:
            state = tl.load(states + b * K + parent).to(tl.int64)
            tl.store(new_states + b * SIZE + place, tl.load(after + state * V + word).to(tl.int64))
        if BANKED:
            live_score = tl.where(lanes == lane, NOWHERE, live_score)

    old = lanes < SIZE
    old_score = tl.load(pool_scores + b * SIZE + lanes, mask=old, other=NOWHERE)
    old_total = tl.load(pool_totals + b * SIZE + lanes, mask=old, other=NOWHERE)
    old_step = tl.load(pool_steps + b * SIZE + lanes, mask=old, other=0)
    old_slot = tl.load(pool_slots + b * SIZE + lanes, mask=old, other=0)
    needed = tl.full([], NOWHERE, tl.float32)
    rival = tl.full([], NOWHERE, tl.float32)
    used_old = 0
    for place in range(SIZE):
        score = _pick(old_score, lanes, used_old)  # the old hypotheses are sorted
        newest = tl.max(ended_score, 0)
        at_new = tl.min(tl.where(ended_score == newest, lanes, LANES - 1), 0)
        stays = score >= newest
        chosen = tl.where(stays, score, newest)
        tl.store(new_scores + b * SIZE + place, chosen)
        total_old, total_new = _pick(old_total, lanes, used_old), _pick(ended_total, lanes, at_new)
        tl.store(new_totals + b * SIZE + place, tl.where(stays, total_old, total_new))
        tl.store(new_steps + b * SIZE + place, tl.where(stays, _pick(old_step, lanes, used_old), now))
        slot_old, slot_new = _pick(old_slot, lanes, used_old), _pick(ended_slot, lanes, at_new)
        tl.store(new_slots + b * SIZE + place, tl.where(stays, slot_old, slot_new))
        ended_score = tl.where((lanes == at_new) & (stays == 0), NOWHERE, ended_score)
        used_old += tl.where(stays, 1, 0)
        needed = tl.where(place == ENOUGH - 1, chosen, needed)
        rival = tl.where(place == BEST - 1, chosen, rival)

    hopeless = (needed > NOWHERE) & (first_live / divisor <= rival)
    finished = over | hopeless | (first_live == NOWHERE) | (tl.load(last + b) <= now)
    tl.store(new_done + b, finished.to(tl.int8))


def serves(size: int, count: int, scores: Tensor) -> bool:
    return scores.is_cuda and scores.dtype == torch.float32 and size <= LARGEST and count <= 2 * LARGEST


def advance(
    best: Tensor,
    words: Tensor,
    normalizers: Tensor,
    live: Tensor,
    pool: tuple[Tensor, Tensor, Tensor, Tensor],
    done: Tensor,
    last: Tensor,
    at: Tensor,
    sound: Tensor,
    kept: tuple[Tensor, Tensor, Tensor],
    *,
    size: int,
    n_best: int,
    end: int,
    penalty: float,
    banks: Tensor | None = None,
    enough: int | None = None,
    table: tuple[Tensor, Tensor] | None = None,
) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor], Tensor, Tensor | None]:
    """best and words (B, K, C), normalizers and live (B, K), pool (B, size) four times, done and last (B), at
    () → the new pool, the new `done`, and the new states of a constraint. The new live hypotheses are written to
    `kept`: live, parents and words, each (B, size). `sound` (B) int8 becomes 0 if a normalizer is NaN, or infinite
    for a live hypothesis.

    banks    (B, K, C) int32 the bank of each candidate: the beam is shared among the banks
    enough   number of finished hypotheses that a source needs to be done; default: `size`
    table    of a constraint: the states after each token (Q, V), and the states (B, K) now
    """
    rows, hypotheses, count = best.shape
    new_pool = tuple(torch.empty_like(part) for part in pool)
    new_done = torch.empty_like(done)
    states = None if table is None else torch.empty_like(kept[1])
    after, before = (last, last) if table is None else table
    with on_device_of(best):
        advance_kernel[(rows,)](
            best, words, normalizers, live, *pool, done.view(torch.int8), last, at, sound,
            *kept, *new_pool, new_done.view(torch.int8), last if banks is None else banks, after,
            before.contiguous(), last if states is None else states,
            rows, hypotheses, after.shape[-1], end, penalty,
            C=count, SIZE=size, BEST=n_best, ENOUGH=size if enough is None else enough,
            WIDE=power_of_two(size * count, 16), LANES=power_of_two(size, 2), BANKED=banks is not None,
            BOUND=table is not None, num_warps=1,
        )  # fmt: skip
    return new_pool, new_done, states  # type: ignore[return-value]


@triton.jit(do_not_specialize=["T", "B", "K", "P", "N", "end", "pad"])
def follow_kernel(words, parents, totals, ends, slots, scores, tokens, reached, places,
                  T, B, K, P, N, end, pad):  # fmt: skip
    """Backtrace of one hypothesis. words, parents and totals are (T, B, K), those of the pool (B, P)."""
    b, n = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    last = tl.load(ends + b * P + n)
    slot = tl.load(slots + b * P + n)
    score = tl.load(scores + b * P + n)
    exists = score > NOWHERE
    out = (b * N + n) * T
    after = slot
    for back in range(T):
        t = T - 1 - back
        inside = exists & (t < last)
        ending = exists & (t == last)
        at = (t.to(tl.int64) * B + b) * K + tl.where(inside, after, 0)
        word = tl.load(words + at)
        total = tl.load(totals + at)
        place = tl.where(inside, tl.load(parents + at), slot)
        tl.store(tokens + out + t, tl.where(ending, end, tl.where(inside, word, pad)))
        tl.store(reached + out + t, tl.where(ending, score, tl.where(inside, total, 0.0)))
        tl.store(places + out + t, place)
        after = place


def follow(
    words: Tensor,
    parents: Tensor,
    totals: Tensor,
    pool: tuple[Tensor, Tensor, Tensor],
    n_best: int,
    *,
    end: int,
    pad: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """words, parents, totals (T, B, K), the pool's steps, slots and totals (B, P) → tokens, the cumulative
    log-probability, and the index in the beam from which each token came, each (B, n_best, T).
    """
    steps, rows, hypotheses = words.shape
    tokens = words.new_empty(rows, n_best, steps)
    reached, places = totals.new_empty(tokens.shape), torch.empty_like(tokens)
    with on_device_of(words):
        follow_kernel[(rows, n_best)](
            words, parents, totals, *pool, tokens, reached, places,
            steps, rows, hypotheses, pool[0].shape[1], n_best, end, pad, num_warps=1,
        )  # fmt: skip
    return tokens, reached, places
