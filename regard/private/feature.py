"""Functions that another package does not promise: tried once, at their first use, whatever its version.

A function is used if its trial gives the right answer. Otherwise plain code does the same work, and one
warning gives the reason and the cost. `feature_states` lists them all.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_lock = threading.RLock()
_features: list[Feature] = []


class WrongAnswer(Exception):
    """A trial gave another answer than expected."""


def expect(right: bool, what: str) -> None:
    """For trials: `what` names the answer that must be right."""
    if not right:
        raise WrongAnswer(f"{what}: wrong answer")


@dataclass(frozen=True)
class FeatureState:
    """What became of one feature.

    reason   why it is off; empty if it is on
    cost     what is lost without it
    absent   whether nothing here could use it, such as a GPU
    """

    name: str
    on: bool
    reason: str
    cost: str
    absent: bool = False


class Feature:
    """One function that is used where it gives the right answer.

    name     what is tried
    cost     what is lost without it, as a clause: "training takes one launch for each tensor"
    trial    returns the function after checking it on a tiny input; raises an exception if it cannot be used
    absent   the reason why nothing here can use the feature, such as a missing device; it is then off
             without a warning
    alone    run the trial in a thread of its own, in which no mode or transform of torch is active
    """

    def __init__(
        self,
        name: str,
        cost: str,
        trial: Callable[[], Any],
        *,
        absent: Callable[[], str] = str,
        alone: bool = True,
    ) -> None:
        self.name, self.cost, self.trial, self.absent, self.alone = name, cost, trial, absent, alone
        self.tried = False
        self.found: Any = None
        self.reason = ""
        _features.append(self)

    def get(self) -> Any:
        """The function, or None if it cannot be used. The first call tries it."""
        if not self.tried:
            with _lock:
                if not self.tried:
                    self._try(warn=True)
        return self.found

    def state(self) -> FeatureState:
        """Try the feature if nothing has used it yet, without a warning."""
        if not self.tried:
            with _lock:
                if not self.tried:
                    self._try(warn=False)
        absent = bool(self.reason) and self.reason == self.absent()
        return FeatureState(self.name, self.found is not None, self.reason, self.cost, absent)

    def forget(self) -> None:
        """Try it again at the next use."""
        self.tried, self.found, self.reason = False, None, ""

    def turn_off(self, reason: str) -> None:
        """Stop using it, with a warning: its use gave a wrong answer."""
        with _lock:
            self.found, self.reason, self.tried = None, reason, True
        self._warn()

    def _try(self, *, warn: bool) -> None:
        self.found, self.reason = None, self.absent()
        if not self.reason:
            if self.alone:
                thread = threading.Thread(target=self._run, name="regard-trial")
                try:
                    thread.start()
                    thread.join()
                except RuntimeError:  # the interpreter is shutting down and starts no more threads
                    self._run()
            else:
                self._run()
            if self.reason and warn:
                self._warn()
        self.tried = True

    def _run(self) -> None:
        try:
            self.found = self.trial()
        except Exception as error:  # any failure of a private function turns it off
            self.reason = f"{type(error).__name__}: {error}".split("\n")[0]

    def _warn(self) -> None:
        warnings.warn(
            f"{self.name} cannot be used ({self.reason}): {self.cost}. Results are the same. "
            "`python -m regard.private` lists all such functions.",
            RuntimeWarning,
            stacklevel=4,
        )


def feature_states() -> list[FeatureState]:
    """Every feature that has been defined, tried now if it was not used before."""
    return [feature.state() for feature in _features]
