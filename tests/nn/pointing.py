"""A decoder that chooses among the positions of its input, each at most once, and END."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.nn.memory import Memory
from regard.nn.search import Stepper
from regard.nn.stepping import Step

LENGTHS = (3, 1, 4, 2)


@dataclass(frozen=True)
class Pointed:
    """affinities (B, S+1, S+1): logits by the last choice; open (B, K, S+1): choices still possible."""

    affinities: Tensor
    open: Tensor

    def reorder(self, parents: Tensor) -> Pointed:
        return replace(
            self, open=self.open.gather(1, parents.unsqueeze(-1).expand(-1, -1, self.open.shape[2]))
        )

    def select(self, rows: Tensor) -> Pointed:
        return Pointed(self.affinities[rows], self.open[rows])


class PointerDecoder:
    """Choice 0 is END, choice s is position s − 1; there is no vocabulary.

    all_first   END is possible only after every position has been chosen
    """

    begin, end, forbidden = -1, 0, ()

    def __init__(self, all_first: bool = False) -> None:
        self.all_first = all_first

    def start(self, memories: Any, *, truth: Any = None) -> Pointed:
        memory = memories["source"]
        exists = torch.nn.functional.pad(memory.mask, (1, 0), value=True)
        return Pointed(memory.values, exists.unsqueeze(1))

    def step(self, tokens: Tensor, state: Pointed, memories: Any) -> Step:
        assert len(memories["source"].mask) == len(tokens) == len(state.open)
        last = tokens.clamp(min=0)
        choices = torch.arange(state.open.shape[2])
        still = state.open & ((choices != last.unsqueeze(-1)) | (choices == 0))
        logits = state.affinities.gather(1, last.unsqueeze(-1).expand(-1, -1, state.affinities.shape[2]))
        logits = logits.masked_fill(~still, -torch.inf)
        if self.all_first:
            logits[..., 0] = torch.where(still[..., 1:].any(-1), -torch.inf, logits[..., 0])
        looks = {"source": still[..., 1:].float()}
        return Step(logits, replace(state, open=still), looks)


def memory(lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> Memory:
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    affinities = 1.5 * torch.randn(len(lengths), longest + 1, longest + 1, generator=generator)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return Memory(affinities, mask, torch.zeros(len(lengths), 1))


def stepper(found: Memory, **options: bool) -> Stepper:
    return Stepper(PointerDecoder(**options), {"source": found})


def enumerated(found: Memory, row: int, all_first: bool = False) -> dict[tuple[int, ...], float]:
    """Every output of a row with its log-probability, by the chain rule."""
    affinities, size = found.values[row].double(), int(found.mask[row].sum())
    outputs = {}
    for length in range(size if all_first else 0, size + 1):
        for output in itertools.permutations(range(1, size + 1), length):
            total, last = 0.0, 0
            for t, choice in enumerate((*output, 0)):
                there = [*({*range(1, size + 1)} - {*output[:t]})]
                choices = [*there, *([] if all_first and there else [0])]
                total += float(affinities[last, choice] - affinities[last, choices].logsumexp(0))
                last = choice
            outputs[output] = total
    return outputs
