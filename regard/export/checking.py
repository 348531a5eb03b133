"""Which formats can hold a model; and the check of an exporter for its author."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from regard.errors import RegardError
from regard.export.exporter import Exporter
from regard.export.exporting import output_of, reason_of
from regard.export.recipes import programs
from regard.parts import names, part


def possible(model: Any, output: str | None = None) -> Iterator[tuple[str, str]]:
    """Each format, and why this model cannot be written in it; empty if it can. Nothing is written."""
    name, recorded = output_of(model, output), None
    for to in names("exporter"):
        made: type[Exporter] = part("exporter", to)
        missing = [package for package in made.needs if find_spec(package) is None]
        reason = (
            f"needs {missing[0]}: pip install 'regard[{made.extra}]'"
            if missing
            else made.refused(model, name)
        )
        if not reason and made.records:
            recorded = _recorded(model, name) if recorded is None else recorded
            reason = recorded
        yield to, reason


def _recorded(model: Any, output: str) -> str:
    """Why torch cannot record this model; empty if it can."""
    try:
        for graph in programs(model, output).graphs:
            graph.program  # noqa: B018
    except RegardError as error:
        return str(error.what)
    except Exception as error:  # torch's recorder fails in many ways
        return reason_of(error)
    return ""


def check_exporter(report: Any, exporter: type[Exporter]) -> None:
    """It says what it writes, and which extra installs the packages that it needs."""
    report.is_true(
        "class", bool(vars(exporter).get("__doc__")), "a docstring that says what it writes", "none"
    )
    report.is_true(
        "extra", bool(exporter.extra) or not exporter.needs, "the extra that installs its needs", "none"
    )
