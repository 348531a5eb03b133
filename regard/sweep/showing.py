"""What a sweep prints: a live table in a terminal, else a line for each trial that this process ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from statistics import stdev
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from regard.reporting.console import safe_console
from regard.sweep.result import SweepResult, SweepTrial, sweep_of
from regard.sweep.study import SweepStudy, Taken

ROWS = 12
"""Trials of the live table: the best, and the latest others."""
EVERY = 2.0
"""Seconds between two readings of the study."""
COLORS = {"done": "default", "running": "cyan", "pruned": "yellow", "failed": "red", "waiting": "dim"}


class Shown:
    """Prints for one process; this one prints lines."""

    def __init__(self, study: SweepStudy, console: Console) -> None:
        self.study, self.console = study, console

    def interrupted(self) -> None:
        """This process stops before the sweep is done."""
        self.console.print("the sweep stopped; the same command continues it", highlight=False)

    def ended(self, taken: Taken, seconds: float) -> None:
        """A trial of this process has ended."""
        found = sweep_of(self.study)
        one = next((each for each in found.trials if each.number == taken.number), None)
        if one is None:
            return
        best = found.best
        beside = (
            ""
            if best is None or best.number == one.number
            else f"   best {best.value:.4g} (trial {best.number})"
        )
        self.console.print(
            f"trial {one.number}  {told(found.metric, one)}  {settings(one)}  {seconds:.1f} s{beside}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    def end(self, found: SweepResult) -> None:
        """The best setting, its scores, and the command that trains it alone."""
        say = self.console.print
        best = found.best
        if best is None:
            return
        spread = f" ± {stdev(best.seeds.values()):.2g}" if len(best.seeds) > 1 else ""
        say(
            f"[bold]best[/bold]  trial {best.number} of {len(found.trials)}: dev {found.metric} "
            f"{best.value:.4g}{spread}   {escape(settings(best))}",
            highlight=False,
            soft_wrap=True,
        )
        if found.test:
            say(f"[bold]test[/bold]  {escape(tested(found))}", highlight=False, soft_wrap=True)
        say(f"      {best.command}", highlight=False, markup=False, soft_wrap=True)
        if found.page is not None:
            say(f"the page is in [bold]{escape(str(found.page))}[/bold]", highlight=False, soft_wrap=True)


class LiveTable(Shown):
    """A table of the study that is drawn anew while it runs."""

    def __init__(self, study: SweepStudy, console: Console) -> None:
        super().__init__(study, console)
        self.live = Live(console=console, refresh_per_second=2, transient=True)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="regard-sweep-table", daemon=True)

    def start(self) -> None:
        self.live.start()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self.live.stop()

    def ended(self, taken: Taken, seconds: float) -> None:
        """The table shows it."""

    def _watch(self) -> None:
        while True:
            with suppress(Exception):  # a table that cannot be drawn must not end the sweep
                self.live.update(table_of(sweep_of(self.study), self.study.plan.trials))
            if self._stop.wait(EVERY):
                return


@contextmanager
def make_shown(study: SweepStudy, *, quiet: bool) -> Iterator[Shown]:
    """A live table in a terminal, lines elsewhere, nothing if quiet."""
    console = safe_console(quiet=quiet)
    if quiet or not console.is_terminal:
        yield Shown(study, console)
        return
    table = LiveTable(study, console)
    table.start()
    try:
        yield table
    finally:
        table.stop()


def table_of(found: SweepResult, wanted: int) -> Table:
    """The best trial and the latest others."""
    count = {state: len([one for one in found.trials if one.state == state]) for state in COLORS}
    states = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    table = Table(
        title=f"{len(found.trials)} of {wanted} trials: {states or 'none yet'}", title_justify="left"
    )
    paths = list(dict.fromkeys(path for one in found.trials for path in one.values))
    for name in ("trial", f"dev {found.metric}", *paths, "seconds", "state"):
        table.add_column(escape(name), justify="right" if name in ("trial", "seconds") else "left")
    latest = [one for one in reversed(found.trials) if found.best is None or one.number != found.best.number]
    shown = ([found.best] if found.best else []) + latest[: ROWS - 1]
    for one in shown:
        cells: list[Any] = [
            str(one.number),
            "" if one.value is None else f"{one.value:.4g}",
            *(escape(one.values.get(path, "")) for path in paths),
            "" if one.seconds is None else f"{one.seconds:.0f}",
            escape(one.state if not one.reason else f"failed: {one.reason[:60]}"),
        ]
        is_best = found.best is not None and one.number == found.best.number
        table.add_row(*cells, style="bold green" if is_best else COLORS[one.state])
    return table


def told(metric: str, one: SweepTrial) -> str:
    """The value of a trial, or what became of it."""
    if one.value is not None:
        return f"dev {metric} {one.value:.4g}"
    return f"failed: {one.reason}" if one.reason else one.state


def settings(one: SweepTrial) -> str:
    """The settings of a trial in a line."""
    return " ".join(f"{path}={value}" for path, value in one.values.items())


def tested(found: SweepResult) -> str:
    """The test scores of the best, as means over its seeds."""
    names = list(next(iter(found.test.values()), {}))
    means = {name: sum(one[name] for one in found.test.values()) / len(found.test) for name in names}
    return "   ".join(f"{name} {value:.4g}" for name, value in means.items())
