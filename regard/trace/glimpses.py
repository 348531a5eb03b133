"""Several looks for one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.trace.traced import Array


@dataclass(frozen=True, eq=False)
class Glimpses:
    """Several looks at one input, all for one answer. K glimpses, S positions.

    weights         (K, S) of each glimpse
    truth           (K, S) the true attention of each glimpse; None if it is not known
    names           of the glimpses: the words of another input from which the queries come, or the labels that they are
                    for; empty if there are none
    probabilities   (K) of the labels that the glimpses are for; None if they are for one answer together
    """

    weights: Array
    truth: Array | None = None
    names: tuple[str, ...] = ()
    probabilities: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float64))
        if self.truth is not None:
            object.__setattr__(self, "truth", np.asarray(self.truth, dtype=np.float64))
        if self.probabilities is not None:
            object.__setattr__(self, "probabilities", np.asarray(self.probabilities, dtype=np.float64))

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        for kind, rows in (("weights", self.weights), ("truth", self.truth)):
            if rows is not None and rows.shape != (len(self.weights), positions):
                raise RegardError(
                    f"{kind} of the glimpses at {name!r} have shape {rows.shape}, expected "
                    f"{(len(self.weights), positions)}: glimpses by input pieces."
                )
        if self.names and len(self.names) != len(self.weights):
            raise RegardError(
                f"there are {len(self.names)} names for {len(self.weights)} glimpses at {name!r}."
            )
        if self.probabilities is not None and self.probabilities.shape != (len(self.weights),):
            raise RegardError(
                f"there are probabilities of shape {self.probabilities.shape} for {len(self.weights)} glimpses at "
                f"{name!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        return {
            "weights": self.weights.tolist(),
            **({} if self.truth is None else {"truth": self.truth.tolist()}),
            **({"names": list(self.names)} if self.names else {}),
            **({} if self.probabilities is None else {"probabilities": self.probabilities.tolist()}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Glimpses:
        names = tuple(values.get("names", ()))
        return cls(values["weights"], values.get("truth"), names, values.get("probabilities"))
