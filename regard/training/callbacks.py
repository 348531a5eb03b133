"""Callbacks: methods that are called after updates and evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Callback:
    """Base class of callbacks. Override the methods that you need; each receives a plain dict.

        class Watch(regard.training.Callback):
            def on_evaluation(self, figures):
                print(figures["step"], figures["loss"])

        regard.fit(data, callbacks=[Watch()])

    If there are several processes, only the first calls it. An exception ends the training; the last
    checkpoint remains.
    """

    def on_step(self, figures: dict[str, Any]) -> None:
        """Called every ten updates, and at each evaluation before `on_evaluation`, with the figures of
        log.csv (step, epoch, seconds, loss, rate, gradient_norm, tokens_per_second, …)."""

    def on_evaluation(self, figures: dict[str, Any]) -> None:
        """Called after each evaluation on dev, with step, epoch, seconds, all metrics, and `improved`."""

    def on_end(self, figures: dict[str, Any]) -> None:
        """Called at the end of training, with steps, epochs, seconds, kept, stopped_because, metrics."""


def tell(callbacks: Sequence[Any], event: str, figures: Mapping[str, Any]) -> None:
    """Call this method of each callback that has it, with a separate dict for each."""
    for callback in callbacks:
        method = getattr(callback, event, None)
        if method is not None:
            method(dict(figures))
