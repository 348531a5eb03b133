"""The attention of a model, and other details of one prediction; each field is described once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.trace.beam import BeamTree
from regard.trace.forms import (
    HYPOTHESES,
    INPUTS,
    LEFT_OUT,
    NAMES,
    NUMBERS,
    PIECES,
    SCORES,
    STATES,
    TEXT,
    TEXTS,
    TIMES,
    by_input,
    by_layer,
    no_scores,
    optional,
    weights,
)
from regard.trace.glimpses import Glimpses
from regard.trace.heads import LayerHeads
from regard.trace.pointed import Pointed
from regard.trace.potentials import Potentials
from regard.trace.seen import Seen
from regard.trace.structure import TracedStructure
from regard.trace.tape import Tape
from regard.trace.traced import Array
from regard.trace.views import Panel, explored, views

if TYPE_CHECKING:
    from rich.console import Console

    from regard.inspect.heads import Layers
    from regard.inspect.scene import Scene


IDLE_WEIGHT, IDLE_EFFECT = 0.2, 0.01
"""A weight from the first on is without effect if log p changes by less than the second."""
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
    copied      (T, S) for an input from which words are copied: `copied[name][t, s]` is the probability that
                output piece t was copied from position s, given that it was written; the rest of a row is the
                probability that it came from the vocabulary
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
    tapes       where the heads of an external memory wrote and read at each step of an input
    overridden  the inputs whose attention was overridden; their `truth` is the override
    effects     (T, S) by how much log p of each output piece falls if a position is removed from the input, for the
                inputs for which it was asked (`regard.questions.faithfulness`)
    states      (N, D) gates, cell and hidden states over N steps or positions, by name ("decoder.update",
                "encoder.source.forward.cell"), if they were recorded
    beam        the hypotheses of the search as a tree, if they were recorded
    potentials  the scores behind the structures over an input, if they were recorded
    times       milliseconds by part of the computation, if they were measured
    left_out    what a file lacks because it would have been too large
    """

    input: Mapping[str, Sequence[str]] = field(metadata=INPUTS.metadata)
    output: Sequence[str] = field(metadata=PIECES.metadata)
    attention: Mapping[str, Array] = field(default_factory=dict, metadata=weights("attention").metadata)
    layout: Mapping[str, str] = field(default_factory=dict, metadata=TEXTS.metadata)
    truth: Mapping[str, Array] = field(default_factory=dict, metadata=weights("truth").metadata)
    scores: Array = field(default_factory=no_scores, metadata=SCORES.metadata)
    hypotheses: Sequence[tuple[str, float]] = field(default_factory=list, metadata=HYPOTHESES.metadata)
    gates: Mapping[str, Array] = field(default_factory=dict, metadata=NUMBERS.metadata)
    copied: Mapping[str, Array] = field(default_factory=dict, metadata=weights("copied").metadata)
    seen: Mapping[str, Seen] = field(
        default_factory=dict, metadata=by_input("an image, video, audio or points").metadata
    )
    structures: Mapping[str, TracedStructure] = field(default_factory=dict, metadata=by_input("").metadata)
    kind: str = field(default="text", metadata=TEXT.metadata)
    glimpses: Mapping[str, Glimpses] = field(
        default_factory=dict, metadata=by_input("glimpses", Glimpses.from_dict).metadata
    )
    heads: Mapping[str, LayerHeads] = field(
        default_factory=dict, metadata=by_layer(LayerHeads.from_dict).metadata
    )
    overridden: Sequence[str] = field(default=(), metadata=NAMES.metadata)
    pointed: Mapping[str, Pointed] = field(
        default_factory=dict, metadata=by_input("pointers", Pointed.from_dict).metadata
    )
    tapes: Mapping[str, Tape] = field(
        default_factory=dict, metadata=by_input("a tape", Tape.from_dict).metadata
    )
    effects: Mapping[str, Array] = field(
        default_factory=dict, metadata=weights("effects", rare=True).metadata
    )
    states: Mapping[str, Array] = field(default_factory=dict, metadata=STATES.metadata)
    beam: BeamTree | None = field(default=None, metadata=optional(BeamTree.from_dict).metadata)
    potentials: Mapping[str, Potentials] = field(
        default_factory=dict, metadata=by_input("scores", Potentials.from_dict, rare=True).metadata
    )
    times: Mapping[str, float] = field(default_factory=dict, metadata=TIMES.metadata)
    left_out: Sequence[str] = field(default=(), metadata=LEFT_OUT.metadata)

    def __post_init__(self) -> None:
        for one in fields(self):
            # frozen: fields are set only here
            object.__setattr__(self, one.name, one.metadata["form"].convert(getattr(self, one.name)))
        for one in fields(self):  # numbers that do not fit the pieces would make a wrong figure
            one.metadata["form"].check(getattr(self, one.name), self.input, self.output)

    @property
    def probabilities(self) -> Array | None:
        """(T,) probability of each output piece, or None if scores are not known."""
        if self.kind == "number" or not len(self.output) or len(self.scores) != len(self.output):
            return None  # the score of a number is a density
        return np.exp(self.scores)

    def idle(self, name: str, weights: Array | None = None) -> NDArray[np.bool_] | None:
        """(T, S) whether a weight of at least `IDLE_WEIGHT` is without effect: without its position, log p of the piece
        changes by less than `IDLE_EFFECT`. None if effects are not known.

        weights   (R, S) those of glimpses, instead of the attention
        """
        if name not in self.effects:
            return None
        given = self.attention[name] if weights is None else weights
        small = np.abs(self.effects[name]) < IDLE_EFFECT  # one row for all glimpses of an answer
        return (given >= IDLE_WEIGHT) & small if len(small) in (1, len(given)) else None

    @property
    def single(self) -> bool:
        """Whether the output is one answer for the whole input, not a sequence of pieces."""
        return self.kind not in SEQUENCES

    def plot(self, *, heads: bool = False, layers: Layers = None) -> Scene:
        """The figure of this trace. A notebook displays it; `.save(path)` writes it.

        heads    draw the attention of each head of each layer instead
        layers   draw only the heads of these layers, by name or by number from 1
        """
        return views().heads(self, layers) if heads or layers is not None else views().figure(self)

    def panels(self) -> list[Panel]:
        """Everything that can be drawn of this trace, the default figure first. A panel is drawn when its scene or its
        steps are asked for."""
        return views().panels(self)

    def explore(self) -> Any:
        """The figure and its panels, alive in a notebook: hover, step through, move by keyboard. Needs anywidget."""
        return explored(self)

    def html(self, title: str | None = None) -> str:
        """A web page with the figure, complete in one file."""
        return views().page(self, title)

    def print(self, console: Console | None = None, *, heads: bool = False, layers: Layers = None) -> None:
        """Print the figure in the terminal; `heads` and `layers` as in `plot`."""
        from regard.reporting.console import safe_console

        (console or safe_console()).print(self.plot(heads=heads, layers=layers))

    def save(self, path: str | PathLike[str], *, heads: bool = False, layers: Layers = None) -> None:
        """Write the trace itself as .trace, which `Trace.load` reads; or its figure as .svg, .html, .png or .pdf, by
        extension, `heads` and `layers` as in `plot`."""
        if str(path).lower().endswith(".trace"):
            from regard.trace.file import save_trace

            save_trace(self, path)
            return
        page = str(path).lower().endswith((".html", ".htm")) and not heads and layers is None
        views().save(self.html() if page else self.plot(heads=heads, layers=layers), path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Trace:
        """The trace in a file that `save("….trace")` wrote. It is drawn without the model and without torch."""
        from regard.trace.file import load_trace

        return load_trace(path, cls.from_dict)

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
        if self.states:
            lines.append(f"  states: {', '.join(self.states)}")
        if self.beam is not None:
            lines.append(f"  search: {len(self.beam)} hypotheses")
        if self.left_out:
            lines.append(f"  left out of the file: {', '.join(self.left_out)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON."""
        held = [(one.name, one.metadata["form"], getattr(self, one.name)) for one in fields(self)]
        values = {name: form.write(value) for name, form, value in held if not form.rare or value}
        return {"kind": values.pop("kind"), **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Trace:
        """The inverse of `to_dict`."""
        pieces = values["input"], values["output"]
        return cls(
            **{
                one.name: one.metadata["form"].read(values[one.name], *pieces)
                for one in fields(cls)
                if one.name in values
            }
        )


def _shortened(pieces: Sequence[str], most: int = 12) -> str:
    return " ".join(pieces[:most]) + (" …" if len(pieces) > most else "")
