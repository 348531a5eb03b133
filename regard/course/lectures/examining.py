"""Run the checks of an entry, and compare computed with expected values."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import torch

from regard.course.lectures.catalog import entry as find
from regard.course.lectures.checks import Check, TrainedCheck
from regard.course.lectures.entry import LectureEntry
from regard.structures.kernels import plainly

State = Literal["pass", "fail", "record", "nothing"]
"""record: figures of longer trainings, which are not rerun."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    role       "" for a check, "as printed" and "corrected" for the two of an erratum
    passed     whether the result is as expected; "as printed" passes if the computation fails
    recorded   whether the value comes from a recorded training and was only looked up
    """

    expected: str
    found: str
    passed: bool
    seconds: float
    role: str = ""
    recorded: bool = False


@dataclass(frozen=True)
class EntryResult:
    """The results of an entry."""

    state: State
    findings: tuple[CheckResult, ...] = ()

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.findings)

    @property
    def answered(self) -> bool:
        return self.state in ("pass", "record")


def examine(entry: LectureEntry) -> EntryResult:
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


def _finding(check: Check, role: str = "") -> CheckResult:
    began = time.perf_counter()
    told = check.told()
    try:
        with plainly():  # checks are small: compiling kernels would take longer than all of them
            torch.manual_seed(0)
            value: Any = check.value()
        holds, found = check.holds(value), check.said(value)
    except Exception as error:  # an entry that raises has failed; the others continue
        holds, found = False, f"{type(error).__name__}: {error}"
        if role == "as printed":
            return CheckResult(
                told, found, False, time.perf_counter() - began, role
            )  # the printed version must run and be wrong
    if isinstance(check, TrainedCheck):
        found = f"{found} (docs/results.md: {check.under})"
    passed = not holds if role == "as printed" else holds
    recorded = isinstance(check, TrainedCheck)
    return CheckResult(told, found, passed, time.perf_counter() - began, role, recorded)
