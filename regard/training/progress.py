"""Display of the training progress: a bar in a terminal, lines elsewhere, or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Literal

from rich.console import Console
from rich.progress import TaskID

from regard.reporting.console import make_bar, safe_console

WARMUP = 5
"""Updates ignored by the estimate of the time left, because they compile kernels and first read files."""
KEPT = 256
"""Maximum number of recorded times. Above it every other one is dropped."""


class Progress:
    """Shows nothing; subclasses show more. `total` is the last step, None if it is not known."""

    def start(self, step: int, total: int | None) -> None:
        """The run starts or is resumed after `step` updates."""

    def update(self, step: int, epoch: int, loss: float, tokens_per_second: float) -> None:
        """Figures of the last few updates."""

    def evaluated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        """The development set has been evaluated."""

    def note(self, text: str) -> None:
        """Show a message."""

    def stop(self) -> None:
        """The run has ended, successfully or not."""


class Estimate:
    """Estimate of the time left from the later half of the updates: the earlier half compiles new shapes."""

    def __init__(self) -> None:
        self.total: int | None = None
        self._first = 0
        self._marks: list[tuple[float, int]] = []

    def start(self, step: int, total: int | None) -> None:
        self.total, self._first, self._marks = total, step, []

    def update(self, step: int, now: float) -> None:
        if step - self._first < WARMUP:
            return
        self._marks.append((now, step))
        if len(self._marks) > KEPT:
            self._marks = [*self._marks[:-1:2], self._marks[-1]]

    def left(self, now: float) -> float | None:
        """Seconds left; None if it cannot be estimated yet."""
        if self.total is None or len(self._marks) < 2:
            return None
        latest, step = self._marks[-1]
        middle = (self._first + step) / 2
        begun, first = max((mark for mark in self._marks[:-1] if mark[1] <= middle), default=self._marks[0])
        if step <= first:
            return None
        return max(0.0, (self.total - step) * (latest - begun) / (step - first) - (now - latest))


def clock(seconds: float) -> str:
    """0:41, 12:05, 3:00:07"""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class LineProgress(Progress):
    """A line every few seconds, for logs and pipes."""

    def __init__(self, console: Console | None = None, *, every: float = 10.0) -> None:
        self.console = console or safe_console(stderr=True)
        self.every = every
        self._estimate = Estimate()
        self._began = self._last = 0.0

    def start(self, step: int, total: int | None) -> None:
        self._estimate.start(step, total)
        self._began = self._last = time.monotonic()

    def update(self, step: int, epoch: int, loss: float, tokens_per_second: float) -> None:
        now = time.monotonic()
        self._estimate.update(step, now)
        if now - self._last < self.every:
            return
        self._last = now
        total = self._estimate.total
        parts = [f"step {step}" + (f"/{total}" if total else ""), f"epoch {epoch}", f"loss {loss:.4f}"]
        parts += [f"{tokens_per_second:,.0f} tokens/s", f"elapsed {clock(now - self._began)}"]
        left = self._estimate.left(now)
        self.note(" · ".join([*parts, *([] if left is None else [f"left {clock(left)}"])]))

    def evaluated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        self.note(f"step {step}  dev {describe_metrics(metrics)}{'  (best so far)' if improved else ''}")

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class BarProgress(Progress):
    """One bar with labeled figures, which disappears when the run ends."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or safe_console(stderr=True)
        self._estimate = Estimate()
        self._began = 0.0
        self._bar = make_bar(self.console)
        self._told = _Told(self._tell)
        self._figures: list[str] = []
        self._task = TaskID(-1)

    def start(self, step: int, total: int | None) -> None:
        self._estimate.start(step, total)
        self._began = time.monotonic()
        self._figures = [f"step {step}" + (f"/{total}" if total else ""), "starting"]
        self._task = self._bar.add_task("", total=total, completed=step, told=self._told)
        self._bar.start()

    def update(self, step: int, epoch: int, loss: float, tokens_per_second: float) -> None:
        self._estimate.update(step, time.monotonic())
        total = self._estimate.total
        self._figures = [
            f"step {step}" + (f"/{total}" if total else ""),
            f"epoch {epoch}",
            f"loss {loss:.4f}",
            f"{tokens_per_second:,.0f} tokens/s",
        ]
        self._bar.update(self._task, completed=step)

    def _tell(self) -> str:
        """The current text: the clock advances between two updates."""
        now = time.monotonic()
        left = self._estimate.left(now)
        times = [f"elapsed {clock(now - self._began)}", *([] if left is None else [f"left {clock(left)}"])]
        return " · ".join([*self._figures, *times])

    def evaluated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        self._bar.update(self._task, completed=step)
        self.note(f"step {step}  dev {describe_metrics(metrics)}{'  (best so far)' if improved else ''}")

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def stop(self) -> None:
        self._bar.stop()


class _Told:
    """A text that is created when it is formatted."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __format__(self, how: str) -> str:
        return self._make()


def describe_metrics(metrics: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())


def make_progress(
    kind: Literal["auto", "bar", "lines", "silent"] = "auto", console: Console | None = None
) -> Progress:
    """`auto`: a bar in a terminal, lines otherwise."""
    console = console or safe_console(stderr=True)
    if kind == "silent":
        return Progress()
    if kind == "bar" or (kind == "auto" and console.is_terminal):
        return BarProgress(console)
    return LineProgress(console)
