"""One exception for all mistakes of users."""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors.remedies import PYTHON, Front, Message, Words, said


class RegardError(ValueError):
    """A mistake in the input, with its place and its remedy.

    what    what was expected and what was received, in one sentence
    where   file and line, or the path inside a spec; empty if there is no place to name
    fix     what to do; empty if `what` already says it

    Each is a text, or a `Message` with remedies among its words: settings, options and commands as data. `str`
    names them as arguments of Python. The command line names them as its options, prints no traceback and exits with 2.
    """

    def __init__(self, what: Words, *, where: Words = "", fix: Words = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(self.__str__())

    def __str__(self) -> str:
        return self.said(PYTHON)

    def said(self, front: Front) -> str:
        """The whole message in the words of a front end."""
        return said(self.text(), front)

    def text(self) -> Message:
        """The whole message: place, mistake and remedy."""
        place = (self.where, ": ") if self.where else ()
        return Message(*place, self.what, *((" ", self.fix) if self.fix else ()))

    @classmethod
    def of_all(cls, mistakes: Sequence[RegardError]) -> RegardError:
        """One error for several mistakes: the others follow the remedy of the first, each in a line of its own."""
        first, *others = mistakes
        lines = [first.fix] if first.fix else []
        lines += [other.text() for other in others]
        joined = [piece for line in lines for piece in ("\n", line)][1:]
        return cls(first.what, where=first.where, fix=Message(*joined) if others else first.fix)


class MissingExtra(RegardError):
    """A required optional library is not installed."""

    def __init__(self, library: str, extra: str, why: str) -> None:
        super().__init__(
            f"{why} needs {library}, which is not installed.", fix=f"Run: pip install 'regard[{extra}]'"
        )
