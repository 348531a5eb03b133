"""Callbacks: methods that are called after updates and evaluations."""

from __future__ import annotations

from typing import Any

from regard.errors import RegardError
from regard.parts import nearest


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


def check_callbacks(callbacks: Any) -> tuple[Any, ...]:
    """The callbacks as a tuple. Refuses one that would never be called: a function, a class, a misspelled method."""
    events = [name for name in vars(Callback) if name.startswith("on_")]
    given = (callbacks,) if isinstance(callbacks, Callback) else callbacks
    if not isinstance(given, list | tuple):
        raise RegardError(f"expected a list of callbacks, received {given!r}.", where="callbacks")
    for callback in given:
        if isinstance(callback, type):
            raise RegardError(
                f"received the class {callback.__name__}, expected an object of it.",
                where="callbacks",
                fix=f"Write {callback.__name__}().",
            )
        methods = [
            name for name in dir(callback) if name.startswith("on_") and callable(getattr(callback, name))
        ]
        unknown = [name for name in methods if name not in events]
        if unknown:
            raise RegardError(
                f"{type(callback).__name__}.{unknown[0]} would never be called.",
                where="callbacks",
                fix=f"{nearest(unknown[0], events)} The methods are {', '.join(events)}.",
            )
        if not methods:
            raise RegardError(
                f"{callback!r} has none of the methods {', '.join(events)}.",
                where="callbacks",
                fix="Derive a class from regard.training.Callback, write one of them, and pass an object of it.",
            )
    return tuple(given)
