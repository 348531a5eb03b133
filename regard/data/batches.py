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
    """Cut the order into batches as large as the limits allow. `costs` ascend: the last row of a batch is its
    costliest."""
    pieces, start, total = [], 0, len(order)
    while start < total:
        most = min(total - start, rows or total)
        if cost is not None:
            most = max(1, min(most, cost // int(costs[start])))
            sizes = np.arange(1, most + 1)
            # rows × costliest grows with the number of rows: count the sizes within the limit.
            most = max(1, int(np.count_nonzero(sizes * costs[start : start + most] <= cost)))
        pieces.append(order[start : start + most])
        start += most
    return pieces


def idle(batch: Batch) -> Batch:
    return Batch(batch.columns, batch.rows, batch.cost, idle=True)
