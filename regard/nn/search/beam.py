"""Beam search: the K best beginnings at every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.memory import Memory
from regard.nn.search.active import Active
from regard.nn.search.candidates import best_continuations, limited_top, normalisers, top
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Bounds, Limits
from regard.nn.search.paths import Paths
from regard.nn.search.pool import Pool
from regard.nn.search.soundness import all_finite, check_outputs, check_scores
from regard.nn.search.stepper import Stepper
from regard.nn.search.strides import STRIDE, Ground, by_step, key_of, padded_rows, recorder_of, serves


@dataclass(frozen=True)
class Beam:
    """Keeps the `size` most probable beginnings of each source; a beginning that reaches END among them is finished.

    The finished ones are ranked by log-probability / ((5 + length) / 6)^length_penalty (Wu 2016), END counted; 0 ranks
    by probability alone. A source is done when `size` hypotheses are finished and the best beginning, were it to end
    here, would not come among the `best` of them; or at its maximum length.

    best   how many hypotheses to return, at most `size`
    """

    size: int = 5
    length_penalty: float = 1.0
    best: int = 1
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.size < 1 or not 1 <= self.best <= self.size:
            raise RegardError(
                f"A beam needs size ≥ 1 and 1 ≤ best ≤ size; received size {self.size}, best {self.best}."
            )

    def __call__(self, stepper: Stepper) -> Hypotheses:
        bounds = self.limits.of(stepper)
        if serves(stepper, bounds):
            found = self.in_strides(stepper, bounds)
            if found is not None:
                return found
        return self.step_by_step(stepper, bounds)

    @torch.no_grad()
    def step_by_step(self, stepper: Stepper, bounds: Bounds) -> Hypotheses:
        state, paths = stepper.start(), Paths(stepper.end)
        active = Active.all(len(stepper.lengths), stepper.lengths.device)
        words = torch.full((len(active), 1), stepper.begin, device=stepper.lengths.device)
        live = torch.zeros_like(words, dtype=torch.float32)
        done = torch.zeros_like(live[:, 0], dtype=torch.bool)
        pool = Pool.empty(live.expand(-1, self.size))
        finals: list[tuple[Tensor, Pool]] = []
        for t in range(bounds.steps):
            step = stepper.step(words, state)
            normaliser = normalisers(step.logits)
            gained = live - normaliser
            if not all_finite(normaliser):
                check_scores(normaliser, (live > -torch.inf) & ~done.unsqueeze(1), t, active)
                gained = _without_dead_ends(gained, step.logits, ~normaliser.isfinite())
            best, words = top(bounds.apply(step.logits, t), min(2 * self.size, step.logits.shape[-1]))
            live, parents, words, pool, done = self._advance(best, words, gained, pool, done, bounds, t)
            ended = int(done.sum())
            paths.keep(active, words, parents, live, step.looks)
            if ended == len(active):
                break
            state = step.state
            if active.worth_leaving(ended):
                gone, kept = done.nonzero().squeeze(1), (~done).nonzero().squeeze(1)
                finals.append((active.rows.index_select(0, gone), pool.select(gone)))
                active, stepper, state = active.select(kept), stepper.select(kept), state.select(kept)
                bounds, pool, done = bounds.select(kept), pool.select(kept), done.index_select(0, kept)
                words, parents, live = (part.index_select(0, kept) for part in (words, parents, live))
            state = state.reorder(parents)
        pool = Pool.joined([*finals, (active.rows, pool)])
        check_outputs(pool.totals[:, 0])
        return paths.follow(pool, self.best)

    def in_strides(self, stepper: Stepper, bounds: Bounds) -> Hypotheses | None:
        """The same several steps at a time (see `strides`); None where a score was not finite."""
        decoder: Any = stepper.decoder
        recorder = recorder_of(decoder)
        with torch.inference_mode(False), torch.no_grad(), recorder.lock:
            ground, rows = Ground.of(stepper, bounds)
            count, device = len(stepper.lengths), rows.device
            active = Active.all(len(rows), device)  # those that only fill the bucket are done from the start
            words = torch.full((len(rows), 1), stepper.begin, device=device)
            live = torch.zeros_like(words, dtype=torch.float32)
            done = torch.arange(len(rows), device=device) >= count
            pool = Pool.empty(live.expand(-1, self.size))
            at = torch.zeros((), dtype=torch.int64, device=device)
            search = Searching(decoder.start(ground.memories), words, live, done, pool, at)
            finals: list[tuple[Tensor, Pool]] = []
            kept: list[dict[str, Any]] = []
            for first in range(0, bounds.steps, STRIDE):
                late = first + STRIDE > bounds.extent[0]

                def stride(given: tuple[Any, ...], late: bool = late) -> tuple[Any, ...]:
                    return self._stride(stepper, bounds, *given, late=late)

                key = key_of(stepper, bounds, first, search.state, self)
                search, found, flags = recorder.replays(key, stride, (ground.memories, ground.last, search))
                ended, sound = flags.tolist()
                if not sound:
                    return None
                searched = len(active)
                ended -= len(search.done) - searched
                kept.append(_restored(active, found))
                if ended == searched:
                    break
                if active.worth_leaving(ended):
                    real = search.done[:searched]
                    gone, stay = real.nonzero().squeeze(1), (~real).nonzero().squeeze(1)
                    finals.append((active.rows.index_select(0, gone), search.pool.select(gone)))
                    active, chosen = active.select(stay), padded_rows(stay)
                    ground, search = ground.select(chosen), search.select(chosen, len(stay))
            still = torch.arange(len(active), device=device)
            pool = Pool.joined([*finals, (active.rows, search.pool.select(still))])
            check_outputs(pool.totals[:count, 0])
            outputs: Hypotheses = recorder.replays(
                ("follow", self.best, stepper.end), partial(_follow, self.best, stepper.end), (pool, kept)
            )
            return outputs.narrowed(rows=count).cut().copied(ground.widths)

    def _stride(
        self,
        stepper: Stepper,
        bounds: Bounds,
        memories: Mapping[str, Memory],
        last: Tensor,
        search: Searching,
        *,
        late: bool,
    ) -> tuple[Any, ...]:
        """STRIDE steps: where the search stands then, what was kept, and (sources that are done, all was finite)."""
        decoder: Any = stepper.decoder
        bounds = replace(bounds, last=last)
        state, words, live, done = search.state, search.words, search.live, search.done
        pool, at = search.pool, search.at
        sound = torch.ones((), dtype=torch.bool, device=words.device)
        kept: dict[str, list[Tensor]] = {"words": [], "parents": [], "live": []}
        looks = []
        for _ in range(STRIDE):
            step = decoder.step(words, state, memories)
            count = min(2 * self.size, step.logits.shape[-1])
            normaliser, best, words = limited_top(step.logits, bounds, at, count, late=late)
            dead = ~normaliser.isfinite()
            alive = (live > -torch.inf) & ~done.unsqueeze(1)
            sound = sound & ~(normaliser.isnan() | (dead & alive)).any()
            gained = (live - normaliser).masked_fill(dead, -torch.inf)
            live, parents, words, pool, done = self._advance(best, words, gained, pool, done, bounds, at)
            state, at = step.state.reorder(parents), at + 1
            for name, part in (("words", words), ("parents", parents), ("live", live)):
                kept[name].append(part)
            looks.append(step.looks)
        found: dict[str, Any] = {name: torch.stack(parts) for name, parts in kept.items()}
        found["looks"] = by_step(looks, self.size)
        flags = torch.stack([done.sum(), sound.to(torch.int64)])
        return Searching(state, words, live, done, pool, at), found, flags

    def _advance(
        self,
        best: Tensor,
        words: Tensor,
        gained: Tensor,
        pool: Pool,
        done: Tensor,
        bounds: Bounds,
        t: int | Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Pool, Tensor]:
        """The beginnings after a step, what they continue and their tokens, what is finished, and who is done."""
        scores, parents, words = best_continuations(best, words, gained, 2 * self.size)
        pool = self._finish(pool, scores, parents, (words == bounds.end) & ~done.unsqueeze(1), t)
        live, parents, words = self._prune(scores, parents, words, bounds.end)
        hopeless = live[:, 0] / self._penalty(t) <= pool.normalised[:, self.best - 1]
        done = done | (pool.full & hopeless) | (live[:, 0] == -torch.inf) | bounds.ended(t)
        return live, parents, words, pool, done

    def _finish(self, pool: Pool, scores: Tensor, parents: Tensor, ended: Tensor, step: int | Tensor) -> Pool:
        """Candidates that end among the first K go to the pool."""
        totals = scores[:, : self.size].masked_fill(~ended[:, : self.size], -torch.inf)
        return pool.add(totals / self._penalty(step), totals, step, parents[:, : self.size])

    def _penalty(self, step: int | Tensor) -> Any:
        """What the score of a hypothesis is divided by that ends at a step, counted from 0."""
        return ((6 + step) / 6) ** self.length_penalty

    def _prune(
        self, scores: Tensor, parents: Tensor, tokens: Tensor, end: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The K best of those that go on; at most K of the 2K candidates end, so there are K of them."""
        live, order = scores.masked_fill(tokens == end, -torch.inf).topk(self.size, 1)
        return live, parents.gather(1, order), tokens.gather(1, order)


@dataclass(frozen=True)
class Searching:
    """Where a beam search stands between two strides; `at` () is the number of steps taken."""

    state: Any
    words: Tensor
    live: Tensor
    done: Tensor
    pool: Pool
    at: Tensor

    def select(self, rows: Tensor, real: int) -> Searching:
        """Some of the sources, (B') int64, of which the first `real` are searched and the others fill a bucket."""
        done = self.done.index_select(0, rows)
        done[real:] = True
        words, live = self.words.index_select(0, rows), self.live.index_select(0, rows)
        return Searching(self.state.select(rows), words, live, done, self.pool.select(rows), self.at)


def _restored(active: Active, found: Mapping[str, Any]) -> dict[str, Any]:
    """What a stride kept of its rows, (n, B', …), as that of all rows, copied."""

    def all_rows(tensor: Tensor) -> Tensor:
        if len(active) == active.total:
            return tensor.clone()
        whole = tensor.new_zeros(len(tensor), active.total, *tensor.shape[2:])
        return whole.index_copy_(1, active.rows, tensor[:, : len(active)])

    looks = {name: all_rows(look) for name, look in found["looks"].items()}
    return {name: all_rows(found[name]) for name in ("words", "parents", "live")} | {"looks": looks}


def _follow(best: int, end: int, given: tuple[Pool, list[dict[str, Any]]]) -> Hypotheses:
    """From what all strides kept to whole hypotheses, whatever their length."""
    pool, strides = given
    paths = Paths(end)
    for kept in strides:
        paths.words += kept["words"].unbind()
        paths.parents += kept["parents"].unbind()
        paths.totals += kept["live"].unbind()
        for step in range(len(kept["words"])):
            paths.looks.append({name: look[step] for name, look in kept["looks"].items()})
    return paths.follow(pool, best, len(paths.words))


def _without_dead_ends(gained: Tensor, logits: Tensor, dead: Tensor) -> Tensor:
    """Beginnings (B, K) that no token can continue: −inf as what they gained and, in place, as their logits."""
    logits.masked_fill_(dead.unsqueeze(-1), -torch.inf)
    return gained.masked_fill(dead, -torch.inf)
