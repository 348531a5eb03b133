"""The scores behind a structure, from which its sums over all structures can be computed again, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.trace.traced import Array

LOWEST = -1e9
"""Stands for the score of what is impossible."""
FORMS = ("chain", "chains", "trees")


@dataclass(frozen=True, eq=False)
class Potentials:
    """Scores of the parts of a structure.

    form     "chain": N variables with one of C labels each; "chains": T of them, one for each output piece; "trees":
             projective trees over N words
    nodes    chain (N, C), chains (T, N, C): of each label; trees (N+1, N+1): of head h and word m, 0 is the root
    pairs    (C, C) or (N−1, C, C): of two consecutive labels; None: they are independent
    labels   C names
    steps    N names of the variables
    """

    form: str
    nodes: Array
    pairs: Array | None = None
    labels: Sequence[str] = ()
    steps: Sequence[str] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: fields are set only here
        put(self, "nodes", np.maximum(np.asarray(self.nodes, dtype=np.float64), LOWEST))
        if self.pairs is not None:
            put(self, "pairs", np.maximum(np.asarray(self.pairs, dtype=np.float64), LOWEST))
        put(self, "labels", tuple(map(str, self.labels)))
        put(self, "steps", tuple(map(str, self.steps)))
        dimensions = {"chain": 2, "chains": 3, "trees": 2}.get(self.form)
        if dimensions is None:
            raise RegardError(f"{self.form!r} is no form of potentials; the forms are {', '.join(FORMS)}.")
        if self.nodes.ndim != dimensions:
            raise RegardError(f"the scores of {self.form} have shape {self.nodes.shape}.")
        count, labels = self.nodes.shape[-2:]
        if self.pairs is not None and self.pairs.shape not in (
            (labels, labels),
            (max(0, count - 1), labels, labels),
        ):
            raise RegardError(f"the scores of pairs of {labels} labels have shape {self.pairs.shape}.")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        if self.form == "trees" and len(self.nodes) != positions + 1:
            raise RegardError(f"the scores of trees over {name!r} are for {len(self.nodes) - 1} words.")

    def pair(self, step: int) -> Array:
        """(C, C) scores of the labels of two consecutive variables, the first of which is `step`."""
        labels = self.nodes.shape[-1]
        if self.pairs is None:
            return np.zeros((labels, labels))
        return self.pairs if self.pairs.ndim == 2 else self.pairs[step]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON."""
        return {
            "form": self.form,
            "nodes": self.nodes.tolist(),
            "shape": list(self.nodes.shape),
            **(
                {}
                if self.pairs is None
                else {"pairs": self.pairs.tolist(), "pairs_shape": list(self.pairs.shape)}
            ),
            "labels": list(self.labels),
            "steps": list(self.steps),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Potentials:
        """The inverse of `to_dict`."""
        pairs = values.get("pairs")
        return cls(
            values["form"],
            np.asarray(values["nodes"], dtype=np.float64).reshape(values["shape"]),
            None if pairs is None else np.asarray(pairs, dtype=np.float64).reshape(values["pairs_shape"]),
            values.get("labels", ()),
            values.get("steps", ()),
        )
