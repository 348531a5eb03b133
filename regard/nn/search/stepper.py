"""Stepper: a decoder bound to its memories, or an ensemble of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import BEGIN, END, PAD, Tokens
from regard.errors import RegardError
from regard.nn.memory import Memory
from regard.nn.stepping import Step, StepState, Stepwise


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
