"""UnrollPlan: the computation of a recurrence with attention, and the layout of its values.

One row of Z_l (T+1, B, W_l) holds the values of layer l for one row of the batch at one time:

    gru    [ q | p | hn | r | z | n ]        lstm   [ q | p | i | f | g | o ]        rnn   [ q | p | a ]

Only the top layer has q and p: the queries of additive scores (A in total), and the preactivation of the
attentional vector (O, for attention after the step). The state's product covers everything up to z, the
input's product everything from r on (for lstm and rnn: all gates), so that each is one matrix product into
one slice; hn is U_n h + c_n.

Row j of Z holds the values computed from state h_j: the gates of step j+1, and q of step j+1 for attention
before the step, or q and p of step j for attention after it. It first holds biases and the projected words,
then preactivations, then gates, and in the backward pass their gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch

Cell = Literal["rnn", "gru", "lstm"]
Select = Literal["softmax", "sigmoid", "segments"]
GATES: dict[Cell, int] = {"rnn": 1, "gru": 4, "lstm": 4}
"""Blocks of size H in a row: the gates, and for a gru also hn."""


@dataclass(frozen=True)
class LookPlan:
    """The attention to one memory.

    additive   v · tanh(q + k) with A = `features`; otherwise scale · q · k with the state itself as the query
    mass       the sum to which the weights are rescaled before values are read; 0: no rescaling
    positions  S, rounded; `values` D
    """

    additive: bool
    select: Select
    features: int
    values: int
    positions: int
    scale: float = 1.0
    mass: float = 0.0


@dataclass(frozen=True)
class UnrollPlan:
    """T steps of B rows (both rounded) through layers of cells of one size H.

    words       E, the size of the words; `summary` R, the size of the summary, 0 if there is none
    after       attention after the step (o_t = tanh(W [s_t; c_t] + …), fed back) instead of before it
    readout     O, for attention after the step
    deep        whether the readout includes the words, besides states and contexts
    activation  of an rnn
    drops       whether there are dropout masks between layers
    """

    cell: Cell
    size: int
    layers: int
    rows: int
    steps: int
    looks: tuple[LookPlan, ...]
    words: int
    summary: int = 0
    after: bool = False
    readout: int = 0
    deep: bool = False
    activation: str = "tanh"
    drops: bool = False
    dtype: torch.dtype = torch.float32

    @cached_property
    def queries(self) -> int:
        """A, the total size of the queries of additive scores."""
        return sum(look.features for look in self.looks if look.additive)

    @cached_property
    def context(self) -> int:
        return sum(look.values for look in self.looks)

    @cached_property
    def read(self) -> int:
        """Size of the first layer's input besides words and summary."""
        return self.readout if self.after else self.context

    @cached_property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights, gates in torch's order; layers and looks are numbered."""
        H, known = self.size, self.words + self.summary
        gates = {"rnn": 1, "gru": 3, "lstm": 4}[self.cell] * H
        found: dict[str, tuple[int, ...]] = {}
        for layer in range(self.layers):
            found[f"weight_ih{layer}"] = (gates, H if layer else known + self.read)
            found |= {
                f"weight_hh{layer}": (gates, H),
                f"bias_ih{layer}": (gates,),
                f"bias_hh{layer}": (gates,),
            }
        for m, look in enumerate(self.looks):
            if look.additive:
                found |= {f"query{m}": (look.features, H), f"vector{m}": (look.features,)}
            if look.select == "segments":
                found[f"transitions{m}"] = (2, 2)
        if self.after:
            inputs = H + self.context + (self.words if self.deep else 0)
            found |= {"combine": (self.readout, inputs), "combine_bias": (self.readout,)}
        return found

    def lead(self, layer: int) -> int:
        """Offset of the gates in a row."""
        return self.queries + self.readout if layer == self.layers - 1 else 0

    def width(self, layer: int) -> int:
        return self.lead(layer) + GATES[self.cell] * self.size

    def from_state(self, layer: int) -> slice:
        """The slice that the product with the state covers."""
        return slice(0, self.width(layer) - (self.size if self.cell == "gru" else 0))

    def from_input(self, layer: int) -> slice:
        """The slice that the product with the input covers."""
        return slice(self.lead(layer) + (self.size if self.cell == "gru" else 0), self.width(layer))

    @cached_property
    def combined(self) -> slice:
        """The slice of p."""
        return slice(self.queries, self.queries + self.readout)

    @cached_property
    def query_places(self) -> tuple[int, ...]:
        """Offset of each look's query in q; −1 if the query is the state."""
        places, at = [], 0
        for look in self.looks:
            places.append(at if look.additive else -1)
            at += look.features if look.additive else 0
        return tuple(places)

    @cached_property
    def context_places(self) -> tuple[int, ...]:
        places, at = [], 0
        for look in self.looks:
            places.append(at)
            at += look.values
        return tuple(places)
