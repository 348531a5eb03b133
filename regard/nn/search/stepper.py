"""One step of a search: the logits of a decoder or of an ensemble, the limits on the output, the best continuations,
and the checks that scores allow the search to continue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import BEGIN, END, PAD, Tokens
from regard.errors import RegardError
from regard.nn.memory import Memory
from regard.nn.path import faster
from regard.nn.search.hypotheses import Unfinished
from regard.nn.stepping import Step, StepState, Stepwise, in_a_line
from regard.parts.definition import remember


@remember
class Stepper:
    """The interface of a search to a model: the first state, and one step.

    lengths                 (B) the longest of the sources' lengths in each row
    longest                 (B) the default limit of a search, from the lengths
    begin, end, forbidden   those of the decoder, see `Stepwise`
    """

    def __init__(self, decoder: Stepwise, memories: Mapping[str, Memory], *, truth: Any = None) -> None:
        self.decoder, self.memories, self.truth = decoder, memories, truth
        self.lengths = torch.stack([memory.mask.sum(1) for memory in memories.values()]).amax(0)
        longest = getattr(decoder, "longest", None)
        self.longest = 2 * self.lengths + 20 if longest is None else longest(self.lengths)
        self.begin: int = getattr(decoder, "begin", BEGIN)
        self.end: int = getattr(decoder, "end", END)
        self.forbidden: tuple[int, ...] = getattr(decoder, "forbidden", (PAD, BEGIN))

    def start(self) -> StepState:
        return self.decoder.start(self.memories, truth=self.truth)

    def step(self, tokens: Tensor, state: Any) -> Step:
        return self.decoder.step(tokens, state, self.memories)

    def targets(self, target: Tokens) -> Tokens:
        """A given output as choices: its own ids, unless the decoder has its own numbering,
        as one that copies."""
        as_choices = getattr(self.decoder, "targets", None)
        found: Tokens = target if as_choices is None else as_choices(self.memories, target)
        return found

    def select(self, rows: Tensor) -> Stepper:
        """The stepper for some of the sources, (B') int64, whose state has been selected too."""
        memories = {name: memory.select(rows) for name, memory in self.memories.items()}
        return Stepper(self.decoder, memories)


@dataclass(frozen=True)
class EnsembleState:
    members: tuple[StepState, ...]

    def reorder(self, parents: Tensor) -> EnsembleState:
        return EnsembleState(tuple(state.reorder(parents) for state in self.members))

    def in_a_line(self) -> EnsembleState:
        return EnsembleState(tuple(map(in_a_line, self.members)))

    def select(self, rows: Tensor) -> EnsembleState:
        return EnsembleState(tuple(state.select(rows) for state in self.members))


class Ensemble(Stepper):
    """p(y_t | …) = mean of the members' p(y_t | …); the attention weights are averaged too."""

    def __init__(self, members: Sequence[Stepper]) -> None:
        if not members:
            raise RegardError("An ensemble needs at least one model; received none.")
        self.members = tuple(members)
        self.lengths = torch.stack([member.lengths for member in members]).amax(0)
        self.longest = torch.stack([member.longest for member in members]).amax(0)
        self.begin, self.end, self.forbidden = members[0].begin, members[0].end, members[0].forbidden
        if any((member.begin, member.end) != (self.begin, self.end) for member in members):
            raise RegardError(
                "The models of an ensemble must begin and end their outputs with the same ids; "
                f"received {sorted({(member.begin, member.end) for member in members})}.",
                fix="Combine models that were trained on the same data.",
            )

    def start(self) -> EnsembleState:
        return EnsembleState(tuple(member.start() for member in self.members))

    def step(self, tokens: Tensor, state: EnsembleState) -> Step:
        steps = [member.step(tokens, part) for member, part in zip(self.members, state.members, strict=True)]
        if len({step.logits.shape[-1] for step in steps}) > 1:
            raise RegardError(
                "the models of an ensemble must choose among the same words. Either only some of these models copy, or "
                "they tokenize the source differently.",
                fix="Combine models that copy from the same source, or models that do not copy.",
            )
        logs = torch.stack([_log_probabilities(step.logits) for step in steps])
        looks = {
            name: torch.stack([step.looks[name] for step in steps]).mean(0)
            for name in steps[0].looks
            if all(name in step.looks for step in steps)
        }
        members = EnsembleState(tuple(step.state for step in steps))
        allowed = [step.allowed for step in steps if step.allowed is not None]
        together = torch.stack(allowed).all(0) if allowed else None
        return Step(torch.logsumexp(logs, 0) - math.log(len(steps)), members, looks, together)

    def targets(self, target: Tokens) -> Tokens:
        return self.members[0].targets(target)

    def select(self, rows: Tensor) -> Ensemble:
        return Ensemble([member.select(rows) for member in self.members])


def _log_probabilities(logits: Tensor) -> Tensor:
    """log softmax, with −inf instead of NaN where no choice exists."""
    return torch.where(logits == -torch.inf, logits, torch.log_softmax(logits, -1))


def best_allowed(
    logits: Tensor, count: int, bounds: Bounds | None, step: int, allowed: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizers (B, K), log Σ exp of the logits (B, K, V), and the `count` highest logits that the limits allow at
    this step, (B, K, count), with their words. Tokens that are not allowed become −inf, in place.

    bounds    None: all tokens are allowed
    allowed   (B, K, V) the tokens that the decoder itself allows
    """
    found: tuple[Tensor, Tensor, Tensor] | None = faster(
        "search.best", logits.device, logits, count, bounds, step, allowed
    )
    if found is not None:
        return found
    normalizers = logits.logsumexp(-1)
    if bounds is not None:
        bounds.apply(logits, step, allowed)
    return normalizers, *top(logits, count)


def top(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest logits (B, K, V) → (B, K, count) and their words."""
    if count == 1:
        highest, words = logits.max(-1, keepdim=True)
        return highest, words
    found = logits.topk(count, -1)
    return found.values, found.indices


def best_continuations(
    best: Tensor, words: Tensor, gained: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best of all continuations of each source, best first.

    best       (B, K, C) the highest logits of allowed next tokens; `words`: these tokens
    gained     (B, K) what is added to them: the log-probability of each prefix minus the normalizer of the
               logits
    returns    scores (B, count), the prefixes they continue (B, count), their tokens (B, count); −inf if
               there are fewer
    """
    rows = len(best)
    totals = (best + gained.unsqueeze(-1)).reshape(rows, -1)
    scores, order = totals.topk(min(count, totals.shape[1]), 1)
    parents, words = order // best.shape[2], words.reshape(rows, -1).gather(1, order)
    lacking = count - scores.shape[1]
    if lacking > 0:
        scores = torch.nn.functional.pad(scores, (0, lacking), value=-torch.inf)
        parents = torch.nn.functional.pad(parents, (0, lacking))
        words = torch.nn.functional.pad(words, (0, lacking))
    return scores, parents, words


def all_finite(numbers: Tensor) -> bool:
    """Whether no number is NaN or infinite, for the cost of one sum; also False if the sum overflows."""
    return math.isfinite(float(numbers.sum()))


def not_finite(where: str) -> RegardError:
    """The error of a model whose scores are NaN or +inf."""
    return RegardError(
        "the model's scores are not finite: the weights may be damaged or training diverged.",
        where=where,
        fix="Load another checkpoint, or train again with a lower learning rate or gradient clipping.",
    )


def check_scores(normalizers: Tensor, alive: Tensor, step: int, unfinished: Unfinished) -> None:
    """Raise if the logits of an unfinished hypothesis contain NaN or +inf.

    normalizers   (B', K) log Σ exp of the step's logits, before limits
    alive         (B', K) True for unfinished hypotheses
    """
    broken = alive & ~(normalizers < torch.inf)
    if bool(broken.any()):
        raise not_finite(_place(broken.any(1), step, unfinished))


def check_choices(scores: Tensor, alive: Tensor, step: int, unfinished: Unfinished) -> None:
    """Raise if an unfinished hypothesis had no possible choice; scores (B', K) of the chosen tokens."""
    stuck = alive & ~scores.isfinite()
    if bool(stuck.any()):
        raise _no_choice(_place(stuck.any(1), step, unfinished))


def check_outputs(scores: Tensor) -> None:
    """Raise if a source has no output; scores (B) of the best one."""
    missing = scores == -torch.inf
    if bool(missing.any()):
        raise _no_choice(f"search, row {int(missing.nonzero()[0]) + 1} of the batch")


def _place(rows: Tensor, step: int, unfinished: Unfinished) -> str:
    row = unfinished.numbers[int(rows.nonzero()[0])]
    return f"search, row {row + 1} of the batch, token {step + 1}"


def _no_choice(place: str) -> RegardError:
    return RegardError(
        "no choice is possible: the model excludes every token that the limits allow.",
        where=place,
        fix="Raise max_length, lower min_length or change the prefix. If none of these is set, check the "
        "decoder: until END is chosen, some token must have a finite score.",
    )


@dataclass(frozen=True)
class Limits:
    """Lengths count tokens without END.

    minimum     the output has at least this many tokens
    maximum     the output has at most this many tokens; None: the decoder's own limit, by default twice the
                length of the source plus twenty
    prefix      the tokens with which each output must begin; a row without tokens imposes nothing
    forbidden   ids that are never written; None: those of the decoder, for a vocabulary PAD and BEGIN

    Forbidden tokens are excluded without renormalization: scores remain the model's own log-probabilities.
    """

    minimum: int = 0
    maximum: int | None = None
    prefix: Tokens | None = None
    forbidden: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.minimum < 0 or (self.maximum is not None and self.maximum < self.minimum):
            raise RegardError(
                f"The limits of the output length are invalid: minimum {self.minimum}, maximum {self.maximum}.",
                fix="Choose 0 ≤ minimum ≤ maximum.",
            )

    def of(self, stepper: Stepper) -> Bounds:
        """The limits for the sources of a stepper."""
        if self.maximum is None:
            longest = stepper.longest
        else:
            longest = torch.full_like(stepper.lengths, self.maximum)
        longest, prefix = longest.clamp(min=self.minimum), None
        if self.prefix is not None:
            prefix = self.prefix.to(longest.device)
            longest = torch.maximum(longest, prefix.lengths)
        forbidden = stepper.forbidden if self.forbidden is None else self.forbidden
        return Bounds(longest, self.minimum, stepper.end, forbidden, prefix)


@dataclass(frozen=True)
class Bounds:
    """The limits of B sources.

    last   (B) the step at which only END is allowed
    """

    last: Tensor
    minimum: int
    end: int
    forbidden: tuple[int, ...]
    prefix: Tokens | None

    @cached_property
    def steps(self) -> int:
        """The number of steps after which every output has ended."""
        return self.extent[1] + 1

    @cached_property
    def extent(self) -> tuple[int, int]:
        """The latest steps at which the first and the last output end."""
        first, last = torch.stack(self.last.aminmax()).tolist()
        return first, last

    def ended(self, step: int | Tensor) -> Tensor:
        """(B) whether an output must end at this step."""
        return self.last <= step

    def apply(self, logits: Tensor, step: int, allowed: Tensor | None = None) -> Tensor:
        """Set the tokens that are not allowed at this step to −inf, in place; logits (B, K, V).

        allowed   (B, K, V) the tokens that the decoder itself allows
        """
        minus_infinity = -torch.inf
        if allowed is not None:
            logits.masked_fill_(~allowed, minus_infinity)
        for token in self.forbidden:
            if 0 <= token < logits.shape[-1]:
                logits[..., token] = minus_infinity
        if step < self.minimum:
            logits[..., self.end] = minus_infinity
        if step >= self.extent[0]:
            end = logits[..., self.end].clone()
            logits.masked_fill_(self.ended(step)[:, None, None], minus_infinity)
            logits[..., self.end] = end
        if self.prefix is not None and step < self.prefix.ids.shape[1]:
            _force(logits, self.prefix, step)
        return logits

    def select(self, rows: Tensor) -> Bounds:
        """The limits of some of the sources, (B') int64."""
        prefix = self.prefix
        if prefix is not None:
            prefix = Tokens(prefix.ids.index_select(0, rows), prefix.lengths.index_select(0, rows))
        return replace(self, last=self.last.index_select(0, rows), prefix=prefix)


def _force(logits: Tensor, prefix: Tokens, step: int) -> None:
    forced = (prefix.lengths > step)[:, None, None]  # (B, 1, 1)
    word = prefix.ids[:, step, None, None].expand(-1, logits.shape[1], 1)
    kept = logits.gather(-1, word)
    logits.masked_fill_(forced, -torch.inf)
    logits.scatter_(-1, word, torch.where(forced, kept, logits.gather(-1, word)))
