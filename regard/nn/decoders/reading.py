"""Reading: attention over one memory or several, by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention
from regard.nn.memory import Memory
from regard.nn.selections import Given, SampledTraining
from regard.nn.stepping import Constants


@dataclass(frozen=True)
class Read:
    """The result of T queries to all memories.

    context   (B, T, context_size)
    weights   (B, T, S) by memory
    drawn     (B, T, S) the weights that multiplied the values, for the memories whose positions were sampled
    """

    context: Tensor
    weights: dict[str, Tensor]
    drawn: dict[str, Tensor]


def joined(steps: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Concatenate steps (B, 1, S) by name: (B, T, S)."""
    return {name: torch.cat([step[name] for step in steps], 1) for name in (steps[0] if steps else ())}


class Reading(nn.Module):
    """One `Attention` for each attended memory; their contexts are concatenated, (B, T, context_size).

    gated   the memories whose context is scaled by a gate of the query q: β c, β = σ(w·q + b) (Xu 2015)
    """

    def __init__(self, attentions: Mapping[str, Attention], gated: Collection[str] = ()) -> None:
        super().__init__()
        self.attentions = nn.ModuleDict(attentions)
        self.gates = nn.ModuleDict({name: nn.Linear(attentions[name].query_size, 1) for name in gated})
        self.names = tuple(attentions)
        self.draws = any(attention.select.draws for attention in attentions.values())
        self.context_size = sum(attention.value_size for attention in attentions.values())

    @property
    def drawing(self) -> SampledTraining:
        """How the selections that sample are trained, the same for all of them."""
        selections = [self.attention(name).select for name in self.names]
        return next(one.drawing for one in selections if one.draws)

    def attention(self, name: str) -> Attention:
        return cast(Attention, self.attentions[name])

    def structured(self) -> dict[str, Attention]:
        """The attentions whose selections have a structure to show, by memory."""
        return {name: self.attention(name) for name in self.names if self.attention(name).select.structured}

    @property
    def remembering(self) -> tuple[str, ...]:
        """The memories whose score depends on earlier looks."""
        return tuple(name for name in self.names if "previous" in self.attention(name).score.needs)

    def first_looks(self, memories: Mapping[str, Memory]) -> dict[str, Tensor]:
        """(B, 1, S) the history of the `remembering` memories before the first step."""
        return {
            name: self.attention(name).score.first(memories[name].values[..., 0].unsqueeze(1))
            for name in self.remembering
        }

    def remember(self, looks: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """(B, K, S) the history of the `remembering` memories after a step with these weights."""
        return {
            name: self.attention(name).score.remember(known, weights[name]) for name, known in looks.items()
        }

    def keys(self, memories: Mapping[str, Memory]) -> dict[str, Tensor]:
        return {name: self.attention(name).keys(memories[name]) for name in self.names}

    def forward(
        self,
        query: Tensor,
        memories: Mapping[str, Memory],
        constants: Constants | None = None,
        step: int | None = None,
        previous: Mapping[str, Tensor] | None = None,
    ) -> Read:
        """query (B, T, Q) → the result of all attentions."""
        constants = Constants(self.keys(memories)) if constants is None else constants
        truth, previous = constants.truth or {}, previous or {}
        looks = {
            name: self.attention(name)(
                query,
                memories[name],
                constants.keys[name],
                Given(truth.get(name), step, previous.get(name), drawing=constants.drawing),
            )
            for name in self.names
        }
        contexts = [
            torch.sigmoid(self.gates[name](query)) * look.context if name in self.gates else look.context
            for name, look in looks.items()
        ]
        context = contexts[0] if len(contexts) == 1 else torch.cat(contexts, -1)
        drawn = {name: look.drawn for name, look in looks.items() if look.drawn is not None}
        return Read(context, {name: look.weights for name, look in looks.items()}, drawn)
