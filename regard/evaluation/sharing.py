"""Batches divided among the processes of a training, and their results in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from torch import distributed

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Sharing:
    """One of several processes that share work.

    rank    the number of this process, from 0
    count   the number of processes
    """

    rank: int = 0
    count: int = 1

    @classmethod
    def of_all(cls) -> Sharing:
        """All connected processes."""
        return cls(distributed.get_rank(), distributed.get_world_size())

    def results(self, items: Iterable[Item], make: Callable[[Item], Made]) -> Iterator[Made]:
        """`make` of each item, in order, in every process; each item is computed by one of them.

        The items are taken in rounds, one for each process, so that few results are held at a time. All processes must
        pass the same items.
        """
        if self.count == 1:
            yield from map(make, items)
            return
        remaining = iter(items)
        while taken := list(islice(remaining, self.count)):
            mine = [make(taken[self.rank])] if self.rank < len(taken) else []
            everyone: list[Any] = [None] * self.count
            distributed.all_gather_object(everyone, mine)
            for made in everyone:
                yield from made


ALONE = Sharing()
