"""One thing that the doctor looks at, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["on", "off", "wrong"]


@dataclass(frozen=True)
class Finding:
    """One line of the page.

    value    a version, a size, a folder
    state    on: it is there and works; off: it is not used here, for a good reason; wrong: it should work and does not
    reason   why it is off or wrong, or what it is for
    fix      what to do, if something can be done
    """

    name: str
    value: str = ""
    state: State = "on"
    reason: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Findings:
    """Findings under one title."""

    title: str
    findings: tuple[Finding, ...]

    @property
    def data(self) -> dict[str, Any]:
        return asdict(self)


def section(title: str, find: Callable[[], Iterable[Finding]]) -> Findings:
    """What was found; an exception is a finding too, so that the rest of the page is printed."""
    found: list[Finding] = []
    try:
        found.extend(find())
    except Exception as error:
        told = str(error).strip().partition("\n")[0]
        found.append(Finding("examination", state="wrong", reason=f"{type(error).__name__}: {told}"))
    return Findings(title, tuple(found))


def size(count: float) -> str:
    """A number of bytes for people: 12 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
