"""The answers of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.trace import Trace
from regard.trace.traced import from_json, to_json
from regard.trace.views import explored, views


@dataclass(frozen=True)
class Alternative:
    """Another answer of the search, with its total log-probability."""

    text: str
    score: float


@dataclass(frozen=True, eq=False)
class Prediction:
    """A model's answer for one row.

    value           the answer: a str, a label, a list of tags, or a tree
    text            the readable form of value
    score           log-probability of the answer
    trace           the attention of the model, if it was requested
    alternatives    the n-best list, best first, this answer included; of a label, the most probable labels
    probabilities   of each label, if the output is a label
    again           predicts once more for the same input, with edits; None if the model is not known
    """

    value: Any
    text: str
    score: float
    trace: Trace | None = None
    alternatives: Sequence[Alternative] = field(default_factory=list)
    probabilities: Mapping[str, float] = field(default_factory=dict)
    again: Callable[..., Prediction] | None = field(default=None, repr=False)

    def with_likely(self, count: int) -> Prediction:
        """This answer with the most probable labels as alternatives, at most `count` of them."""
        likely = sorted(self.probabilities.items(), key=lambda one: -one[1])[:count]
        scores = [(label, math.log(share) if share > 0 else -math.inf) for label, share in likely]
        return replace(self, alternatives=[Alternative(label, score) for label, score in scores])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        more = f", {len(self.alternatives)} alternatives" if len(self.alternatives) > 1 else ""
        return f"Prediction({self.text!r}, score={self.score:.3f}{more})"

    def _repr_html_(self) -> str:
        return views().prediction(self)

    def explore(self) -> Any:
        """The answer and its figures, alive in a notebook. The model answers edits of the attention, while it is in
        memory. Needs anywidget."""
        return explored(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON lines, without empty ones."""
        values: dict[str, Any] = {"value": self.value, "text": self.text, "score": to_json(self.score)}
        if self.alternatives:
            values["alternatives"] = [
                {"text": other.text, "score": to_json(other.score)} for other in self.alternatives
            ]
        if self.probabilities:
            values["probabilities"] = dict(self.probabilities)
        if self.trace is not None:
            values["trace"] = self.trace.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Prediction:
        """The inverse of `to_dict`."""
        trace = values.get("trace")
        return cls(
            value=values["value"],
            text=values["text"],
            score=from_json(values["score"]),
            trace=None if trace is None else Trace.from_dict(trace),
            alternatives=[
                Alternative(other["text"], from_json(other["score"]))
                for other in values.get("alternatives", [])
            ],
            probabilities=values.get("probabilities", {}),
        )
