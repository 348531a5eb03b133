"""`regard predict --watch`: warn of answers that do not depend on their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.model import Model
from regard.questions.dependence import DependenceWatch
from regard.reporting.terminal import printable, say
from regard.trace.prediction import Prediction

SHOWN = 60
"""Characters of an answer in a warning."""


class Watcher:
    """Warns on standard error, and counts; the exit status stays as it is."""

    def __init__(self, model: Model, outputs: Sequence[str]) -> None:
        self.watches = {name: DependenceWatch.of(model, name) for name in outputs}
        self.answers = self.alarms = 0

    def look_at(self, inputs: Sequence[Any], answers: Sequence[Prediction], output: str) -> None:
        """Warn of each answer that other inputs make about as probable."""
        watch = self.watches[output]
        found = watch.dependence(inputs, answers)
        for answer, value in zip(answers, found, strict=True):
            self.answers += 1
            if value < watch.threshold:
                self.alarms += 1
                text = answer.text if len(answer.text) <= SHOWN else f"{answer.text[:SHOWN]}…"
                say(
                    f"warning: answer {self.answers}, {printable(text)!r}, does not depend on its input: other inputs "
                    f"make it about as probable ({value:+.2f} nats, expected at least {watch.threshold:.2f})",
                    error=True,
                )

    def tell(self) -> None:
        """The number of warnings, and how many to expect of honest answers."""
        rates = ", ".join(f"{watch.false_rate:.1%} of {watch.rows} rows" for watch in self.watches.values())
        say(
            f"{self.alarms} of {self.answers} answers do not depend on their input; false alarms on dev: {rates}",
            error=True,
        )
