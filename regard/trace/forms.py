"""The forms of the fields of a trace: how each is converted, checked, written to JSON and read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.trace.traced import Array, from_json, to_json, traced_from_dict

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
    rare      whether an empty value is left out of the JSON
    """

    convert: Callable[[Any], Any]
    write: Callable[[Any], Any] = _same
    read: Callable[[Any, Inputs, Any], Any] = lambda value, inputs, output: value
    check: Callable[[Any, Inputs, Any], None] = _unchecked
    rare: bool = False

    @property
    def metadata(self) -> dict[str, Form]:
        """For a field of a dataclass."""
        return {"form": self}


def know(what: str, name: str, inputs: Inputs) -> None:
    """Refuse an entry for something that is not an input."""
    if name not in inputs:
        known = ", ".join(inputs) or "none"
        raise RegardError(f"the trace has {what} over {name!r}, not one of its inputs ({known}).")


def weights(what: str, *, rare: bool = False) -> Form:
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

    return Form(arrays, _lists, read, check, rare=rare)


def by_input(
    what: str, read: Callable[[Mapping[str, Any]], Any] | None = None, *, rare: bool = False
) -> Form:
    """An object with `to_dict` and `check_against` for some of the inputs.

    what   what it is, in messages; empty: its kind
    read   from its JSON; default: by the kind that is written there
    """

    def check(value: Mapping[str, Any], inputs: Inputs, output: Any) -> None:
        for name, one in value.items():
            know(what or one.kind, name, inputs)
            one.check_against(name, len(output), len(inputs[name]))

    return _objects(check, read or traced_from_dict, rare=rare)


def by_layer(read: Callable[[Mapping[str, Any]], Any]) -> Form:
    """The heads of some layers, by the name of the layer; each names the input it attends to."""

    def check(value: Mapping[str, Any], inputs: Inputs, output: Any) -> None:
        for one in value.values():
            if one.over:
                know("heads", one.over, inputs)

    return _objects(check, read)


def _objects(
    check: Callable[[Any, Inputs, Any], None],
    read_one: Callable[[Mapping[str, Any]], Any],
    *,
    rare: bool = False,
) -> Form:
    return Form(
        dict,
        lambda value: {name: one.to_dict() for name, one in value.items()},
        lambda value, inputs, output: {name: read_one(one) for name, one in value.items()},
        check,
        rare,
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


def _read_states(value: Mapping[str, Any], inputs: Inputs, output: Any) -> dict[str, Array]:
    # In JSON an array without steps loses its other dimension.
    return {name: array if array.size else np.zeros((len(array), 0)) for name, array in arrays(value).items()}


def _check_states(value: Mapping[str, Any], inputs: Inputs, output: Any) -> None:
    for name, rows in value.items():
        if rows.ndim != 2:
            raise RegardError(f"the states {name!r} have shape {rows.shape}, expected steps by features.")


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
STATES = Form(arrays, _lists, _read_states, _check_states, rare=True)
TIMES = Form(lambda value: {str(name): float(time) for name, time in value.items()}, dict, rare=True)
LEFT_OUT = Form(tuple, list, rare=True)


def optional(read: Callable[[Mapping[str, Any]], Any]) -> Form:
    """An object with `to_dict` and `check_inputs`, or None."""

    def check(value: Any, inputs: Inputs, output: Any) -> None:
        if value is not None:
            value.check_inputs(inputs)

    return Form(
        _same, lambda value: value.to_dict(), lambda value, inputs, output: read(value), check, rare=True
    )
