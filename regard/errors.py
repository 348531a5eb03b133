"""One exception for all mistakes of users: what is wrong, where, and how to fix it."""

from __future__ import annotations


class RegardError(ValueError):
    """A mistake in the input, with its place and its remedy.

    what    what was expected and what was received, in one sentence
    where   file and line, or the path inside a spec; empty if there is no place to name
    fix     what to do; empty if `what` already says it

    The command line prints it without a traceback and exits with 2.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(self.__str__())

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f" {self.fix}" if self.fix else ""
        return f"{place}{self.what}{remedy}"


class MissingExtra(RegardError):
    """A required optional library is not installed."""

    def __init__(self, library: str, extra: str, why: str) -> None:
        super().__init__(
            f"{why} needs {library}, which is not installed.", fix=f"Run: pip install 'regard[{extra}]'"
        )
