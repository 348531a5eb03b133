"""Errors for values that are not finite and for running out of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from regard.data.batch import Batch
from regard.errors import RegardError
from regard.spec.sections import TrainingSpec

SHOWN = 8
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate")


@dataclass(frozen=True)
class BatchPlace:
    """A global batch: its epoch and number (both from 0), its update, and its rows and cost in this process.

    locate   gives the origin of a row of the dataset ("train.tsv:17"), if it is known
    """

    epoch: int
    batch: int
    step: int
    rows: tuple[int, ...]
    cost: int
    locate: Callable[[int], str] | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls, epoch: int, batch: int, step: int, pieces: Sequence[Batch], locate: Callable[[int], str] | None
    ) -> BatchPlace:
        first, *others = pieces
        rows = first.rows + tuple(row for piece in others for row in piece.rows)
        return cls(epoch, batch, step, rows, max(piece.cost for piece in pieces), locate)

    def __str__(self) -> str:
        name = self.locate or (lambda row: str(row))
        rows = ", ".join(name(row) for row in self.rows[:SHOWN])
        more = f" and {len(self.rows) - SHOWN} more" if len(self.rows) > SHOWN else ""
        return f"epoch {self.epoch + 1}, batch {self.batch + 1} (step {self.step}), rows {rows}{more}"


def not_finite(what: str, place: BatchPlace) -> RegardError:
    return RegardError(
        f"the {what} is not a finite number (NaN or infinite); training stops here; the last checkpoint is intact.",
        where=str(place),
        fix="Look at those rows; then lower training.lr or training.clip, give training.schedule.warmup, "
        "or use precision fp32.",
    )


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in OUT_OF_MEMORY)


@contextmanager
def explain_out_of_memory(place: BatchPlace, options: TrainingSpec) -> Iterator[None]:
    """Turn an out-of-memory error into advice: half of this batch's size, and twice the accumulation."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        by_rows = options.batch_rows is not None
        key, size = ("batch_rows", len(place.rows)) if by_rows else ("batch_tokens", place.cost)
        limit = (options.batch_rows if by_rows else options.batch_tokens) or size
        raise RegardError(
            f"out of memory with a batch of {len(place.rows)} rows and cost {place.cost}.",
            where=str(place),
            fix=f"Try training.{key}: {max(min(limit, size) // 2, 1)}; training.accumulate: "
            f"{2 * options.accumulate} keeps the update the same.",
        ) from error
