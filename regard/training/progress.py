"""What a person sees while a model trains: a bar in a terminal, lines elsewhere, or nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar


class Progress:
    """Shows nothing; the others say more. `total` is the last step, None when nobody knows it yet."""

    def start(self, step: int, total: int | None) -> None:
        """The run begins, or begins again, after `step` updates."""

    def update(self, step: int, epoch: int, loss: float, tokens_per_second: float) -> None:
        """Figures of the last few updates."""

    def evaluated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        """The development set has been measured."""

    def note(self, text: str) -> None:
        """Something a person should know."""

    def stop(self) -> None:
        """The run is over, one way or another."""


class LineProgress(Progress):
    """A line now and then, for logs and pipes."""

    def __init__(self, console: Console | None = None, *, every: float = 10.0) -> None:
        self.console = console or Console(stderr=True)
        self.every = every
        self.total: int | None = None
        self._begin: tuple[float, int] = (time.monotonic(), 0)
        self._last = 0.0

    def start(self, step: int, total: int | None) -> None:
        self.total = total
        self._begin = (time.monotonic(), step)
        self._last = time.monotonic()

    def update(self, step: int, epoch: int, loss: float, tokens_per_second: float) -> None:
        now = time.monotonic()
        if now - self._last < self.every:
            return
        self._last = now
        of = f"/{self.total}" if self.total else ""
        self.note(
            f"step {step}{of}  epoch {epoch}  loss {loss:.4f}  {tokens_per_second:,.0f} tokens/s{self._left(step, now)}"
        )

    def _left(self, step: int, now: float) -> str:
        began, first = self._begin
        if self.total is None or step <= first:
            return ""
        seconds = (self.total - step) * (now - began) / (step - first)
        return f"  {seconds // 60:.0f}:{seconds % 60:02.0f} left"

    def evaluated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        self.note(f"step {step}  {describe_metrics(metrics)}{'  (best so far)' if improved else ''}")

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class BarProgress(Progress):
    """One bar with loss, speed, time left and the last evaluation."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._bar = Bar(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}"),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("[green]{task.fields[measured]}"),
            console=self.console,
            refresh_per_second=4,
        )
        self._task = TaskID(-1)

    def start(self, step: int, total: int | None) -> None:
        self._task = self._bar.add_task("", total=total, completed=step, epoch=1, figures="", measured="")
        self._bar.start()

    def update(self, step: int, epoch: int, loss: float, tokens_per_second: float) -> None:
        figures = f"loss {loss:.4f}  {tokens_per_second:,.0f} tokens/s"
        self._bar.update(self._task, completed=step, epoch=epoch, figures=figures)

    def evaluated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        text = describe_metrics(metrics)
        self._bar.update(self._task, completed=step, measured=text)
        self.note(f"step {step}  {text}{'  (best so far)' if improved else ''}")

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def stop(self) -> None:
        self._bar.stop()


def describe_metrics(metrics: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())


def make_progress(
    kind: Literal["auto", "bar", "lines", "silent"] = "auto", console: Console | None = None
) -> Progress:
    """`auto`: a bar where there is a terminal to draw it on, lines otherwise."""
    console = console or Console(stderr=True)
    if kind == "silent":
        return Progress()
    if kind == "bar" or (kind == "auto" and console.is_terminal):
        return BarProgress(console)
    return LineProgress(console)
