"""Unrolled: a whole output of a recurrent decoder, given its previous words."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Unrolled:
    """The inputs of the output layer, (N, O), and the attention weights, (N, S) by memory; both packed.

    drawn   (N, S) the weights that multiplied the values, for the memories whose selection samples
    gates   (N) the logits of generating from the vocabulary, if the decoder copies
    """

    readouts: Tensor
    looks: dict[str, Tensor]
    drawn: dict[str, Tensor] = field(default_factory=dict)
    gates: Tensor | None = None
