"""Beam search: keep the K best prefixes at every step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import torch
from pydantic import Field
from torch import Tensor

from regard.errors import RegardError
from regard.nn.path import faster
from regard.nn.search.banks import shared_among_banks, with_missing
from regard.nn.search.hypotheses import BackPointers, Finished, Hypotheses, Unfinished
from regard.nn.search.lower_precision import in_precision
from regard.nn.search.search import Request, Search
from regard.nn.search.stepper import (
    Bounds,
    Limits,
    Stepper,
    all_finite,
    best_allowed,
    best_continuations,
    check_outputs,
    check_scores,
)
from regard.nn.search.tree import Ending, SearchTree, tree_of_beam
from regard.nn.stepping import in_a_line
from regard.parts import Depth, register


@register("search", "beam")
@dataclass(frozen=True)
class Beam(Search):
    """Keeps the `size` most probable prefixes of each source; those that reach END are finished.

    Finished hypotheses are ranked by log-probability / ((5 + length) / 6)^length_penalty (Wu 2016), where END
    counts; 0 ranks by probability alone. A source is done if `size` hypotheses are finished and the best
    prefix, if it ended now, would not be among the `best` of them; or at its maximum length.

    best   number of hypotheses to return, at most `size`
    """

    class Options(Search.Options):
        """The most probable prefixes are kept at every step."""

        beam: Depth = 5
        """Number of hypotheses to keep."""
        length_penalty: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
        """Rank hypotheses by log p / ((5 + length)/6)^penalty (Wu 2016); 0 ranks by probability alone."""

    precisions: ClassVar[tuple[str, ...]] = ("fp32", "int8")
    chosen_by: ClassVar[tuple[str, ...]] = ("beam", "length_penalty", "n_best")

    size: int = 5
    length_penalty: float = 1.0
    best: int = 1
    limits: Limits = field(default_factory=Limits)
    precision: str = "fp32"

    def __post_init__(self) -> None:
        if self.size < 1 or not 1 <= self.best <= self.size:
            raise RegardError(
                f"A beam needs size ≥ 1 and 1 ≤ best ≤ size; received size {self.size}, best {self.best}."
            )

    @classmethod
    def make(cls, options: Any, request: Request) -> Self:
        return cls(
            size=options.beam,
            length_penalty=options.length_penalty,
            best=request.answers,
            limits=request.limits,
            precision=request.precision,
        )

    @classmethod
    def refused(cls, options: Any, answers: int) -> str:
        few = answers > options.beam
        return f"a beam of {options.beam} cannot give {answers} answers. Raise beam." if few else ""

    @classmethod
    def implied(cls, options: Any, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """An `n_best` above the size of the beam widens it."""
        answers = changes.get("n_best") or 1
        return {"beam": answers} if "beam" not in changes and answers > options.beam else {}

    @classmethod
    def exported(cls, options: Any) -> dict[str, Any] | None:
        return {"method": "beam", "beam": options.beam, "length_penalty": options.length_penalty}

    @classmethod
    def named(cls, options: Any) -> str:
        return f"beam search of {options.beam}"

    @classmethod
    def described(cls, options: Any) -> str:
        return f"beam search of size {options.beam}, length penalty {options.length_penalty:g}"

    def __call__(self, stepper: Stepper) -> Hypotheses:
        bounds = self.limits.of(stepper)
        device, given = stepper.lengths.device, (self, stepper, bounds)
        found: Hypotheses | None
        if self.precision == "fp32":
            found = faster("search.beam", device, *given)
        else:
            found = in_precision("search.beam", self.precision, device, *given)
        return self.step_by_step(stepper, bounds) if found is None else found

    def traced(self, stepper: Stepper) -> tuple[Hypotheses, SearchTree]:
        bounds = self.limits.of(stepper)
        endings: list[Ending] = []
        paths, finished = self._searched(stepper, bounds, endings)
        tree = tree_of_beam(paths, finished, endings, self.best, int(bounds.last[0]))
        return paths.follow(finished, self.best), tree

    def step_by_step(self, stepper: Stepper, bounds: Bounds) -> Hypotheses:
        paths, finished = self._searched(stepper, bounds)
        return paths.follow(finished, self.best)

    @torch.no_grad()
    def _searched(
        self, stepper: Stepper, bounds: Bounds, endings: list[Ending] | None = None
    ) -> tuple[BackPointers, Finished]:
        """The steps of the beam, and the finished hypotheses.

        endings   where to note every hypothesis that ends, of a single source
        """
        state, paths = in_a_line(stepper.start()), BackPointers(stepper.end)
        unfinished = Unfinished.all(len(stepper.lengths), stepper.lengths.device)
        words = torch.full((len(unfinished), 1), stepper.begin, device=stepper.lengths.device)
        live = torch.zeros_like(words, dtype=torch.float32)
        done = torch.zeros_like(live[:, 0], dtype=torch.bool)
        finished = Finished.empty(live.expand(-1, self.size))
        finals: list[tuple[Tensor, Finished]] = []
        enough = self.size
        for t in range(bounds.steps):
            step = stepper.step(words, state)
            if t == 0 and step.missing is not None:
                enough = self.enough(int(step.missing[0].max()))
            count = min(2 * self.size, step.logits.shape[-1])
            normalizer, best, words = best_allowed(step.logits, count, bounds, t, step.allowed)
            gained = live - normalizer
            if not all_finite(normalizer):
                check_scores(normalizer, (live > -torch.inf) & ~done.unsqueeze(1), t, unfinished)
                dead = ~normalizer.isfinite()  # prefixes that no token can continue
                gained = gained.masked_fill(dead, -torch.inf)
                best = best.masked_fill(dead.unsqueeze(-1), -torch.inf)
            ranks = None
            if step.missing is not None:
                best, words, ranks = with_missing(step.logits, best, words, step.missing, self.size)
                best = best.masked_fill(~normalizer.isfinite().unsqueeze(-1), -torch.inf)
            if endings is not None:
                endings += self._endings(best, words, gained, bounds, t, ranks)
            live, parents, words, finished, done = self.advance(
                best, words, gained, finished, done, bounds, t, ranks, enough
            )
            ended = int(done.sum())
            paths.keep(unfinished, words, parents, live, step.looks)
            if ended == len(unfinished):
                break
            state = step.state
            if unfinished.worth_leaving(ended):
                gone, kept = done.nonzero().squeeze(1), (~done).nonzero().squeeze(1)
                finals.append((unfinished.rows.index_select(0, gone), finished.select(gone)))
                unfinished, stepper, state = unfinished.select(kept), stepper.select(kept), state.select(kept)
                bounds, finished, done = (
                    bounds.select(kept),
                    finished.select(kept),
                    done.index_select(0, kept),
                )
                words, parents, live = (part.index_select(0, kept) for part in (words, parents, live))
            state = state.reorder(parents)
        finished = Finished.joined([*finals, (unfinished.rows, finished)])
        check_outputs(finished.totals[:, 0])
        return paths, finished

    def _endings(
        self, best: Tensor, words: Tensor, gained: Tensor, bounds: Bounds, step: int, banks: Tensor | None
    ) -> Iterator[Ending]:
        """The hypotheses about the first source that end at a step."""
        found = self._continuations(best, words, gained, banks)
        scores, slots, tokens = (one[0].tolist() for one in found)
        for score, slot, token in list(zip(scores, slots, tokens, strict=True))[: self.size]:
            if token == bounds.end and score > -torch.inf:
                yield step, slot, score

    def advance(
        self,
        best: Tensor,
        words: Tensor,
        gained: Tensor,
        finished: Finished,
        done: Tensor,
        bounds: Bounds,
        t: int | Tensor,
        banks: Tensor | None = None,
        enough: int | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Finished, Tensor]:
        """The prefixes after a step, their parents and tokens, the finished hypotheses,
        and the sources that are done.

        banks    (B, K, C) the bank of each candidate: the beam is shared among the banks
        enough   number of finished hypotheses that a source needs to be done; default: `size`
        """
        scores, parents, words = self._continuations(best, words, gained, banks)
        finished = self._finish(finished, scores, parents, (words == bounds.end) & ~done.unsqueeze(1), t)
        prune = self._prune if banks is None else self._prune_in_order
        live, parents, words = prune(scores, parents, words, bounds.end)
        hopeless = live[:, 0] / self._penalty(t) <= finished.normalized[:, self.best - 1]
        full = finished.has(self.size if enough is None else enough)
        done = done | (full & hopeless) | (live[:, 0] == -torch.inf) | bounds.ended(t)
        return live, parents, words, finished, done

    def enough(self, missing: int) -> int:
        """The finished hypotheses that suffice if an output still needs this many tokens at first: the share of one
        bank in the beam, because only the last bank ends."""
        return max(self.best, -(-self.size // (missing + 1)))

    def _continuations(
        self, best: Tensor, words: Tensor, gained: Tensor, banks: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The 2K best candidates, best first; of each bank in turn if there are banks."""
        if banks is None:
            return best_continuations(best, words, gained, 2 * self.size)
        return shared_among_banks(best, words, gained, banks, 2 * self.size)

    def _finish(
        self, finished: Finished, scores: Tensor, parents: Tensor, ended: Tensor, step: int | Tensor
    ) -> Finished:
        """Add the candidates among the first K that end to the finished."""
        totals = scores[:, : self.size].masked_fill(~ended[:, : self.size], -torch.inf)
        return finished.add(totals / self._penalty(step), totals, step, parents[:, : self.size])

    def _penalty(self, step: int | Tensor) -> Any:
        """The divisor of the score of a hypothesis that ends at a step, counted from 0."""
        return ((6 + step) / 6) ** self.length_penalty

    def _prune(
        self, scores: Tensor, parents: Tensor, tokens: Tensor, end: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The K best candidates that continue. At most K of the 2K candidates end, so there are K of them."""
        live, order = scores.masked_fill(tokens == end, -torch.inf).topk(self.size, 1)
        return live, parents.gather(1, order), tokens.gather(1, order)

    def _prune_in_order(
        self, scores: Tensor, parents: Tensor, tokens: Tensor, end: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The first K candidates that continue, best first."""
        gone = (tokens == end) | (scores == -torch.inf)
        order = gone.to(torch.uint8).argsort(dim=1, stable=True)[:, : self.size]
        live = scores.masked_fill(gone, -torch.inf).gather(1, order)
        live, by_score = live.sort(dim=1, descending=True, stable=True)
        order = order.gather(1, by_score)
        return live, parents.gather(1, order), tokens.gather(1, order)
