"""The figures of the last updates, which stay on the device until they are needed, and errors about an update."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

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
        given = options.batch_rows if by_rows else options.batch_tokens
        limit = size if given is None or given == "auto" else given
        raise RegardError(
            f"out of memory with a batch of {len(place.rows)} rows and cost {place.cost}.",
            where=str(place),
            fix=f"Try training.{key}: {max(min(limit, size) // 2, 1)}; training.accumulate: "
            f"{2 * options.accumulate} keeps the update the same.",
        ) from error


@dataclass
class Interval:
    """Sums since the last row of the log: losses and counts of outputs, parts, penalties, norms, updates."""

    totals: list[float] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    norms: float = 0.0
    penalties: float = 0.0
    updates: int = 0
    seconds: float = 0.0

    def add(
        self,
        totals: list[float],
        counts: list[float],
        penalty: float,
        norm: float,
        parts: Mapping[str, float],
    ) -> None:
        if not self.totals:
            self.totals, self.counts = [0.0] * len(totals), [0.0] * len(counts)
        self.totals = [before + new for before, new in zip(self.totals, totals, strict=True)]
        self.counts = [before + new for before, new in zip(self.counts, counts, strict=True)]
        self.parts = {name: self.parts.get(name, 0.0) + value for name, value in parts.items()}
        self.penalties += penalty
        self.norms += norm
        self.updates += 1

    def figures(self, outputs: Mapping[str, float], whose: Mapping[str, str]) -> dict[str, float]:
        """The figures for a row of the log, for outputs {name: weight}; empty if there was no update.

        `loss` is the objective of the updates, per item; several outputs also have a `loss.NAME` each. A
        `penalty` is part of the loss and is listed separately if there is one. So are the named parts of an
        output's loss, per item and unweighted; `whose` maps each part to its output.
        """
        if self.updates == 0:
            return {}
        means = [total / max(count, 1.0) for total, count in zip(self.totals, self.counts, strict=True)]
        weighted = sum(weight * mean for weight, mean in zip(outputs.values(), means, strict=True))
        several = (
            dict(zip((f"loss.{name}" for name in outputs), means, strict=True)) if len(means) > 1 else {}
        )
        penalty = self.penalties / self.updates
        counts = dict(zip(outputs, self.counts, strict=True))
        parts = {name: value / max(counts[whose[name]], 1.0) for name, value in self.parts.items()}
        return {
            "loss": weighted + penalty,
            **several,
            **parts,
            **({"penalty": penalty} if penalty else {}),
            "gradient_norm": self.norms / self.updates,
            "tokens_per_second": sum(self.counts) / max(self.seconds, 1e-9),
        }


class Ledger:
    """Keeps the figures of each update on the device until `settle` fetches all of them in one transfer.

    Checking every loss immediately would make the CPU wait for the accelerator at every step. Checking in
    groups still finds the first bad batch, and no checkpoint is written before the check.
    """

    def __init__(self, *, allow_overflow: bool = False) -> None:
        self.interval = Interval()
        self.outputs: dict[str, float] = {}
        self.parts: dict[str, str] = {}
        self.allow_overflow = allow_overflow
        self._pending: list[tuple[Tensor, BatchPlace]] = []
        self._fetched: deque[tuple[list[float], BatchPlace]] = deque()

    def add(
        self, figures: Tensor, place: BatchPlace, outputs: Mapping[str, float], parts: Mapping[str, str]
    ) -> None:
        """Add the figures of one update, (2·O + P + 2,): totals, counts, parts, penalty, gradient norm.

        outputs   {name: weight}, and `parts` {name: output}, in the order of the figures
        """
        self.outputs, self.parts = dict(outputs), dict(parts)
        self._pending.append((figures, place))

    def settle(self, until: int | None = None) -> None:
        """Add up the figures of all updates, or of those up to number `until`. Raises RegardError at the
        first update whose loss or gradient is not finite."""
        if self._pending:
            rows = torch.stack([figures for figures, _ in self._pending]).tolist()
            self._fetched += zip(rows, (place for _, place in self._pending), strict=True)
            self._pending = []
        while self._fetched and (until is None or self._fetched[0][1].step <= until):
            self._add_up(*self._fetched.popleft())

    def _add_up(self, row: list[float], place: BatchPlace) -> None:
        outputs = len(self.outputs)
        totals, counts, penalty, norm = row[:outputs], row[outputs : 2 * outputs], row[-2], row[-1]
        parts = dict(zip(self.parts, row[2 * outputs : -2], strict=True))
        if not all(map(math.isfinite, (*totals, penalty))):
            raise not_finite("loss", place)
        if not math.isfinite(norm):
            if not self.allow_overflow:
                raise not_finite("gradient", place)
            norm = 0.0  # fp16: the scaler skips this update and lowers its scale
        self.interval.add(totals, counts, penalty, norm, parts)

    def figures(self) -> dict[str, float]:
        return self.interval.figures(self.outputs, self.parts)

    def open_interval(self) -> None:
        self.interval = Interval()

    def state(self) -> dict[str, Any]:
        return {"interval": asdict(self.interval), "outputs": self.outputs, "parts": self.parts}

    def restore(self, state: dict[str, Any]) -> None:
        self.interval, self.outputs = Interval(**state["interval"]), state["outputs"]
        self.parts = state.get("parts", {})
