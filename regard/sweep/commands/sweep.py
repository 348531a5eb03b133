"""`regard sweep`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import BadRows, Command, Device, Overrides, Seed, spec_changes
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "sweep")
class SweepCommand(Command):
    """Search over settings: train many, and keep the one that is best on dev.

    \b
    regard sweep my.yaml --vary encoder.size=64..512 --vary training.lr=1e-4..1e-2:log --trials 50
    regard sweep reverse --vary encoder.cell=gru,lstm --vary encoder.size=32..128:32 --sampler grid
    regard sweep words.tsv --vary decoder.dropout=0..0.5 --seeds 3 --pruner median -o sweeps/words
    regard sweep my.yaml --storage postgresql://user@host/sweeps -o sweeps/my

    The same command continues a sweep that was interrupted, and joins one that runs: on this machine, or, with
    --storage, on others. Test is looked at once, at the end, for the best setting alone.
    """

    heading = "Train and measure"
    order = 15
    computes = True

    @classmethod
    def run(
        cls,
        what: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Argument(
                metavar="NAME | SPEC.yaml | FILE",
                help="What to train, as for `regard train`.",
                show_default=False,
            ),
        ] = None,
        vary: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option(
                "--vary",
                metavar="KEY.PATH=RANGE",
                help="A setting and its values: 64..512, 64..512:64 (steps), 1e-4..1e-2:log, or gru,lstm (choices). "
                "Can be repeated.",
            ),
        ] = None,
        trials: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--trials",
                min=1,
                metavar="N",
                help="Settings to try, in all processes together. Default: 20.",
            ),
        ] = None,
        seeds: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--seeds", min=1, metavar="N", help="Seeds for each setting; their mean decides. Default: 1."
            ),
        ] = None,
        sampler: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--sampler", metavar="NAME", help="tpe, random, grid, qmc, gp or cmaes. Default: tpe."
            ),
        ] = None,
        pruner: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--pruner",
                metavar="NAME",
                help="Which trials end early: none, median, halving or hyperband. Default: none.",
            ),
        ] = None,
        metric: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--metric", metavar="NAME", help="The dev metric that decides. Default: training.metric."
            ),
        ] = None,
        storage: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--storage",
                metavar="URL",
                help="A database that other machines reach, such as postgresql://… Default: SQLite in the folder.",
            ),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o", "--output", metavar="FOLDER", help="Folder of the sweep. Default: sweeps/NAME."
            ),
        ] = None,
        source: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option("--source", metavar="COLUMN", help="As for `regard train`."),
        ] = None,
        target: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option("--target", metavar="COLUMN", help="As for `regard train`."),
        ] = None,
        model: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option("--model", metavar="NAME", help="With FILE: as for `regard train`."),
        ] = None,
        epochs: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option("--epochs", metavar="N", help="Passes over the data: training.epochs of the spec."),
        ] = None,
        overrides: Overrides = None,
        device: Device = None,
        seed: Seed = None,
        bad_rows: BadRows = None,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    ) -> None:
        from regard.fitting.pairs import parallel
        from regard.sweep import start
        from regard.sweep.ranges import typed_ranges

        if not what:
            raise RegardError("name what to train.", fix="regard sweep my.yaml --vary encoder.size=64..512")
        found = start(
            parallel(what),
            vary=typed_ranges(vary or []),
            trials=trials,
            seeds=seeds,
            sampler=sampler,
            pruner=pruner,
            storage=storage,
            metric=metric,
            output=output,
            changes=spec_changes(overrides, seed=seed, bad_rows=bad_rows, epochs=epochs, model=model),
            source=source or (),
            target=target,
            device=device,
            quiet=quiet,
        )
        if found.best is None:
            reasons = list(dict.fromkeys(one.reason for one in found.trials if one.reason))
            raise RegardError(
                f"no trial is done; the first reason: {reasons[0] if reasons else 'all were pruned'}",
                where=str(found.folder),
                fix=f"All reasons are in {found.page}",
            )
