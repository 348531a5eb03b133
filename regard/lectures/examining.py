"""An entry put to the test: what was expected, what was found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import torch

from regard.kernels import plainly
from regard.lectures.checks import Check, TrainedCheck
from regard.lectures.entry import Entry
from regard.lectures.shelf import entry as find

State = Literal["pass", "fail", "record", "nothing"]
"""record: figures of longer trainings, which are not run again."""


@dataclass(frozen=True)
class Finding:
    """One check.

    role       "" for a check, "as printed" and "corrected" for the two of an erratum
    passed     whether it is as it ought to be: "as printed" passes where the computation fails
    recorded   whether it was found by a longer training and only looked up now
    """

    expected: str
    found: str
    passed: bool
    seconds: float
    role: str = ""
    recorded: bool = False


@dataclass(frozen=True)
class EntryResult:
    """What became of an entry."""

    state: State
    findings: tuple[Finding, ...] = ()

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.findings)

    @property
    def answered(self) -> bool:
        return self.state in ("pass", "record")


def examine(entry: Entry) -> EntryResult:
    """Run the checks of an entry and both sides of its errata."""
    if entry.nothing:
        return EntryResult("nothing")
    if entry.like:
        return examine(find(entry.like))
    findings = [_finding(check) for check in entry.checks]
    for erratum in entry.errata:
        findings += [_finding(erratum.printed, "as printed"), _finding(erratum.corrected, "corrected")]
    if not all(one.passed for one in findings):
        return EntryResult("fail", tuple(findings))
    recorded = bool(entry.checks) and all(isinstance(check, TrainedCheck) for check in entry.checks)
    return EntryResult("record" if recorded and not entry.errata else "pass", tuple(findings))


def _finding(check: Check, role: str = "") -> Finding:
    began = time.perf_counter()
    told = check.told()
    try:
        with plainly():  # each is small: a compiler would take longer than all of them
            torch.manual_seed(0)
            value: Any = check.value()
        holds, found = check.holds(value), check.said(value)
    except Exception as error:  # an entry that cannot be computed has failed, and the others go on
        holds, found = False, f"{type(error).__name__}: {error}"
        if role == "as printed":
            return Finding(
                told, found, False, time.perf_counter() - began, role
            )  # it must compute, and be wrong
    if isinstance(check, TrainedCheck):
        found = f"{found} (docs/results.md: {check.under})"
        holds = holds and check.on_record is not False
    passed = not holds if role == "as printed" else holds
    recorded = isinstance(check, TrainedCheck)
    return Finding(told, found, passed, time.perf_counter() - began, role, recorded)
