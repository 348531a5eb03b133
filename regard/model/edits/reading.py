"""An override as a user gives it (a text, a mapping by input, a list of edits), as a list of edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.errors import RegardError
from regard.model.edits.edit import WHERE, ArcEdit, Edit, MaskEdit, StepEdit, edit_of
from regard.model.edits.imposing import input_of
from regard.model.edits.text import parsed


def read_edits(look: Any, decoder: Any) -> list[Edit]:
    """The edits of one row for one decoder."""
    if isinstance(look, str):
        return _for_glimpses(_named(parsed(look), decoder), decoder.looks)
    if isinstance(look, Mapping) and "edit" not in look:
        found: list[Edit] = []
        for name, text in look.items():
            if not isinstance(text, str):
                raise RegardError(f"expected a text such as 3-0, received {text!r}.", where=WHERE)
            found += _for_glimpses(_named(parsed(text, name), decoder), decoder.looks)
        return found
    if isinstance(look, Mapping | Edit):
        look = [look]
    if not isinstance(look, Sequence):
        raise RegardError(f"expected a text such as 3-0, or a list of edits; received {look!r}.", where=WHERE)
    return [edit_of(one) for one in look]


def _named(edits: Sequence[Edit], decoder: Any) -> list[Edit]:
    """The edits of a text; those of the attention must be about an attended input."""
    for one in edits:
        if not isinstance(one, MaskEdit | ArcEdit):
            input_of(one, decoder.attended)
    return list(edits)


def _for_glimpses(edits: list[Edit], glimpses: int | None) -> list[Edit]:
    """In a text, row 0 also belongs to each glimpse without a row of its own."""
    own = [one for one in edits if isinstance(one, StepEdit) and one.rows]
    first = [one for one in own if one.step == 0]
    known = {one.step for one in own}
    if not first or None in known:
        return edits
    return [
        *edits,
        *(replace(one, step=k) for k in range(1, glimpses or 1) if k not in known for one in first),
    ]
