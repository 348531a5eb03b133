"""The implementations of `regard train --find-lr` and `regard train --unlabeled`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from regard.cli.command import COMMAND_LINE
from regard.errors import RegardError, Setting
from regard.fitting.compiling import train_meanwhile
from regard.fitting.experiment import Experiment, inferred, name_of_run
from regard.fitting.unlabeled import start_with_unlabeled
from regard.inspect.rates import rates_figure
from regard.reporting.console import safe_console
from regard.runs.run import RunFolder


@dataclass(frozen=True)
class LittleRequest:
    """What to train, as the command line says it."""

    what: str
    changes: Sequence[str]
    source: list[str] | None
    target: str | None
    output: Path | None
    device: str | None = None
    quiet: bool = False


def find_learning_rate(asked: LittleRequest) -> None:
    """Try learning rates, draw the loss, and print a suggestion."""
    from regard.inspect.saving import check_target, save

    if asked.output is not None:
        check_target(asked.output)
    described = inferred(asked.what, asked.changes, source=asked.source, target=asked.target)
    with tempfile.TemporaryDirectory(prefix="regard-rate-") as folder:
        experiment = Experiment(
            described.spec, Path(folder) / "run", device=asked.device, quiet=asked.quiet, front=COMMAND_LINE
        )
        try:
            found = experiment.find_rate()
        finally:
            experiment.close()
    console = safe_console()
    figure = rates_figure(found.rates, found.losses, found.smoothed, suggestion=found.suggestion)
    if asked.output is not None:
        save(figure, asked.output)
        console.print(f"the figure is in [bold]{escape(str(asked.output))}[/bold]", highlight=False)
    elif not asked.quiet:
        console.print(figure)
    setting = Setting("training.lr", found.suggestion).said(COMMAND_LINE)
    console.print(
        f"suggested learning rate {found.suggestion:g}, a tenth of that with the lowest loss ({found.lowest:.2g}); "
        f"the spec has {described.spec.training.lr:g}   {setting}",
        highlight=False,
        soft_wrap=True,
    )


def train_unlabeled(asked: LittleRequest, file: Path | None, *, overwrite: bool, report: bool) -> None:
    """Train with a file without labels."""
    if file is None or not file.is_file():
        raise RegardError("there is no file here.", where=f"--unlabeled {file}", fix="Name a file of texts.")
    described = inferred(asked.what, asked.changes, source=asked.source, target=asked.target)
    run = asked.output or Path("runs") / name_of_run(asked.what, described.spec)
    folder = RunFolder.start(run, overwrite=overwrite)
    try:
        experiment = start_with_unlabeled(
            described.spec,
            file,
            folder,
            device=asked.device,
            quiet=asked.quiet,
            notes=described.notes,
            warnings=described.warnings,
            front=COMMAND_LINE,
        )
    except BaseException:
        folder.close()
        raise
    train_meanwhile(experiment)
    if report:
        from regard.report import write_after_training

        path = write_after_training(experiment)
        if path is not None:
            experiment.announcer.written("report", path)
