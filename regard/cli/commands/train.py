"""`regard train`"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from regard.cli.command import BadRows, Command, Device, Overrides, Seed, a_number, spec_changes
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "train")
class TrainCommand(Command):
    """Train a model: a system of the zoo, a spec of your own, or a file of pairs.

    \b
    regard train reverse
    regard train my.yaml --epochs 20 --set encoder.size=512
    regard train words.tsv
    regard train words.tsv --model transformer
    regard train reviews.csv --source text --target label
    regard train sentences.en sentences.de
    regard train reviews.csv --folds 5
    regard train pairs.tsv --unlabeled more-targets.txt
    regard train my.yaml --find-lr
    regard train --resume runs/my
    regard train my.yaml --devices 4
    """

    heading = "Train and measure"
    order = 10
    computes = True

    @classmethod
    def run(
        cls,
        what: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Argument(
                metavar="NAME | SPEC.yaml | FILE",
                help="A system of the zoo, a spec, or data: a table, JSON lines, chats, a CoNLL file, parallel files "
                "A.en B.de, or a folder with one folder of images or texts per class.",
            ),
        ] = None,
        source: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option(
                "--source",
                metavar="COLUMN",
                help="The column of FILE with the inputs, by name or number from 1. Can be repeated for several "
                "inputs. FIRST..LAST: a series of numbers in several columns.",
            ),
        ] = None,
        target: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option("--target", metavar="COLUMN", help="The column of FILE with the outputs."),
        ] = None,
        model: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--model",
                metavar="NAME",
                help="With FILE: the encoder, and the decoder of this name if there is one, such as transformer. "
                "Default: recurrent.",
            ),
        ] = None,
        epochs: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option("--epochs", metavar="N", help="Passes over the data: training.epochs of the spec."),
        ] = None,
        lr: Annotated[
            Optional[float],  # noqa: UP045
            typer.Option(
                "--lr",
                "--learning-rate",
                metavar="RATE",
                callback=a_number,
                help="Learning rate: training.lr.",
            ),
        ] = None,
        batch: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--batch", "--batch-size", metavar="N", help="Rows of a batch: training.batch_rows."
            ),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o", "--output", metavar="RUN", help="Folder of the run, new or empty. Default: runs/NAME."
            ),
        ] = None,
        resume: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("--resume", metavar="RUN", help="Continue a run that was interrupted."),
        ] = None,
        overwrite: Annotated[
            bool,
            typer.Option(
                "--overwrite",
                help="Replace the run in this folder, once the new one has a checkpoint. Your own files in it stay.",
            ),
        ] = False,
        overrides: Overrides = None,
        device: Device = None,
        devices: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--devices",
                metavar="N",
                min=1,
                help="Train with N processes on this machine, one for each GPU, or on the CPU if there are fewer GPUs. "
                "They share each batch.",
            ),
        ] = None,
        unlabeled: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--unlabeled",
                metavar="FILE",
                help="A file without labels to learn from: outputs of texts (a reverse model writes their inputs), or "
                "inputs of labels (a first model labels them).",
            ),
        ] = None,
        find_lr: Annotated[
            bool,
            typer.Option(
                "--find-lr",
                help="Try learning rates on a copy of the model and suggest one; nothing is trained. -o: a figure.",
            ),
        ] = False,
        folds: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--folds",
                metavar="K",
                help="Cross-validation: cut the data into K folds, train K models, each tested on the fold that it has "
                "not seen, and print the mean of their scores with its 95 % interval. Default folder: runs/NAME-folds. "
                "The same command continues what was interrupted.",
            ),
        ] = None,
        seed: Seed = None,
        bad_rows: BadRows = None,
        report: Annotated[
            bool,
            typer.Option("--report/--no-report", help="At the end, write a short report: RUN/report.html."),
        ] = True,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    ) -> None:
        from regard.cli.command import COMMAND_LINE

        if folds is not None and devices is not None:
            raise RegardError(
                "folds are trained one after the other, in one process.",
                where="--folds",
                fix="Leave out --devices.",
            )
        if devices is not None and _launched(devices, device, output or resume):
            return
        from regard.fitting.compiling import train_meanwhile
        from regard.fitting.experiment import Experiment
        from regard.fitting.folds import contains_folds
        from regard.fitting.pairs import parallel
        from regard.training.machine import leave

        if bool(what) == (resume is not None):
            raise RegardError(
                "name what to train, or a run to resume.",
                fix="regard train NAME   or   regard train --resume RUN",
            )
        changes = spec_changes(
            overrides, seed=seed, bad_rows=bad_rows, epochs=epochs, lr=lr, batch=batch, model=model
        )
        _check_alone({"--folds": folds, "--unlabeled": unlabeled, "--find-lr": find_lr or None}, resume)
        if find_lr or unlabeled is not None:
            from regard.cli.probing import LittleRequest, find_learning_rate, train_unlabeled

            wanted = LittleRequest(
                parallel(what or []), changes, source or None, target, output, device, quiet
            )
            if find_lr:
                find_learning_rate(wanted)
            else:
                train_unlabeled(wanted, unlabeled, overwrite=overwrite, report=report)
            return
        if folds is not None or (resume is not None and contains_folds(resume)):
            from regard.cli.folding import FoldsRequest, train_folds

            asked = FoldsRequest(folds, output, resume, overwrite=overwrite, device=device, quiet=quiet)
            train_folds(asked, what or [], changes, source=source or None, target=target)
            return
        if resume is not None:
            _check_resumed(
                resume, columns=bool(source) or target is not None, folder=output is not None or overwrite
            )
            experiment = Experiment.resume(
                resume, overrides=changes, device=device, quiet=quiet, front=COMMAND_LINE
            )
        else:
            experiment = Experiment.start(
                parallel(what or []),
                run=output,
                overrides=changes,
                device=device,
                overwrite=overwrite,
                quiet=quiet,
                source=source or None,
                target=target,
                front=COMMAND_LINE,
            )
        train_meanwhile(experiment)
        leave()
        if report:
            from regard.report import write_after_training

            path = write_after_training(experiment)
            if path is not None:
                experiment.announcer.written("report", path)


def _launched(devices: int, device: str | None, run: Path | None) -> bool:
    """Start the processes of this training and wait for them; False in one of them, and if there is only one."""
    from regard.training import world_size
    from regard.training.launch import end_with_parent, is_launched, launch_here

    if is_launched():
        end_with_parent()
        return False
    if world_size() > 1:
        raise RegardError(
            f"this is one of {world_size()} processes of a launch already.",
            where="--devices",
            fix="Leave out --devices: torchrun and accelerate launch start the processes.",
        )
    if devices == 1:
        return False
    resume = f"regard train --resume {run or 'RUN'} --devices {devices}"
    code = launch_here(sys.argv[1:], devices, device, remedy=f"To go on from the last checkpoint: {resume}")
    if code:
        raise SystemExit(code)
    return True


def _check_alone(options: Mapping[str, Any], resume: Path | None) -> None:
    """Refuse options that each say what to do with the data, if there are two of them, or a run to resume."""
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1 or (given and resume is not None):
        both = " and ".join([*given, *(["--resume"] if resume is not None else [])])
        raise RegardError("these options cannot be combined.", where=both, fix="Leave out one of them.")


def _check_resumed(run: Path, *, columns: bool, folder: bool) -> None:
    """Refuse what a resumed run has already: columns, a folder."""
    if columns:
        raise RegardError("a resumed run keeps its columns.", fix="Leave out --source and --target.")
    if folder:
        raise RegardError(
            "a resumed run continues in its own folder.",
            where="--resume",
            fix="Leave out --output and --overwrite. To start a new run from its weights: "
            f"--set training.start_from={run} -o NEW",
        )
