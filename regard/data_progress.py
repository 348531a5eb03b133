"""What a person sees while data are read or measured: "encoding corpus.txt: 34 %", once that takes longer than a
moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from regard.console import safe_console
from regard.watching import watching

AFTER = 2.0
"""Seconds of reading before anything is shown: most data are prepared by then."""
EVERY = 10.0
"""Seconds between two lines, where there is no terminal."""


class DataProgress:
    """How far the files of the data are read, or rows are measured, on standard error: a bar that goes again in a
    terminal, elsewhere a line now and then.

    Data are read several times, to cut or to hold out, to fit the columns, and to encode. The moments of all of these
    add up to those after which something is shown.
    """

    def __init__(self, console: Console | None = None, *, silent: bool = False) -> None:
        self.console = console or safe_console(stderr=True)
        self.silent = silent
        self._spent = self._began = 0.0
        self._last = -EVERY
        self._doing = ""
        self._bar: Bar | None = None
        self._task = TaskID(-1)

    @contextmanager
    def shown(self, doing: str) -> Iterator[None]:
        """Show what is read inside, as "DOING FILE: 34 %", and what is measured."""
        if self.silent:
            yield
            return
        self._doing, self._began = doing, time.monotonic()
        try:
            with watching(self._tell):
                yield
        finally:
            self._spent += time.monotonic() - self._began
            self._doing = ""
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _tell(self, doing: str, what: str, share: float) -> None:
        now = time.monotonic()
        if not self._doing or self._spent + now - self._began < AFTER:
            return  # too soon; or the file was left open, and is read on by something else
        told = f"{doing or self._doing} {what}: {100 * share:.0f} %"
        if self.console.is_terminal:
            self._draw(told, share)
        elif now - self._last >= EVERY:
            self._last = now
            self.console.print(told, highlight=False, markup=False, soft_wrap=True)

    def _draw(self, told: str, share: float) -> None:
        if self._bar is None:
            self._bar = make_bar(self.console)
            self._task = self._bar.add_task("", total=1.0, told=told)
            self._bar.start()
        self._bar.update(self._task, completed=share, told=told)


def make_bar(console: Console) -> Bar:
    """A bar with the field `told` of its task beside it, in the terminal's own colors; gone when it stops."""
    return Bar(
        BarColumn(
            bar_width=24, style="dim", complete_style="green", finished_style="green", pulse_style="green"
        ),
        TextColumn("{task.fields[told]}", style="default", markup=False),
        console=console,
        refresh_per_second=4,
        transient=True,
        get_time=time.monotonic,
    )
