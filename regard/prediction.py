"""What a model answers (Prediction), and everything it looked at on the way (Trace).

A trace holds numbers and the readable pieces they belong to; it draws nothing itself. Its methods hand it to
`regard.inspect`, which is imported only then. Neither class needs torch: a trace written as JSON on one
machine can be drawn on another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.seen import Seen, seen_from_dict
from regard.structure_trace import TracedStructure, structure_from_dict

if TYPE_CHECKING:
    from rich.console import Console

    from regard.inspect.scene import Scene

Array = NDArray[np.floating[Any]]
Kind = Literal["text", "label", "tags", "tree"]


def _no_scores() -> Array:
    return np.zeros(0)


def _arrays(values: Mapping[str, Any]) -> dict[str, Array]:
    return {name: np.asarray(array, dtype=np.float64) for name, array in values.items()}


def _to_json(score: float) -> float | None:
    """JSON has no minus infinity, which is the score of what cannot be."""
    return float(score) if math.isfinite(score) else None


def _from_json(score: float | None) -> float:
    return -math.inf if score is None else score


@dataclass(frozen=True, eq=False)
class Glimpses:
    """Several looks at one input, all for one answer. K glimpses, S positions.

    weights   (K, S), those of each glimpse
    truth     (K, S) where each should have looked; None where that is not known
    """

    weights: Array
    truth: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float64))
        if self.truth is not None:
            object.__setattr__(self, "truth", np.asarray(self.truth, dtype=np.float64))

    def check_against(self, name: str, positions: int) -> None:
        for kind, rows in (("weights", self.weights), ("truth", self.truth)):
            if rows is not None and rows.shape != (len(self.weights), positions):
                raise RegardError(
                    f"{kind} of the glimpses at {name!r} have shape {rows.shape}, expected "
                    f"{(len(self.weights), positions)}: glimpses by input pieces."
                )

    def to_dict(self) -> dict[str, Any]:
        return {
            "weights": self.weights.tolist(),
            **({} if self.truth is None else {"truth": self.truth.tolist()}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Glimpses:
        return cls(values["weights"], values.get("truth"))


@dataclass(frozen=True, eq=False)
class Trace:
    """What was looked at while one prediction was made. T output pieces, S positions of an input.

    input       the pieces of each input, by its name
    output      the T pieces that were written; the last may be "</s>"
    attention   (T, S) for each input that was attended to: `attention[name][t, s]` is how much of the context
                of output piece t came from position s of that input
    layout      how the positions of an input lie ("line" where nothing is said): `regard.nn.memory.Layout`
    truth       (T, S) where the output should have looked, for the inputs where that is known; or empty
    scores      (T,) log-probability of each output piece; or empty
    hypotheses  the n-best list, best first, as pairs of text and total log-probability
    gates       further numbers per output piece, (T,) or (T, D), by name
    seen        what a figure draws of inputs that are no texts: pictures, films, sounds
    structures  what was selected jointly (`Arcs`, `Segments`, `Hops`), by the name of the input it is over
    kind        what the output is: a text (one row per piece), a label (one row), tags (one for each position
                of the input), or a tree (a head for each position of the input, as "2:nsubj" or "2")
    glimpses    the looks of a label that looked at an input several times; `attention` is their mean then
    """

    input: Mapping[str, Sequence[str]]
    output: Sequence[str]
    attention: Mapping[str, Array] = field(default_factory=dict)
    layout: Mapping[str, str] = field(default_factory=dict)
    truth: Mapping[str, Array] = field(default_factory=dict)
    scores: Array = field(default_factory=_no_scores)
    hypotheses: Sequence[tuple[str, float]] = field(default_factory=list)
    gates: Mapping[str, Array] = field(default_factory=dict)
    seen: Mapping[str, Seen] = field(default_factory=dict)
    structures: Mapping[str, TracedStructure] = field(default_factory=dict)
    kind: Kind = "text"
    glimpses: Mapping[str, Glimpses] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: this is the one place where the fields are settled
        put(self, "input", {name: [str(piece) for piece in pieces] for name, pieces in self.input.items()})
        put(self, "output", [str(piece) for piece in self.output])
        put(self, "attention", _arrays(self.attention))
        put(self, "truth", _arrays(self.truth))
        put(self, "gates", _arrays(self.gates))
        put(self, "scores", np.asarray(self.scores, dtype=np.float64))
        put(self, "hypotheses", [(str(text), float(score)) for text, score in self.hypotheses])
        put(self, "layout", dict(self.layout))
        put(self, "seen", dict(self.seen))
        put(self, "structures", dict(self.structures))
        put(self, "glimpses", dict(self.glimpses))
        self._check()

    def _check(self) -> None:
        """Refuse numbers that do not belong to the pieces: a figure of them would lie."""
        for kind, looks in (("attention", self.attention), ("truth", self.truth)):
            for name, weights in looks.items():
                self._know(kind, name)
                expected = (len(self.output), len(self.input[name]))
                if weights.shape != expected:
                    raise RegardError(
                        f"{kind} over {name!r} has shape {weights.shape}, expected {expected}: "
                        f"output pieces by input pieces."
                    )
        for name, several in self.glimpses.items():
            self._know("glimpses", name)
            several.check_against(name, len(self.input[name]))
        for name in self.seen:
            self._know("something seen", name)
        for name, structure in self.structures.items():
            self._know(structure.kind, name)
            structure.check_against(name, len(self.output), len(self.input[name]))
        if self.scores.shape not in ((0,), (len(self.output),)):
            raise RegardError(
                f"scores have shape {self.scores.shape}, expected {(len(self.output),)}: one for each output piece."
            )

    def _know(self, kind: str, name: str) -> None:
        if name not in self.input:
            known = ", ".join(self.input) or "none"
            raise RegardError(f"the trace has {kind} over {name!r}, not one of its inputs ({known}).")

    @property
    def probabilities(self) -> Array | None:
        """(T,) probability of each output piece, or None where scores are not known."""
        return np.exp(self.scores) if len(self.scores) == len(self.output) and len(self.output) else None

    def plot(self) -> Scene:
        """The figure of this trace; a notebook draws it, `.save(path)` writes it."""
        from regard.inspect import figure

        return figure(self)

    def html(self, title: str | None = None) -> str:
        """A web page of its own with the figure, complete in one file."""
        from regard.inspect import trace_page

        return trace_page(self, title=title)

    def print(self, console: Console | None = None) -> None:
        """The figure in the terminal."""
        from regard.inspect import print_trace

        print_trace(self, console=console)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the figure as .svg, .html, .png or .pdf, by the ending of the name."""
        from regard.inspect import save

        save(self.html() if str(path).lower().endswith((".html", ".htm")) else self.plot(), path)

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON."""

        def lists(arrays: Mapping[str, Array]) -> dict[str, Any]:
            return {name: array.tolist() for name, array in arrays.items()}

        return {
            "kind": self.kind,
            "input": dict(self.input),
            "output": list(self.output),
            "attention": lists(self.attention),
            "layout": dict(self.layout),
            "truth": lists(self.truth),
            "scores": [_to_json(score) for score in self.scores],
            "hypotheses": [[text, _to_json(score)] for text, score in self.hypotheses],
            "gates": lists(self.gates),
            "seen": {name: one.to_dict() for name, one in self.seen.items()},
            "structures": {name: structure.to_dict() for name, structure in self.structures.items()},
            "glimpses": {name: several.to_dict() for name, several in self.glimpses.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Trace:
        """The inverse of `to_dict`."""
        inputs: dict[str, list[str]] = values["input"]
        output: list[str] = values["output"]

        def looks(arrays: Mapping[str, Any]) -> dict[str, Array]:
            # An output or input without pieces loses its other dimension in JSON, hence the reshape.
            return {
                name: np.asarray(rows, dtype=np.float64).reshape(len(output), len(inputs[name]))
                for name, rows in arrays.items()
            }

        return cls(
            input=inputs,
            output=output,
            attention=looks(values.get("attention", {})),
            layout=values.get("layout", {}),
            truth=looks(values.get("truth", {})),
            scores=np.array([_from_json(score) for score in values.get("scores", [])]),
            hypotheses=[(text, _from_json(score)) for text, score in values.get("hypotheses", [])],
            gates=_arrays(values.get("gates", {})),
            seen={name: seen_from_dict(found) for name, found in values.get("seen", {}).items()},
            structures={
                name: structure_from_dict(found) for name, found in values.get("structures", {}).items()
            },
            kind=values.get("kind", "text"),
            glimpses={name: Glimpses.from_dict(found) for name, found in values.get("glimpses", {}).items()},
        )


@dataclass(frozen=True)
class Alternative:
    """Another answer the search considered, with its total log-probability."""

    text: str
    score: float


@dataclass(frozen=True, eq=False)
class Prediction:
    """A model's answer for one row.

    value           what it is: a str, a label, the list of tags, or a tree
    text            the readable form of value
    score           log-probability of the answer
    trace           where the model looked, when that was asked for
    alternatives    the n-best list, best first, this answer included
    probabilities   of each label, where the output is a label
    """

    value: Any
    text: str
    score: float
    trace: Trace | None = None
    alternatives: Sequence[Alternative] = field(default_factory=list)
    probabilities: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        more = f", {len(self.alternatives)} alternatives" if len(self.alternatives) > 1 else ""
        return f"Prediction({self.text!r}, score={self.score:.3f}{more})"

    def _repr_html_(self) -> str:
        from regard.inspect import prediction_fragment

        return prediction_fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON lines; what is empty is left out."""
        values: dict[str, Any] = {"value": self.value, "text": self.text, "score": _to_json(self.score)}
        if self.alternatives:
            values["alternatives"] = [
                {"text": other.text, "score": _to_json(other.score)} for other in self.alternatives
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
            score=_from_json(values["score"]),
            trace=None if trace is None else Trace.from_dict(trace),
            alternatives=[
                Alternative(other["text"], _from_json(other["score"]))
                for other in values.get("alternatives", [])
            ],
            probabilities=values.get("probabilities", {}),
        )
