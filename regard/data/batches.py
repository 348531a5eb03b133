"""Batches of examples of similar cost, in an order determined by seed and epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from regard.data.batch import Batch
from regard.data.dataset import Dataset
from regard.data.encoding import usual_workers
from regard.data.prefetch import prefetched
from regard.data.ragged import Array
from regard.errors import RegardError

SORTED = 1 << 20
"""Examples whose windows are sorted at once."""
Draw = Callable[[int, np.random.Generator], Array]


class Batches:
    """The batches of any epoch.

    cost         maximum cost of a batch, padding included: number of rows × cost of the costliest row
    rows         maximum number of rows of a batch; at least one of the two limits is required
    seed         determines, with the epoch, the batches and their order
    shuffle      True: shuffle, sort windows of examples by cost, cut them into batches, shuffle the batches. False:
                 sort all examples by cost, longest last; `Batch.rows` holds their indices
    window       number of batches per sorted window. Larger windows need less padding, smaller ones mix lengths
                 better, and 1 sorts within single batches only
    world_size   number of processes that share each batch. Rank r takes rows r, r + world_size, …, so all processes
                 together see the batches that a single process would see
    draw         (epoch, generator) → the examples of an epoch in random order; default: each example once
    vary         apply the augmentation of the columns, determined by seed, epoch and example
    workers      number of threads that prepare batches ahead, 0 for none; default: chosen by the columns. It does not
                 change the batches

    A row that costs more than the limit forms a batch of its own.
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
        """Number of batches in epoch 0; other epochs may differ by a few."""
        return self.count(0)

    def __iter__(self) -> Iterator[Batch]:
        return self.epoch(0)

    def count(self, epoch: int) -> int:
        """Number of batches in an epoch."""
        return len(self.plan(epoch))

    def counts(self, epochs: int) -> list[int]:
        """Number of batches in each of the first epochs. Without `draw`, the number in epoch 0 stands for all."""
        return [self.count(0)] * epochs if self.draw is None else [self.count(one) for one in range(epochs)]

    def epoch(self, epoch: int, start: int = 0, *, rank: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on; earlier ones are not built.

        If a batch has fewer rows than there are processes, each rank without a row receives the first row in a batch
        marked `idle`. Every process takes every step, but the loss of an idle batch must not count.
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
        # A single batch takes less time than starting a thread. Cached encodings only have to be gathered.
        threads = self.workers if self.dataset.lively and len(planned) > 1 else 0
        yield from prefetched(made, planned, threads) if threads else map(made, planned)

    def plan(self, epoch: int) -> list[Array]:
        """The examples of each batch."""
        if not self.shuffle:
            epoch = 0
        if self._plan is None or self._plan[0] != epoch:
            self._plan = epoch, self._shuffled(epoch) if self.shuffle else self._sorted()
        return self._plan[1]

    def _sorted(self) -> list[Array]:
        order = np.argsort(self._ranks(), kind="stable")
        return cut(order, self._costs[order], self.cost, self.rows)

    def _shuffled(self, epoch: int) -> list[Array]:
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.dataset)) if self.draw is None else self.draw(epoch, generator)
        batches: list[Array] = []
        window = self.window * self._usual_rows()
        ranks = self._ranks()
        together = max(1, SORTED // window) * window
        for start in range(0, len(order), together):
            some = order[start : start + together]
            whole = len(some) // window * window
            for part in (some[:whole].reshape(-1, window), some[whole:].reshape(1, -1)):
                # A stable sort of a shuffled order: examples of equal length stay shuffled.
                places = np.argsort(ranks[part], axis=1, kind="stable")
                for examples in np.take_along_axis(part, places, axis=1):
                    batches += cut(examples, self._costs[examples], self.cost, self.rows)
        return [batches[place] for place in generator.permutation(len(batches))]

    def _ranks(self) -> Array:
        """(examples,) ascending with the cost, then with the length."""
        return self._costs * (int(self._lengths.max(initial=0)) + 1) + self._lengths

    def _usual_rows(self) -> int:
        by_cost = len(self._costs) if self.cost is None else int(self.cost / self._costs.mean())
        return max(1, min(by_cost, self.rows or by_cost))


def cut(order: Array, costs: Array, cost: int | None, rows: int | None) -> list[Array]:
    """Cut the order into batches as large as the limits allow. `costs` ascend: the last row of a batch is its
    costliest."""
    total = len(order)
    if cost is None:
        return [order[start : start + (rows or total)] for start in range(0, total, rows or total)]
    ascending, pieces, start = costs.tolist(), [], 0
    while start < total:
        # rows × costliest grows with the number of rows: find the largest number within the limit.
        fits, most = 1, max(1, min(total - start, rows or total, cost // ascending[start]))
        while fits < most:
            middle = (fits + most + 1) // 2
            if middle * ascending[start + middle - 1] <= cost:
                fits = middle
            else:
                most = middle - 1
        pieces.append(order[start : start + fits])
        start += fits
    return pieces


def idle(batch: Batch) -> Batch:
    return Batch(batch.columns, batch.rows, batch.cost, idle=True)
