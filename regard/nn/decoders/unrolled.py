"""Unrolled: a whole output of a recurrent decoder, its previous words known."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Unrolled:
    """What goes to the output layer, (N, O), and where each step looked, (N, S) by memory; both packed.

    drawn   (N, S) what was read, for the memories whose selection drew
    gates   (N) the logits of writing from the vocabulary, of a decoder that copies
    """

    readouts: Tensor
    looks: dict[str, Tensor]
    drawn: dict[str, Tensor] = field(default_factory=dict)
    gates: Tensor | None = None
