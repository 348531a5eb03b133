"""Stepper: a decoder bound to its memories, or several of them acting as one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.memory import Memory
from regard.nn.stepping import Step


class StepDecoder(Protocol):
    """A decoder that writes one word after another."""

    def start(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Any: ...

    def step(self, tokens: Tensor, state: Any, memories: Mapping[str, Memory]) -> Step: ...


class Stepper:
    """What a search needs to know of a model: how to start, and how to go on.

    lengths   (B) the longest of the sources' lengths in each row, from which searches take their default limit
    """

    def __init__(self, decoder: StepDecoder, memories: Mapping[str, Memory], *, truth: Any = None) -> None:
        self.decoder, self.memories, self.truth = decoder, memories, truth
        self.lengths = torch.stack([memory.mask.sum(1) for memory in memories.values()]).amax(0)

    def start(self) -> Any:
        return self.decoder.start(self.memories, truth=self.truth)

    def step(self, tokens: Tensor, state: Any) -> Step:
        return self.decoder.step(tokens, state, self.memories)


@dataclass(frozen=True)
class EnsembleState:
    members: tuple[Any, ...]

    def reorder(self, parents: Tensor) -> EnsembleState:
        return EnsembleState(tuple(state.reorder(parents) for state in self.members))


class Ensemble(Stepper):
    """p(y_t | …) = mean of the members' p(y_t | …); their looks are averaged too."""

    def __init__(self, members: Sequence[Stepper]) -> None:
        if not members:
            raise RegardError("An ensemble needs at least one model; received none.")
        self.members = tuple(members)
        self.lengths = torch.stack([member.lengths for member in members]).amax(0)

    def start(self) -> EnsembleState:
        return EnsembleState(tuple(member.start() for member in self.members))

    def step(self, tokens: Tensor, state: EnsembleState) -> Step:
        steps = [member.step(tokens, part) for member, part in zip(self.members, state.members, strict=True)]
        logs = torch.stack([torch.log_softmax(step.logits, -1) for step in steps])
        looks = {
            name: torch.stack([step.looks[name] for step in steps]).mean(0)
            for name in steps[0].looks
            if all(name in step.looks for step in steps)
        }
        members = EnsembleState(tuple(step.state for step in steps))
        return Step(torch.logsumexp(logs, 0) - math.log(len(steps)), members, looks)  # type: ignore[arg-type]
