"""Scores: how well a query q and a key h agree, for every pair of them.

    additive     v · tanh(U q + W h)      (Bahdanau 2015)
    dot          q · h                    (Luong 2015)
    scaled-dot   q · h / √D
    general      q · W h                  (Luong 2015)
    linear       w · [q; h]
    location     v · tanh(U q + W h + V f), f = F * α of the step before    (Chorowski 2015)

What depends on the keys alone (W h) is computed once per sequence by `keys` and passed to every call.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.products import pair_products


class Score(nn.Module):
    """queries (B, T, Q) and prepared keys (B, S, A) → scores (B, T, S).

    A score that `remembers` also sees where the step before looked, `previous` (B, T, S).
    """

    remembers: ClassVar[bool] = False

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.query_size, self.key_size = query_size, key_size

    def keys(self, keys: Tensor) -> Tensor:
        """What is computed once per sequence: (B, S, D) → (B, S, A)."""
        return keys

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        raise NotImplementedError


class Additive(Score):
    """v · tanh(U q + W h); `size` is the number of features they are compared in."""

    def __init__(self, query_size: int, key_size: int, size: int | None = None) -> None:
        super().__init__(query_size, key_size)
        self.size = query_size if size is None else size
        self.query = nn.Linear(query_size, self.size, bias=False)
        self.key = nn.Linear(key_size, self.size, bias=False)
        self.vector = nn.Parameter(torch.empty(self.size).uniform_(-1, 1) / math.sqrt(self.size))

    def keys(self, keys: Tensor) -> Tensor:
        projected: Tensor = self.key(keys)
        return projected

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        energies = torch.tanh(self.query(query).unsqueeze(2) + keys.unsqueeze(1))  # (B, T, S, A)
        return energies @ self.vector


class Location(Additive):
    """v · tanh(U q + W h_s + V f_s), f = F * α: content, and where the step before looked (Chorowski 2015).

    F are `filters` over the positions s − reach … s + reach, so that a position can tell whether the last look was on
    it, before it or behind it: what sounds the same twice is told apart. Before the first step all of α is on the first
    position.
    """

    remembers = True

    def __init__(
        self, query_size: int, key_size: int, size: int | None = None, *, filters: int = 10, reach: int = 7
    ) -> None:
        super().__init__(query_size, key_size, size)
        self.reach, width = reach, 2 * reach + 1
        bound = 1 / math.sqrt(width)
        self.filters = nn.Parameter(torch.empty(width, filters).uniform_(-bound, bound))
        self.place = nn.Linear(filters, self.size, bias=False)

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        if previous is None:
            raise RegardError(
                "A location score needs to know where the step before looked.",
                fix="Use it in a decoder that goes step by step, or choose score additive.",
            )
        padded = nn.functional.pad(previous, (self.reach, self.reach))
        around = padded.unfold(-1, len(self.filters), 1)  # (B, T, S, 2 reach + 1)
        places = self.place(around @ self.filters)  # (B, T, S, A)
        return torch.tanh(self.query(query).unsqueeze(2) + keys.unsqueeze(1) + places) @ self.vector


class Dot(Score):
    """q · h, divided by √D when scaled; query and key must have the same size."""

    def __init__(self, query_size: int, key_size: int, *, scaled: bool = False) -> None:
        super().__init__(query_size, key_size)
        if query_size != key_size:
            raise RegardError(
                f"A dot score needs queries and keys of one size; the query has {query_size}, the key {key_size}.",
                fix="Choose score general or additive, or make the decoder's size equal to the memory's.",
            )
        self.scale = 1 / math.sqrt(key_size) if scaled else 1.0

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return pair_products(query * self.scale, keys)


class General(Score):
    """q · W h."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, key_size)
        self.key = nn.Linear(key_size, query_size, bias=False)

    def keys(self, keys: Tensor) -> Tensor:
        projected: Tensor = self.key(keys)
        return projected

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return query @ keys.transpose(1, 2)


class Linear(Score):
    """w · [q; h] = w_q · q + w_h · h."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, key_size)
        bound = 1 / math.sqrt(query_size + key_size)
        self.vector = nn.Parameter(torch.empty(query_size + key_size).uniform_(-bound, bound))

    def keys(self, keys: Tensor) -> Tensor:
        return keys @ self.vector[self.query_size :, None]  # (B, S, 1)

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return query @ self.vector[: self.query_size, None] + keys.transpose(1, 2)


SCORES = ("additive", "dot", "scaled-dot", "general", "linear", "location")


def make_score(name: str, query_size: int, key_size: int, size: int | None = None) -> Score:
    """The score of that name; `size` belongs to additive and location alone."""
    if size is not None and name not in ("additive", "location"):
        raise RegardError(
            f"Score {name!r} has no size of its own.", fix="Leave size out, or choose additive."
        )
    if name == "additive":
        return Additive(query_size, key_size, size)
    if name == "location":
        return Location(query_size, key_size, size)
    if name in ("dot", "scaled-dot"):
        return Dot(query_size, key_size, scaled=name == "scaled-dot")
    if name == "general":
        return General(query_size, key_size)
    if name == "linear":
        return Linear(query_size, key_size)
    raise RegardError(f"There is no score {name!r}.", fix=f"Choose one of {', '.join(SCORES)}.")
