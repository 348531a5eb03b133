"""Checks of notations."""

from __future__ import annotations

from regard import zoo
from regard.describe import Lettered, Notation, answers
from regard.errors import RegardError
from regard.model.building import build_network
from regard.model.counting import fitted_to_nothing
from regard.testing.report import PartReport, Stop

SYSTEMS = ("translation", "translation-no-attention", "tagger", "caption")
"""Small systems of which a notation should have letters for one at least."""


def check_notation(report: PartReport, notation: type[Notation]) -> None:
    """It writes a small system, with weights that the network has; what it cannot write it refuses with a reason."""
    written = 0
    for name in SYSTEMS:
        spec = zoo.find(name)
        try:
            found = notation.write(spec)
        except RegardError:
            continue
        if not isinstance(found, Lettered):
            report.add("write", "a Lettered", type(found).__name__)
            raise Stop
        written += 1
        network = build_network(spec, fitted_to_nothing(spec), read_files=False)
        parameters = {name for name, _ in network.named_parameters()}
        unknown = sorted({weight.name for weight in found.weights} - parameters)
        report.is_true("write", not unknown, "weights of the network", f"{', '.join(unknown[:3])} ({name})")
        asked = [question for question, lines in answers(spec).items() if lines and question != "parameters"]
        lacking = [question for question in asked if not found.answers.get(question)]
        report.is_true(
            "write", not lacking, "lines for every question", f"none for {', '.join(lacking)} ({name})"
        )
    report.is_true("write", written > 0, f"letters for one of {', '.join(SYSTEMS)}", "none")
