"""Early stopping: counts the evaluations in a row without improvement."""

from __future__ import annotations


class Patience:
    """limit: evaluations without a better metric after which the run stops; None: never"""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.waited = 0

    def observe(self, improved: bool) -> None:
        self.waited = 0 if improved else self.waited + 1

    @property
    def exhausted(self) -> bool:
        return self.limit is not None and self.waited >= self.limit
