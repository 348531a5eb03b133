"""Callbacks: functions that a training calls after updates and evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Callback:
    """Derive from it and override what you want to hear of; each gets a plain dict.

        class Watch(regard.training.Callback):
            def on_evaluation(self, figures):
                print(figures["step"], figures["loss"])

        regard.fit(data, callbacks=[Watch()])

    Of several processes only the first calls it. What it raises ends the training; the last checkpoint stays.
    """

    def on_step(self, figures: dict[str, Any]) -> None:
        """Every ten updates, and before each evaluation: what log.csv has of them (step, epoch, seconds, loss, rate,
        gradient_norm, tokens_per_second, …)."""

    def on_evaluation(self, figures: dict[str, Any]) -> None:
        """The development set has been measured: step, epoch, seconds, each metric, and whether it is `improved`."""

    def on_end(self, figures: dict[str, Any]) -> None:
        """The training came to its end: steps, epochs, seconds, kept, stopped_because, metrics."""


def tell(callbacks: Sequence[Any], event: str, figures: Mapping[str, Any]) -> None:
    """Call the method of each callback that has one; each gets a dict of its own."""
    for callback in callbacks:
        method = getattr(callback, event, None)
        if method is not None:
            method(dict(figures))
