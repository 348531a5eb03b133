"""The settings of a lab: `steps=20`, `nodes.dog.N=2`, checked against its options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from regard.course.lab.lab import Lab, LabResult
from regard.errors import RegardError
from regard.parts import find
from regard.spec.document import Document, changed
from regard.spec.messages import explain


def lab_and_options(name: str, settings: Sequence[str] = ()) -> tuple[type[Lab], Any]:
    """The lab of that name and its options from `key=value`; errors suggest the nearest known name."""
    chosen: type[Lab] = find("lab", name)
    return chosen, _checked(chosen, changed(Document({}), settings))


def run(name: str, **settings: Any) -> LabResult:
    """Run a lab with some of its settings: run("jacobian", steps=100)."""
    chosen: type[Lab] = find("lab", name)
    found = chosen.run(_checked(chosen, Document(settings)))
    if not isinstance(found, LabResult):
        raise RegardError(f"the lab {name}: run returned a {type(found).__name__}, expected a LabResult.")
    return found


def _checked(chosen: type[Lab], document: Document) -> Any:
    try:
        return chosen.Options.model_validate(document.data)
    except ValidationError as error:
        raise explain(error, chosen.Options, document, document.data, {}) from None
