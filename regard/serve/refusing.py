"""Why a request is not answered, as a status and a message."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Mapping

from regard.errors import PYTHON, RegardError, Words, said


class Refused(Exception):
    """A request that is answered with an error: its status, and its message, place and remedy."""

    def __init__(
        self,
        status: int,
        message: Words,
        *,
        where: Words = "",
        fix: Words = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status)
        self.status, self.message, self.where, self.fix = status, message, where, fix
        self.headers = dict(headers or {})

    @property
    def told(self) -> dict[str, str]:
        """The message for a person, without characters that control a terminal."""
        from regard.reporting.terminal import LINES, printable

        words = {"message": self.message, "where": self.where, "fix": self.fix}
        return {name: printable(said(one, PYTHON), LINES) for name, one in words.items()}

    @property
    def line(self) -> str:
        """The message in one text."""
        told = self.told
        place = f"{told['where']}: " if told["where"] else ""
        return f"{place}{told['message']}" + (f" {told['fix']}" if told["fix"] else "")


class Busy(Refused):
    """More is waiting than can be answered in time."""

    def __init__(self, seconds: float) -> None:
        wait = max(1, math.ceil(seconds))
        super().__init__(
            429,
            "too many requests are waiting.",
            fix=f"Ask again in {wait} s.",
            headers={"retry-after": str(wait)},
        )


class Gone(Exception):
    """The client has left."""


def refused(error: BaseException) -> Refused:
    """An error as the answer to a request. A bug of ours is printed where the server was started."""
    if isinstance(error, Refused):
        return error
    from regard.cli.main import explained

    told = explained(error)
    if told is None:
        traceback.print_exception(error, file=sys.stderr)
        return Refused(500, f"this is a bug of regard: {type(error).__name__}.", fix="Please report it.")
    status = 422 if isinstance(error, RegardError) else 503 if isinstance(error, MemoryError) else 422
    return Refused(status, told.what, where=told.where, fix=told.fix)
