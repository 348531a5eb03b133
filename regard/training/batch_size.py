"""`batch_tokens: auto`: the size of a batch by measured throughput, and on a GPU by its memory.

Batches of 125, 250, 500, … padded tokens are timed on a copy of the network: forward, backward and update. The
smallest size whose throughput is within a tenth of the best is chosen, because small batches make more updates of an
epoch. No size is tried that leaves fewer than `UPDATES` updates of an epoch, or needs more than half of the memory of
the GPU. Each batch is computed several times and its shortest time counts: the first time may compile kernels. The
measurement leaves weights and random generators as they were.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn

from regard.data.batch import Batch
from regard.spec.sections import TrainingSpec
from regard.training.ledger import is_out_of_memory
from regard.training.machine import make_accelerator
from regard.training.objective import Updater
from regard.training.optimizers.optimizer import make_optimizer

FIRST = 125
UPDATES = 50
"""Fewest updates of an epoch."""
CLOSE = 0.9
"""Share of the best throughput that is good enough."""
BATCHES, PASSES, SECONDS = 3, 4, 1.0
"""A size is timed with so many batches, so often each, unless that takes longer."""
MEMORY = 0.5
"""Share of a GPU's memory that a batch may need: rows of other epochs may be longer."""


@dataclass(frozen=True)
class TimedSize:
    """A size that was tried: tokens per second, and bytes of memory on a GPU (0 on a CPU)."""

    tokens: int
    throughput: float
    memory: int


@dataclass(frozen=True)
class BatchChoice:
    """The chosen size, what limited it (throughput, memory or updates), and what was measured."""

    tokens: int
    limit: str
    tried: tuple[TimedSize, ...]
    seconds: float


def choose_batch_tokens(
    network: nn.Module,
    batches: Callable[[int], Iterator[Batch]],
    *,
    total: int,
    options: TrainingSpec,
    device: str | None = None,
) -> BatchChoice:
    """Choose the size of a batch.

    batches   gives the batches of an epoch of a size
    total     the tokens of an epoch
    """
    began = time.monotonic()
    accelerator = make_accelerator(options.precision, device)
    where = accelerator.device
    probed = copy.deepcopy(network).to(where).train()
    update = Updater(accelerator, probed, make_optimizer(probed, options.optimizer, options.lr), options.clip)
    whole = torch.cuda.get_device_properties(where).total_memory if where.type == "cuda" else 0
    tried: list[TimedSize] = []
    size, limit = FIRST, "updates"
    while size == FIRST or size * UPDATES <= total:
        try:
            one = _timed(update, batches(size), size, options.lr, where)
        except (RuntimeError, MemoryError) as error:
            if not tried or not is_out_of_memory(error):
                raise
            limit = "memory"
            break
        if whole and one.memory > MEMORY * whole and tried:
            limit = "memory"
            break
        tried.append(one)
        if len(tried) > 2 and one.throughput < 1.05 * max(each.throughput for each in tried[:-2]):
            limit = "throughput"
            break
        size *= 2
    best = max(one.throughput for one in tried)
    chosen = next(one for one in tried if one.throughput >= CLOSE * best)
    if chosen is not tried[-1]:
        limit = "throughput"
    return BatchChoice(chosen.tokens, limit, tuple(tried), time.monotonic() - began)


def _timed(
    update: Updater, batches: Iterator[Batch], size: int, rate: float, device: torch.device
) -> TimedSize:
    """Time some batches of a size, each several times; the first time is not counted."""
    on_gpu = device.type == "cuda"
    few = list(islice(batches, BATCHES))
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    shortest = [float("inf")] * len(few)
    step, began = 0, 0.0
    for number in range(PASSES):
        if number == 1:
            began = time.perf_counter()
        for place, batch in enumerate(few):
            step, start = step + 1, time.perf_counter()
            figures = update([batch], rate, step)
            if on_gpu:
                figures.cpu()
            if number:
                shortest[place] = min(shortest[place], time.perf_counter() - start)
        if number and time.perf_counter() - began > SECONDS:
            break
    cost = sum(batch.cost for batch in few)
    memory = torch.cuda.max_memory_allocated(device) if on_gpu else 0
    return TimedSize(size, cost / max(sum(shortest), 1e-9), memory)
