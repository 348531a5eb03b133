"""The hypotheses of a search as a tree: which pieces were written, how probable they were, and why each ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.trace.traced import Array, from_json, to_json

ENDED = ("", "end", "pruned", "limit", "alive")
"""Why a hypothesis ended: it wrote the end; better ones took its place; it reached the maximum length; it did not end,
but the search did. Empty: it was continued."""


@dataclass(frozen=True)
class BeamNode:
    """One hypothesis: the piece that it adds to its parent.

    number      its place in the tree
    piece       the piece that it adds; empty for the root
    parent      the number of the hypothesis that it continues; −1 for the root
    step        the number of its pieces
    score       log-probability of all its pieces
    ended       why it ended, one of `ENDED`
    rank        its place among the answers, from 1; 0 if it is none
    attention   (S,) the attention while its piece was written, by input
    """

    number: int
    piece: str
    parent: int
    step: int
    score: float
    ended: str = ""
    rank: int = 0
    attention: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class BeamTree:
    """N hypotheses, parents before children; the first is the root, the empty output.

    pieces      N pieces
    parents     (N,) −1 for the root
    scores      (N,) log-probability of all pieces of a hypothesis
    ended       N reasons, of `ENDED`
    ranks       (N,) the place among the answers, from 1; 0 for others
    attention   (N, S) for each attended input; the row of the root is 0
    method      of the search: "beam", "greedy", "sample"
    """

    pieces: Sequence[str]
    parents: NDArray[np.int64]
    scores: Array
    ended: Sequence[str]
    ranks: NDArray[np.int64]
    attention: Mapping[str, Array] = field(default_factory=dict)
    method: str = "beam"

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: fields are set only here
        put(self, "pieces", tuple(map(str, self.pieces)))
        put(self, "ended", tuple(map(str, self.ended)))
        put(self, "parents", np.asarray(self.parents, dtype=np.int64))
        put(self, "ranks", np.asarray(self.ranks, dtype=np.int64))
        put(self, "scores", np.asarray(self.scores, dtype=np.float64))
        rows = {name: np.asarray(one, dtype=np.float64) for name, one in self.attention.items()}
        put(self, "attention", rows)
        self._check()

    def _check(self) -> None:
        count = len(self.pieces)
        if count == 0:
            raise RegardError("the tree of a search needs its root, the empty output.")
        for name in ("parents", "scores", "ended", "ranks"):
            if len(getattr(self, name)) != count:
                raise RegardError(
                    f"the tree of a search has {len(getattr(self, name))} {name} for {count} pieces."
                )
        if (
            self.parents[0] != -1
            or (self.parents[1:] >= np.arange(1, count)).any()
            or (self.parents[1:] < 0).any()
        ):
            raise RegardError(
                "in the tree of a search, each hypothesis comes after its parent, and the root is first."
            )
        wrong = next((reason for reason in self.ended if reason not in ENDED), None)
        if wrong is not None:
            known = ", ".join(ENDED[1:])
            raise RegardError(f"a hypothesis ended for the reason {wrong!r}; the reasons are {known}.")
        for name, rows in self.attention.items():
            if rows.ndim != 2 or len(rows) != count:
                raise RegardError(
                    f"the attention of the hypotheses to {name!r} has shape {rows.shape}, "
                    f"expected ({count}, positions)."
                )

    def check_inputs(self, inputs: Mapping[str, Sequence[str]]) -> None:
        """Refuse attention to inputs that the trace does not have."""
        for name, rows in self.attention.items():
            if name not in inputs or rows.shape[1] != len(inputs[name]):
                known = ", ".join(f"{one} ({len(pieces)})" for one, pieces in inputs.items())
                raise RegardError(
                    f"the hypotheses attend to {rows.shape[1]} positions of {name!r}; the inputs are {known}."
                )

    def __len__(self) -> int:
        return len(self.pieces)

    def __iter__(self) -> Iterator[BeamNode]:
        return (self.node(number) for number in range(len(self)))

    @property
    def nodes(self) -> list[BeamNode]:
        return list(self)

    @property
    def steps(self) -> NDArray[np.int64]:
        """(N,) the number of pieces of each hypothesis."""
        found = np.zeros(len(self), dtype=np.int64)
        for number in range(1, len(self)):
            found[number] = found[self.parents[number]] + 1
        return found

    def node(self, number: int) -> BeamNode:
        return BeamNode(
            number,
            self.pieces[number],
            int(self.parents[number]),
            len(self.path(number)),
            float(self.scores[number]),
            self.ended[number],
            int(self.ranks[number]),
            {name: rows[number] for name, rows in self.attention.items()},
        )

    def path(self, number: int) -> list[int]:
        """The hypotheses from the first piece to this one, without the root."""
        found: list[int] = []
        while number > 0:
            found.append(number)
            number = int(self.parents[number])
        return found[::-1]

    def prefix(self, number: int) -> list[str]:
        """All pieces of a hypothesis."""
        return [self.pieces[one] for one in self.path(number)]

    def children(self, number: int) -> list[int]:
        return [int(one) for one in np.flatnonzero(self.parents == number)]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON."""
        return {
            "method": self.method,
            "pieces": list(self.pieces),
            "parents": self.parents.tolist(),
            "scores": [to_json(score) for score in self.scores],
            "ended": list(self.ended),
            "ranks": self.ranks.tolist(),
            "attention": {name: rows.tolist() for name, rows in self.attention.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BeamTree:
        """The inverse of `to_dict`."""
        count = len(values["pieces"])
        attention = {
            name: np.asarray(rows, dtype=np.float64).reshape(count, -1) if len(rows) else np.zeros((count, 0))
            for name, rows in values.get("attention", {}).items()
        }
        return cls(
            values["pieces"],
            values["parents"],
            np.array([from_json(score) for score in values["scores"]]),
            values["ended"],
            values["ranks"],
            attention,
            values.get("method", "beam"),
        )
