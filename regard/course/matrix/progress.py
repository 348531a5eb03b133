"""The progress display of a matrix: the current row, and the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from regard.training import Callback
from regard.training.progress import clock

EVERY = 10.0
"""Seconds between two lines if there is no terminal."""


class Watch(Callback):
    """Follows the training of one row after the other.

    costs   {mechanism: its share of the work}, for all rows to be trained
    """

    def __init__(self, console: Console, costs: dict[str, float], updates: int, metric: str) -> None:
        self.console, self.costs, self.updates, self.metric = console, costs, updates, metric
        self._began = self._last = time.monotonic()
        self._done, self._row, self._step, self._place = 0.0, "", 0, 0
        self._figures = ""
        self._paces: list[float] = []
        self._mark: tuple[float, int] | None = None
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                BarColumn(bar_width=24, style="dim", complete_style="green", finished_style="green"),
                TextColumn("{task.fields[told]}", style="default", markup=False),
                console=console,
                transient=True,
            )
            self._bar.add_task("", total=sum(costs.values()), told="")
            self._bar.start()

    def begin(self, row: str) -> None:
        self._row, self._step, self._figures, self._place = row, 0, "", self._place + 1
        self._paces, self._mark = [], None
        self._show(force=True)

    def end(self, told: str) -> None:
        """Mark the row as finished; `told` is its result as text."""
        self._done += self.costs[self._row]
        self.note(f"{self._row:<12}{told}")

    def on_step(self, figures: dict[str, Any]) -> None:
        now, self._step = time.monotonic(), int(figures["step"])
        if self._mark is not None and self._step > self._mark[1]:
            self._paces.append((now - self._mark[0]) / (self._step - self._mark[1]))
        self._mark = (now, self._step)
        self._figures = f"loss {figures['loss']:.3f}"
        self._show()

    def on_evaluation(self, figures: dict[str, Any]) -> None:
        if self._paces and self._step == int(figures["step"]):
            self._paces.pop()  # the last interval included the evaluation
        self._mark = (time.monotonic(), int(figures["step"]))
        self._figures = f"dev {self.metric} {figures[self.metric]:.4g}"
        self._show()

    def pace(self, otherwise: Callable[[], float]) -> float:
        """Median seconds per update of the current row; `otherwise` if there are none yet."""
        return sorted(self._paces)[len(self._paces) // 2] if self._paces else otherwise()

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, *, force: bool = False) -> None:
        now = time.monotonic()
        done = self._done + self.costs[self._row] * min(self._step / self.updates, 1.0)
        left = self._left(done, now - self._began)
        place = f"{self._row} ({self._place} of {len(self.costs)})"
        parts = [place, f"update {self._step:,}/{self.updates:,}", self._figures, left]
        told = " · ".join(filter(None, parts))
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, told=told)
        elif force or now - self._last >= EVERY:
            self._last = now
            self.note(told)

    def _left(self, done: float, elapsed: float) -> str:
        total = sum(self.costs.values())
        if not done or elapsed < 1.0:
            return f"about {clock(total)} in all" if total > len(self.costs) else ""
        return f"left {clock(elapsed * (total - done) / done)}"
