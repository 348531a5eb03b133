"""The attention of several heads, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.trace.traced import Array


@dataclass(frozen=True, eq=False)
class LayerHeads:
    """The attention of the H heads of one layer. T queries, S positions.

    over      the input that is attended to; empty for self-attention of the output
    weights   (H, T, S)
    queries   the readable pieces of the T queries
    keys      the readable pieces of the S positions
    """

    over: str
    weights: Array
    queries: Sequence[str] = field(default_factory=list)
    keys: Sequence[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: fields are set only here
        put(self, "weights", np.asarray(self.weights, dtype=np.float64))
        put(self, "queries", [str(piece) for piece in self.queries])
        put(self, "keys", [str(piece) for piece in self.keys])
        expected = (len(self.queries), len(self.keys))
        if self.weights.ndim != 3 or self.weights.shape[1:] != expected:
            raise RegardError(
                f"the attention weights of the heads have shape {self.weights.shape}, expected (heads, {expected[0]}, "
                f"{expected[1]}): queries by positions."
            )

    def to_dict(self) -> dict[str, Any]:
        return {
            "over": self.over,
            "weights": self.weights.tolist(),
            "queries": list(self.queries),
            "keys": list(self.keys),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LayerHeads:
        # In JSON an array without heads, queries or positions loses its other dimensions.
        shape = (len(values["weights"]), len(values["queries"]), len(values["keys"]))
        weights = values["weights"] if all(shape) else np.zeros(shape)
        return cls(values["over"], weights, values["queries"], values["keys"])
