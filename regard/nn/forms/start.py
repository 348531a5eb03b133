"""The form that pointers make, by its name."""

from __future__ import annotations

from regard.nn.forms.form import FormState
from regard.nn.forms.polygon import PolygonState
from regard.nn.forms.tour import TourState
from regard.nn.forms.triangles import TrianglesState
from regard.nn.memory import Memory

FORMS: dict[str, type[FormState]] = {
    "polygon": PolygonState,
    "tour": TourState,
    "triangles": TrianglesState,
}


def begin_form(form: str, memory: Memory) -> FormState | None:
    """The state before the first pointer; None for a sequence, which has no constraints."""
    return FORMS[form].begin(memory) if form in FORMS else None
