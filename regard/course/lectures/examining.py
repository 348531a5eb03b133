"""Run the checks of an entry, and compare computed with expected values."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import torch

from regard.course.lectures.catalog import entry as find
from regard.course.lectures.checks import BoardCheck, Check, OrderCheck, TrainedCheck, ZooCheck
from regard.course.lectures.entry import LectureEntry
from regard.course.lectures.evidence import NoEvidence
from regard.structures.kernels import plainly

State = Literal["computed", "trained", "board", "fail", "unshown", "unknown", "nothing"]
"""What shows an entry.

computed   a computation, now
trained    a longer training, whose stored result was read
board      printed equations or a system that exists, and no number
unshown    the checks hold, and the entry says that the claim does not show; this is no pass
unknown    a figure has no stored result; this is no pass
"""
ANSWERED: tuple[State, ...] = ("computed", "trained", "board")
"""The states that answer an entry."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    role       "" for a check, "as printed" and "corrected" for the two of an erratum
    passed     whether the result is as expected; "as printed" passes if the computation fails
    kind       what shows it: computed, trained or board; unknown if nothing does
    """

    expected: str
    found: str
    passed: bool
    seconds: float
    role: str = ""
    kind: State = "computed"


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
        return self.state in ANSWERED


def examine(entry: LectureEntry) -> EntryResult:
    """Run the checks of an entry and both sides of its errata."""
    if entry.nothing:
        return EntryResult("nothing")
    if entry.like:
        return examine(find(entry.like))
    findings = [_finding(check) for check in entry.checks]
    for erratum in entry.errata:
        findings += [_finding(erratum.printed, "as printed"), _finding(erratum.corrected, "corrected")]
    kinds = {one.kind for one in findings}
    if not all(one.passed for one in findings if one.kind != "unknown"):
        return EntryResult("fail", tuple(findings))
    if entry.unshown:
        return EntryResult("unshown", tuple(findings))
    state = next(kind for kind in ("unknown", "computed", "trained", "board") if kind in kinds)
    return EntryResult(state, tuple(findings))


def _finding(check: Check, role: str = "") -> CheckResult:
    began = time.perf_counter()
    told, kind = check.told(), _kind(check)
    try:
        with plainly():  # checks are small: compiling kernels would take longer than all of them
            torch.manual_seed(0)
            value: Any = check.value()
        holds, found = check.holds(value), check.said(value)
        if isinstance(check, TrainedCheck | OrderCheck):
            found = f"{found} ({check.source()})"
    except NoEvidence as error:
        return CheckResult(told, f"unknown: {error}", False, time.perf_counter() - began, role, "unknown")
    except Exception as error:  # an entry that raises has failed; the others continue
        holds, found = False, f"{type(error).__name__}: {error}"
        if role == "as printed":
            return CheckResult(
                told, found, False, time.perf_counter() - began, role, kind
            )  # the printed version must run and be wrong
    passed = not holds if role == "as printed" else holds
    return CheckResult(told, found, passed, time.perf_counter() - began, role, kind)


def _kind(check: Check) -> State:
    if isinstance(check, TrainedCheck | OrderCheck):
        return "trained"
    return "board" if isinstance(check, BoardCheck | ZooCheck) else "computed"
