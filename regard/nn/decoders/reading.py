"""Reading: attention over one memory or several, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention
from regard.nn.memory import Memory
from regard.nn.stepping import Constants


class Reading(nn.Module):
    """One `Attention` for each attended memory; their contexts are put side by side, (B, T, context_size)."""

    def __init__(self, attentions: Mapping[str, Attention]) -> None:
        super().__init__()
        self.attentions = nn.ModuleDict(attentions)
        self.names = tuple(attentions)
        self.context_size = sum(attention.value_size for attention in attentions.values())

    def attention(self, name: str) -> Attention:
        return cast(Attention, self.attentions[name])

    @property
    def remembering(self) -> tuple[str, ...]:
        """The memories whose score wants to know where the step before looked."""
        return tuple(name for name in self.names if self.attention(name).score.remembers)

    def first_looks(self, memories: Mapping[str, Memory]) -> dict[str, Tensor]:
        """(B, 1, S) of the remembering ones, before the first step: all on the first position."""
        found = {}
        for name in self.remembering:
            values = memories[name].values
            weights = values.new_zeros(len(values), 1, values.shape[1])
            weights[..., :1] = 1.0
            found[name] = weights
        return found

    def keys(self, memories: Mapping[str, Memory]) -> dict[str, Tensor]:
        return {name: self.attention(name).keys(memories[name]) for name in self.names}

    def forward(
        self,
        query: Tensor,
        memories: Mapping[str, Memory],
        constants: Constants,
        step: int | None = None,
        previous: Mapping[str, Tensor] | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """query (B, T, Q) → context (B, T, context_size) and the weights (B, T, S) by name."""
        truth, previous = constants.truth or {}, previous or {}
        looks = {
            name: self.attention(name)(
                query,
                memories[name],
                constants.keys[name],
                truth=truth.get(name),
                step=step,
                previous=previous.get(name),
            )
            for name in self.names
        }
        contexts = [look.context for look in looks.values()]
        context = contexts[0] if len(contexts) == 1 else torch.cat(contexts, -1)
        return context, {name: look.weights for name, look in looks.items()}
