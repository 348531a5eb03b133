"""The implementation of `regard train --folds`: train the folds, and print a table of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from regard.cli.command import COMMAND_LINE
from regard.errors import RegardError
from regard.fitting.experiment import inferred, name_of_run
from regard.fitting.folds import SIGN, CrossValidation, Folds
from regard.fitting.pairs import parallel
from regard.metrics.significance import bounds
from regard.reporting.console import safe_console


@dataclass(frozen=True)
class FoldsRequest:
    """What the command line says about folds."""

    count: int | None
    output: Path | None
    resumed: Path | None
    overwrite: bool = False
    device: str | None = None
    quiet: bool = False


def train_folds(
    asked: FoldsRequest,
    what: Sequence[str],
    changes: Sequence[str],
    *,
    source: Sequence[str] | None,
    target: str | None,
) -> None:
    """Train all folds, and print their scores."""
    console = safe_console(quiet=asked.quiet)
    try:
        found = _folds(asked, what, changes, source=source, target=target).run()
    except (KeyboardInterrupt, SystemExit):
        console.print("the folds stopped; the same command continues them", highlight=False)
        raise
    console.print(folds_table(found))
    console.print(
        f"the folds are in [bold]{escape(str(found.folder))}[/bold], their scores in {SIGN}", highlight=False
    )


def _folds(
    asked: FoldsRequest,
    what: Sequence[str],
    changes: Sequence[str],
    *,
    source: Sequence[str] | None,
    target: str | None,
) -> Folds:
    if asked.resumed is not None:
        if changes or source or target or asked.count or asked.output or asked.overwrite:
            raise RegardError(
                "resumed folds keep their settings and their folder.",
                where="--resume",
                fix="Leave out all other options but --device and --quiet.",
            )
        return Folds.resume(asked.resumed, device=asked.device, quiet=asked.quiet, front=COMMAND_LINE)
    name = parallel(list(what))
    described = inferred(name, changes, source=list(source) if source else None, target=target)
    folder = asked.output or Path("runs") / f"{name_of_run(name, described.spec)}-folds"
    return Folds.of(
        described,
        asked.count or 0,
        folder.expanduser(),
        overwrite=asked.overwrite,
        device=asked.device,
        quiet=asked.quiet,
        front=COMMAND_LINE,
    )


def folds_table(found: CrossValidation) -> Table:
    """The scores of each fold, their means and intervals."""
    table = Table(box=None, header_style="bold", pad_edge=False, title="test", title_justify="left")
    table.add_column("fold", style="cyan")
    means = found.scores
    for name in means:
        table.add_column(escape(name), justify="right")
    for split in found.folds[0].rows:
        table.add_column(f"{split} rows", justify="right", style="dim")
    for one in found.folds:
        scores = [f"{one.scores[name]:.4f}" for name in means]
        table.add_row(str(one.number), *scores, *(f"{count:,}" for count in one.rows.values()))
    table.add_row("mean", *(f"{mean.value:.4f}" for mean in means.values()), style="bold")
    table.add_row("95 %", *(bounds(mean.low, mean.high) for mean in means.values()))
    return table
