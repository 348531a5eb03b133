"""The attention of a model, and other details of one prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import RegardError
from regard.trace.glimpses import Glimpses
from regard.trace.heads import HeadLooks
from regard.trace.numbers import Array, arrays, from_json, no_scores, to_json
from regard.trace.pointed import Pointed
from regard.trace.seen import Seen, seen_from_dict
from regard.trace.structures import TracedStructure, structure_from_dict
from regard.trace.tape import Tape

if TYPE_CHECKING:
    from rich.console import Console

    from regard.inspect.heads import Layers
    from regard.inspect.scene import Scene

SEQUENCES = ("text", "tags", "tree", "bits")
"""Kinds of outputs that are sequences of pieces. All others are one answer for the whole input."""


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The details of one prediction. T output pieces, S positions of an input.

    input       the pieces of each input, by its name
    output      the T output pieces; the last may be "</s>"
    attention   (T, S) for each attended input: `attention[name][t, s]` is the share of position s of that
                input in the context of output piece t
    layout      the layout of the positions of an input (default: "line"): `regard.nn.memory.Layout`
    truth       (T, S) the true attention, for the inputs for which it is known; or empty
    scores      (T,) log-probability of each output piece; or empty
    hypotheses  the n-best list, best first, as pairs of text and total log-probability
    gates       further numbers per output piece, (T,) or (T, D), by name
    seen        inputs that are not texts, as figures draw them: images, videos, audio
    structures  selected structures (`Arcs`, `Segments`, `Hops`, …), by the name of the input
    kind        the kind of output: a "text" (one row per piece), "tags" (one for each position of the input),
                a "tree" (a head for each position of the input, as "2:nsubj" or "2"), "bits" (a vector for
                each blank step of the input), or any other name for one answer for the whole input (one row):
                a "label", a "number"
    glimpses    the looks of an answer that attends to an input several times; `attention` is then their mean
    heads       the attention of each head of a layer, by the layer's name, for attention with several heads
    pointed     the positions that the output points at, by the name of the input, for outputs made of
                positions
    copied      (T, S) for an input from which words are copied: `copied[name][t, s]` is the probability that
                output piece t was copied from position s, given that it was written; the rest of a row is the
                probability that it came from the vocabulary
    tapes       where the heads of an external memory wrote and read at each step of an input
    overridden  the inputs whose attention was overridden; their `truth` is the override
    """

    input: Mapping[str, Sequence[str]]
    output: Sequence[str]
    attention: Mapping[str, Array] = field(default_factory=dict)
    layout: Mapping[str, str] = field(default_factory=dict)
    truth: Mapping[str, Array] = field(default_factory=dict)
    scores: Array = field(default_factory=no_scores)
    hypotheses: Sequence[tuple[str, float]] = field(default_factory=list)
    gates: Mapping[str, Array] = field(default_factory=dict)
    seen: Mapping[str, Seen] = field(default_factory=dict)
    structures: Mapping[str, TracedStructure] = field(default_factory=dict)
    kind: str = "text"
    glimpses: Mapping[str, Glimpses] = field(default_factory=dict)
    heads: Mapping[str, HeadLooks] = field(default_factory=dict)
    overridden: Sequence[str] = ()
    pointed: Mapping[str, Pointed] = field(default_factory=dict)
    tapes: Mapping[str, Tape] = field(default_factory=dict)
    copied: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: fields are set only here
        put(self, "input", {name: [str(piece) for piece in pieces] for name, pieces in self.input.items()})
        put(self, "output", [str(piece) for piece in self.output])
        put(self, "attention", arrays(self.attention))
        put(self, "truth", arrays(self.truth))
        put(self, "gates", arrays(self.gates))
        put(self, "copied", arrays(self.copied))
        put(self, "scores", np.asarray(self.scores, dtype=np.float64))
        put(self, "hypotheses", [(str(text), float(score)) for text, score in self.hypotheses])
        put(self, "layout", dict(self.layout))
        put(self, "seen", dict(self.seen))
        put(self, "structures", dict(self.structures))
        put(self, "glimpses", dict(self.glimpses))
        put(self, "heads", dict(self.heads))
        put(self, "overridden", tuple(self.overridden))
        put(self, "pointed", dict(self.pointed))
        put(self, "tapes", dict(self.tapes))
        self._check()

    def _check(self) -> None:
        """Refuse numbers that do not fit the pieces: a figure of them would be wrong."""
        for kind, looks in (("attention", self.attention), ("truth", self.truth), ("copied", self.copied)):
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
        for several_heads in self.heads.values():
            if several_heads.over:
                self._know("heads", several_heads.over)
        for name, pointed in self.pointed.items():
            self._know("pointers", name)
            pointed.check_against(name, len(self.input[name]))
        for name, tape in self.tapes.items():
            self._know("a tape", name)
            tape.check_against(name, len(self.input[name]))
        for name in self.seen:
            self._know("an image, video, audio or points", name)
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
        """(T,) probability of each output piece, or None if scores are not known."""
        if self.kind == "number" or not len(self.output) or len(self.scores) != len(self.output):
            return None  # the score of a number is a density
        return np.exp(self.scores)

    @property
    def single(self) -> bool:
        """Whether the output is one answer for the whole input, not a sequence of pieces."""
        return self.kind not in SEQUENCES

    def plot(self, *, heads: bool = False, layers: Layers = None) -> Scene:
        """The figure of this trace. A notebook displays it; `.save(path)` writes it.

        heads    draw the attention of each head of each layer instead
        layers   draw only the heads of these layers, by name or by number from 1
        """
        from regard.inspect import figure, heads_figure

        return heads_figure(self, layers) if heads or layers is not None else figure(self)

    def html(self, title: str | None = None) -> str:
        """A web page with the figure, complete in one file."""
        from regard.inspect import trace_page

        return trace_page(self, title=title)

    def print(self, console: Console | None = None, *, heads: bool = False, layers: Layers = None) -> None:
        """Print the figure in the terminal; `heads` and `layers` as in `plot`."""
        from regard.reporting.console import safe_console

        (console or safe_console()).print(self.plot(heads=heads, layers=layers))

    def save(self, path: str | PathLike[str], *, heads: bool = False, layers: Layers = None) -> None:
        """Write the figure as .svg, .html, .png or .pdf, by extension; `heads` and `layers` as in `plot`."""
        from regard.inspect import save

        page = str(path).lower().endswith((".html", ".htm")) and not heads and layers is None
        save(self.html() if page else self.plot(heads=heads, layers=layers), path)

    def __repr__(self) -> str:
        lines = [f"Trace of a {self.kind}: {_shortened(self.output)}"]
        for name, pieces in self.input.items():
            facts = [self.seen[name].kind if name in self.seen else f"{len(pieces)} positions"]
            if name in self.attention:
                facts.append("attention {} × {}".format(*self.attention[name].shape))
            if name in self.structures:
                facts.append(self.structures[name].kind)
            if name in self.tapes:
                facts.append("external memory")
            if name in self.truth:
                facts.append("imposed" if name in self.overridden else "with the truth")
            told = "" if name in self.seen else f" {_shortened(pieces)}"
            lines.append(f"  {name}:{told} ({', '.join(facts)})")
        if self.heads:
            lines.append(f"  heads of {', '.join(self.heads)}")
        return "\n".join(lines)

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
            "scores": [to_json(score) for score in self.scores],
            "hypotheses": [[text, to_json(score)] for text, score in self.hypotheses],
            "gates": lists(self.gates),
            "copied": lists(self.copied),
            "seen": {name: one.to_dict() for name, one in self.seen.items()},
            "structures": {name: structure.to_dict() for name, structure in self.structures.items()},
            "glimpses": {name: several.to_dict() for name, several in self.glimpses.items()},
            "heads": {name: several.to_dict() for name, several in self.heads.items()},
            "overridden": list(self.overridden),
            "pointed": {name: one.to_dict() for name, one in self.pointed.items()},
            "tapes": {name: tape.to_dict() for name, tape in self.tapes.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Trace:
        """The inverse of `to_dict`."""
        inputs: dict[str, list[str]] = values["input"]
        output: list[str] = values["output"]

        def looks(arrays: Mapping[str, Any]) -> dict[str, Array]:
            # In JSON an array without output or input pieces loses its other dimension, hence the reshape.
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
            scores=np.array([from_json(score) for score in values.get("scores", [])]),
            hypotheses=[(text, from_json(score)) for text, score in values.get("hypotheses", [])],
            gates=arrays(values.get("gates", {})),
            copied=looks(values.get("copied", {})),
            seen={name: seen_from_dict(found) for name, found in values.get("seen", {}).items()},
            structures={
                name: structure_from_dict(found) for name, found in values.get("structures", {}).items()
            },
            kind=values.get("kind", "text"),
            glimpses={name: Glimpses.from_dict(found) for name, found in values.get("glimpses", {}).items()},
            heads={name: HeadLooks.from_dict(found) for name, found in values.get("heads", {}).items()},
            overridden=values.get("overridden", ()),
            pointed={name: Pointed.from_dict(found) for name, found in values.get("pointed", {}).items()},
            tapes={name: Tape.from_dict(found) for name, found in values.get("tapes", {}).items()},
        )


def _shortened(pieces: Sequence[str], most: int = 12) -> str:
    return " ".join(pieces[:most]) + (" …" if len(pieces) > most else "")
