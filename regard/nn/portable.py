"""Computing with operations that other programs know, while `torch.export` records a module for them.

No kernel of ours is used, rows keep their padding, and recurrences are scans over positions, so that the program
takes any number of rows and positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from regard.private import recorded


class _Switch:
    """Number of open `portably` contexts. A plain number, because a compiler cannot trace what belongs to a thread."""

    open: ClassVar[int] = 0


@contextmanager
def portably() -> Iterator[None]:
    """What `torch.export` records meanwhile consists of operations that other programs know."""
    _Switch.open += 1
    try:
        yield
    finally:
        _Switch.open -= 1


def portable() -> bool:
    """Whether a program for others is being recorded now."""
    return _Switch.open > 0 and recorded()
