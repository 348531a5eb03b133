"""What is shown while something runs: a rich console that prints only printable text, and the progress of long work.

A separate module from `regard.reporting.terminal`, because commands that draw nothing do not load rich.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar
from rich.segment import Segment

from regard.reporting.terminal import LINES, printable, watching

AFTER = 2.0
"""Seconds before anything is shown: most data are prepared by then."""
EVERY = 10.0
"""Seconds between two lines, without a terminal."""


def safe_console(**options: Any) -> Console:
    """A rich console that prints only printable text."""
    made = Console(**options)
    made.push_render_hook(_Printable())
    return made


class _Printable(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Cleaned(one) for one in renderables]


class _Cleaned:
    def __init__(self, content: ConsoleRenderable) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return _cleaned(console.render(self.content, options), console.encoding)


def _cleaned(segments: Iterable[Segment], encoding: str) -> Iterable[Segment]:
    for text, style, control in segments:
        # a link is a control sequence too, with an address from the text
        style = style.update_link(None) if style is not None and style.link else style
        yield Segment(text if control else _encodable(printable(text, LINES), encoding), style, control)


def _encodable(text: str, encoding: str) -> str:
    """The text with escapes for what the output cannot encode, such as … in ASCII."""
    if encoding.startswith("utf"):
        return text
    return text.encode(encoding, "backslashreplace").decode(encoding)


class DataProgress:
    """Progress of reading files or evaluating rows on standard error: a temporary bar in a terminal,
    elsewhere a line every EVERY seconds.

    Data are read several times: to split, to fit the columns, and to encode. The times of all passes count
    toward AFTER.
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
        """Show the files read inside the context, as "DOING FILE: 34 %", and the rows evaluated."""
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
            return  # too soon, or a file left open is read outside of `shown`
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
    """A temporary bar in the terminal's colors, with the field `told` of its task beside it."""
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
