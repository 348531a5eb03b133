"""Beam search: the K best beginnings at every step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from regard.data.batch import BEGIN, END
from regard.errors import RegardError
from regard.nn.search.candidates import best_continuations
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Limits
from regard.nn.search.paths import Paths
from regard.nn.search.pool import Pool
from regard.nn.search.stepper import Stepper


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

    @torch.no_grad()
    def __call__(self, stepper: Stepper) -> Hypotheses:
        state, paths = stepper.start(), Paths()
        last = self.limits.last_step(stepper.lengths)
        rows = len(last)
        words = torch.full((rows, 1), BEGIN, device=last.device)
        live = done = pool = None
        for t in range(int(last.max()) + 1):
            step = stepper.step(words, state)
            if live is None or done is None or pool is None:
                live = step.logits.new_zeros(rows, 1)
                done = torch.zeros(rows, dtype=torch.bool, device=last.device)
                pool = Pool.empty(live.expand(-1, self.size))
            restrict = partial(self.limits.apply, step=t, last=last)
            scores, parents, tokens = best_continuations(step.logits, live, 2 * self.size, restrict)
            pool = self._finish(pool, scores, parents, tokens, t, done)
            live, parents, words = self._prune(scores, parents, tokens)
            hopeless = live[:, 0] / self._penalty(t) <= pool.normalised[:, self.best - 1]
            done = done | (pool.full & hopeless) | (last <= t)
            paths.words.append(words)
            paths.parents.append(parents)
            paths.totals.append(live)
            paths.looks.append(dict(step.looks))
            if bool(done.all()):
                break
            state = step.state.reorder(parents)
        return paths.follow(pool, self.best)  # type: ignore[arg-type]

    def _finish(
        self, pool: Pool, scores: Tensor, parents: Tensor, tokens: Tensor, step: int, done: Tensor
    ) -> Pool:
        """Candidates that end among the first K go to the pool."""
        scores, parents, tokens = scores[:, : self.size], parents[:, : self.size], tokens[:, : self.size]
        ended = (tokens == END) & ~done[:, None]
        totals = scores.masked_fill(~ended, -torch.inf)
        return pool.add(totals / self._penalty(step), totals, step, parents)

    def _penalty(self, step: int) -> float:
        """What the score of a hypothesis is divided by that ends at a step, counted from 0."""
        penalty: float = ((6 + step) / 6) ** self.length_penalty
        return penalty

    def _prune(self, scores: Tensor, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The K best of those that go on; at most K of the 2K candidates end, so there are K of them."""
        live, order = scores.masked_fill(tokens == END, -torch.inf).topk(self.size, 1)
        return live, parents.gather(1, order), tokens.gather(1, order)
