"""Overriding the attention: the forms in which a user gives it, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import Option, RegardError
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.model.edits import Edit

    Override = str | Mapping[str, str] | Sequence[Edit | Mapping[str, Any]]
    """An override of the attention: a text, a mapping from names to texts if several inputs are attended to, or a list
    of edits (`regard.model.edits`), as objects or as in JSON. The texts have the formats of the data: "3-0 4-0" is
    positions 3 and 4 of the input for piece 0 of the output; "0:0.1,0.2,0.3,0.5" is a region of an image for piece 0
    (left, top, right, bottom); two numbers are a span of time. `regard.model.edits.text` has the other forms."""
    Overrides = Override | Sequence[Override]
    """One override, or a list of one list of edits for each input."""
else:
    Override = Overrides = str | Mapping | Sequence


def by_row(look: Any, *, inputs: int, models: int = 1) -> list[Any]:
    """The override of each of several inputs. A list of lists is one for each; anything else is for a single input,
    because positions depend on it."""
    if models == 1 and isinstance(look, list | tuple) and look and all(_several(one) for one in look):
        if len(look) != inputs:
            raise RegardError(
                f"look has {len(look)} lists of edits; received {inputs} inputs.", where=Option("look")
            )
        return list(look)
    if inputs != 1 or models != 1:
        raise RegardError(
            f"look works with one input and no ensemble; received {inputs} inputs and {models} models.",
            where=Option("look"),
            fix="Pass a list of edits for each input, and one model.",
        )
    return [look]


def _several(one: Any) -> bool:
    return isinstance(one, list | tuple)


def check_reached(edits: Sequence[Edit], answer: Prediction, look: Any) -> None:
    """Refuse an edit of a piece that the output does not have, since it has no effect."""
    if answer.trace is None or answer.trace.single:
        return
    count = len(answer.trace.output)
    for one in edits:
        step = getattr(one, "step", None)
        if step is not None and step >= count:
            raise RegardError(
                f"the output has no piece {step}; its pieces are 0 to {count - 1}.", where=f"look {look!r}"
            )


def check_sampled(answer: Prediction) -> None:
    """Refuse to draw samples if the model has no joint selection."""
    found = {} if answer.trace is None else answer.trace.structures
    if all(getattr(one, "samples", None) is None for one in found.values()):
        raise RegardError(
            "this model has no structured selection to sample from.",
            where="samples",
            fix="Leave samples out.",
        )
