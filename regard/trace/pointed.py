"""The positions of an input that an output points at, and the figure they form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import RegardError


def written(places: Sequence[int], form: str) -> str:
    """Places from 0 in the format of the data: positions from 1, a semicolon between triangles."""
    words = [str(place + 1) for place in places]
    if form != "triangles":
        return " ".join(words)
    return "; ".join(" ".join(words[low : low + 3]) for low in range(0, len(words), 3))


@dataclass(frozen=True)
class Pointed:
    """Positions of an input that were chosen one after the other.

    places   the positions, from 0, in their order
    truth    the true positions; None if they are not known
    form     their figure: a "sequence", a closed "polygon" or "tour", or "triangles" of three positions each
    """

    places: Sequence[int]
    truth: Sequence[int] | None = None
    form: str = "sequence"

    def __str__(self) -> str:
        """The format of the data: positions from 1, a semicolon between triangles."""
        return written(self.places, self.form)

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        """Refuse places that the input `name` does not have."""
        wrong = [place for place in (*self.places, *(self.truth or ())) if not 0 <= place < positions]
        if wrong:
            raise RegardError(
                f"the trace points at position {wrong[0]} of {name!r}, whose positions are 0 to {positions - 1}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        truth = None if self.truth is None else list(self.truth)
        return {"places": list(self.places), "truth": truth, "form": self.form}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Pointed:
        """The inverse of `to_dict`."""
        return cls(values["places"], values.get("truth"), values.get("form", "sequence"))
