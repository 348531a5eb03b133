"""Batches: examples of similar cost together, in an order that the seed and the epoch determine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from regard.data.ahead import ahead, usual_workers
from regard.data.batch import Batch
from regard.data.dataset import Dataset
from regard.data.ragged import Array
from regard.errors import RegardError

Draw = Callable[[int, np.random.Generator], Array]


class Batches:
    """The batches of any epoch.

    cost         most a batch may cost, padding included: rows times the costliest row (tokens of the longest text)
    rows         most rows in a batch; at least one of the two limits is needed
    seed         with the epoch it determines everything
    shuffle      True: shuffle, sort windows of examples by cost, cut, shuffle the batches. False: sort all, longest
                 last; `Batch.rows` tells which examples a batch holds
    window       batches' worth of examples that are sorted together: more waste less padding, fewer mix lengths better,
                 1 mixes them fully
    world_size   processes that share each batch: rank r takes rows r, r + world_size, …, so that any number of
                 processes sees the same batches together as one does alone
    draw         (epoch, generator) → the examples of an epoch in random order; default: each of them once
    vary         columns vary their values (augmentation), as the seed, the epoch and the example determine
    workers      threads that make batches ahead, 0: none; default: as many as seem right. The batches are the same

    A row that costs more than the limit is a batch by itself.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        cost: int | None = None,
        rows: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
        window: int = 16,
        world_size: int = 1,
        vary: bool = False,
        workers: int | None = None,
        draw: Draw | None = None,
    ) -> None:
        for name, limit in (("cost", cost), ("rows", rows), ("window", window), ("world_size", world_size)):
            if limit is not None and limit < 1:
                raise RegardError(f"{name} is {limit}, expected at least 1.", where="batches")
        if cost is None and rows is None:
            raise RegardError(
                "neither cost nor rows limits a batch.", where="batches", fix="Give one of them."
            )
        self.dataset, self.cost, self.rows = dataset, cost, rows
        self.seed, self.shuffle, self.window, self.world_size = seed, shuffle, window, world_size
        self.vary, self.draw = vary, draw
        self.workers = usual_workers(dataset.columns.values()) if workers is None else workers
        self._costs = np.maximum(dataset.costs, 1).astype(np.int64)
        cached = [dataset.lengths(name) for name, column in dataset.columns.items() if column.cached]
        self._lengths: Array = np.sum(cached, axis=0) if cached else self._costs
        self._plan: tuple[int, list[Array]] | None = None

    def __len__(self) -> int:
        """Number of batches in epoch 0; others may differ by a few."""
        return self.count(0)

    def __iter__(self) -> Iterator[Batch]:
        return self.epoch(0)

    def count(self, epoch: int) -> int:
        """Number of batches in an epoch."""
        return len(self.plan(epoch))

    def counts(self, epochs: int) -> list[int]:
        """Number of batches in each of the first epochs: that of epoch 0, unless the rows are drawn anew."""
        return [self.count(0)] * epochs if self.draw is None else [self.count(one) for one in range(epochs)]

    def epoch(self, epoch: int, start: int = 0, *, rank: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on; those before it are not made.

        Where a batch has fewer rows than there are processes, the ranks that go without get its first row once
        more, in a batch that says `idle`: every process takes every step, but its loss must not count.
        """
        if not 0 <= rank < self.world_size:
            raise RegardError(f"rank is {rank}, expected 0 to {self.world_size - 1}.", where="batches")
        varied = (self.seed, epoch) if self.vary else None

        def made(examples: Array) -> Batch:
            part = examples[rank :: self.world_size]
            if len(part):
                return self.dataset.batch(part, varied=varied)
            return idle(self.dataset.batch(examples[:1], varied=varied))

        planned = self.plan(epoch)[start:]
        # A single batch is made sooner than a thread is started; encoded texts only have to be gathered.
        threads = self.workers if self.dataset.lively and len(planned) > 1 else 0
        yield from ahead(made, planned, threads)

    def plan(self, epoch: int) -> list[Array]:
        """The examples of each batch."""
        if not self.shuffle:
            epoch = 0
        if self._plan is None or self._plan[0] != epoch:
            self._plan = epoch, self._shuffled(epoch) if self.shuffle else self._sorted()
        return self._plan[1]

    def _sorted(self) -> list[Array]:
        order = np.lexsort((self._lengths, self._costs))
        return cut(order, self._costs[order], self.cost, self.rows)

    def _shuffled(self, epoch: int) -> list[Array]:
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.dataset)) if self.draw is None else self.draw(epoch, generator)
        batches: list[Array] = []
        window = self.window * self._usual_rows()
        for start in range(0, len(order), window):
            part = order[start : start + window]
            # A stable sort of a shuffled order: examples of equal length stay shuffled.
            part = part[np.lexsort((self._lengths[part], self._costs[part]))]
            batches += cut(part, self._costs[part], self.cost, self.rows)
        return [batches[place] for place in generator.permutation(len(batches))]

    def _usual_rows(self) -> int:
        by_cost = len(self._costs) if self.cost is None else int(self.cost / self._costs.mean())
        return max(1, min(by_cost, self.rows or by_cost))


def cut(order: Array, costs: Array, cost: int | None, rows: int | None) -> list[Array]:
    """Pieces of the order, as long as the limits allow; `costs` rise, so the last row of a piece is its costliest."""
    pieces, start, total = [], 0, len(order)
    while start < total:
        most = min(total - start, rows or total)
        if cost is not None:
            most = max(1, min(most, cost // int(costs[start])))
            sizes = np.arange(1, most + 1)
            # rows × costliest rises with the number of rows: count how many sizes stay within the limit.
            most = max(1, int(np.count_nonzero(sizes * costs[start : start + most] <= cost)))
        pieces.append(order[start : start + most])
        start += most
    return pieces


def idle(batch: Batch) -> Batch:
    return Batch(batch.columns, batch.rows, batch.cost, idle=True)
