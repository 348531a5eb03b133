"""The attention of a model, and other details of one prediction; each field is described once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import RegardError
from regard.trace.glimpses import Glimpses
from regard.trace.heads import LayerHeads
from regard.trace.pointed import Pointed
from regard.trace.seen import Seen
from regard.trace.structure import TracedStructure
from regard.trace.tape import Tape
from regard.trace.traced import Array, from_json, to_json, traced_from_dict
from regard.trace.views import views

if TYPE_CHECKING:
    from rich.console import Console

    from regard.inspect.heads import Layers
    from regard.inspect.scene import Scene


SEQUENCES = ("text", "tags", "tree", "bits")
"""Kinds of outputs that are sequences of pieces. All others are one answer for the whole input."""
Inputs = Mapping[str, Any]
"""The pieces of each input, by its name."""


def no_scores() -> Array:
    return np.zeros(0)


def arrays(values: Mapping[str, Any]) -> dict[str, Array]:
    return {name: np.asarray(array, dtype=np.float64) for name, array in values.items()}


def _same(value: Any) -> Any:
    return value


def _unchecked(value: Any, inputs: Inputs, output: Any) -> None:
    pass


@dataclass(frozen=True)
class Form:
    """One kind of field.

    convert   the given value → the value of the field
    check     refuses a converted value that does not fit the inputs and the output
    write     the value of the field → plain lists, strings and numbers, for JSON
    read      the inverse of `write`; it also knows the inputs and the output
    """

    convert: Callable[[Any], Any]
    write: Callable[[Any], Any] = _same
    read: Callable[[Any, Inputs, Any], Any] = lambda value, inputs, output: value
    check: Callable[[Any, Inputs, Any], None] = _unchecked

    @property
    def metadata(self) -> dict[str, Form]:
        """For a field of a dataclass."""
        return {"form": self}


def know(what: str, name: str, inputs: Inputs) -> None:
    """Refuse an entry for something that is not an input."""
    if name not in inputs:
        known = ", ".join(inputs) or "none"
        raise RegardError(f"the trace has {what} over {name!r}, not one of its inputs ({known}).")


def weights(what: str) -> Form:
    """(T, S) for some of the inputs: output pieces by positions."""

    def check(value: Mapping[str, Any], inputs: Inputs, output: Any) -> None:
        for name, rows in value.items():
            know(what, name, inputs)
            expected = (len(output), len(inputs[name]))
            if rows.shape != expected:
                raise RegardError(
                    f"{what} over {name!r} has shape {rows.shape}, expected {expected}: "
                    f"output pieces by input pieces."
                )

    def read(value: Mapping[str, Any], inputs: Inputs, output: Any) -> dict[str, Any]:
        # In JSON an array without output or input pieces loses its other dimension, hence the reshape.
        return {
            name: np.asarray(rows, dtype=np.float64).reshape(len(output), len(inputs[name]))
            for name, rows in value.items()
        }

    return Form(arrays, _lists, read, check)


def by_input(what: str, read: Callable[[Mapping[str, Any]], Any] | None = None) -> Form:
    """An object with `to_dict` and `check_against` for some of the inputs.

    what   what it is, in messages; empty: its kind
    read   from its JSON; default: by the kind that is written there
    """

    def check(value: Mapping[str, Any], inputs: Inputs, output: Any) -> None:
        for name, one in value.items():
            know(what or one.kind, name, inputs)
            one.check_against(name, len(output), len(inputs[name]))

    return _objects(check, read or traced_from_dict)


def by_layer(read: Callable[[Mapping[str, Any]], Any]) -> Form:
    """The heads of some layers, by the name of the layer; each names the input it attends to."""

    def check(value: Mapping[str, Any], inputs: Inputs, output: Any) -> None:
        for one in value.values():
            if one.over:
                know("heads", one.over, inputs)

    return _objects(check, read)


def _objects(check: Callable[[Any, Inputs, Any], None], read_one: Callable[[Mapping[str, Any]], Any]) -> Form:
    return Form(
        dict,
        lambda value: {name: one.to_dict() for name, one in value.items()},
        lambda value, inputs, output: {name: read_one(one) for name, one in value.items()},
        check,
    )


def _lists(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: array.tolist() for name, array in value.items()}


def _texts(value: Any) -> list[str]:
    return [str(piece) for piece in value]


def _check_scores(value: Any, inputs: Inputs, output: Any) -> None:
    if value.shape not in ((0,), (len(output),)):
        raise RegardError(
            f"scores have shape {value.shape}, expected {(len(output),)}: one for each output piece."
        )


INPUTS = Form(lambda value: {name: _texts(pieces) for name, pieces in value.items()}, dict)
PIECES = Form(_texts, list)
TEXT = Form(_same)
TEXTS = Form(dict, dict)
NAMES = Form(tuple, list)
NUMBERS = Form(arrays, _lists, lambda value, inputs, output: arrays(value))
SCORES = Form(
    lambda value: np.asarray(value, dtype=np.float64),
    lambda value: [to_json(score) for score in value],
    lambda value, inputs, output: np.array([from_json(score) for score in value]),
    _check_scores,
)
HYPOTHESES = Form(
    lambda value: [(str(text), float(score)) for text, score in value],
    lambda value: [[text, to_json(score)] for text, score in value],
    lambda value, inputs, output: [(text, from_json(score)) for text, score in value],
)


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

    def html(self, title: str | None = None) -> str:
        """A web page with the figure, complete in one file."""
        return views().page(self, title)

    def print(self, console: Console | None = None, *, heads: bool = False, layers: Layers = None) -> None:
        """Print the figure in the terminal; `heads` and `layers` as in `plot`."""
        from regard.reporting.console import safe_console

        (console or safe_console()).print(self.plot(heads=heads, layers=layers))

    def save(self, path: str | PathLike[str], *, heads: bool = False, layers: Layers = None) -> None:
        """Write the figure as .svg, .html, .png or .pdf, by extension; `heads` and `layers` as in `plot`."""
        page = str(path).lower().endswith((".html", ".htm")) and not heads and layers is None
        views().save(self.html() if page else self.plot(heads=heads, layers=layers), path)

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
        values = {one.name: one.metadata["form"].write(getattr(self, one.name)) for one in fields(self)}
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
