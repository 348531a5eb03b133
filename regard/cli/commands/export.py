"""`regard export`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Beam, Command, Of, Overrides, Overwrite, Run, spec_changes
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "export")
class ExportCommand(Command):
    """Write a trained model for other programs, with a runner that needs neither torch nor regard.

    \b
    regard export runs/g2p -o g2p-onnx
    python g2p-onnx/run.py attention
    regard export runs/g2p --check

    The export is compared with the model on rows of many lengths; if they differ, nothing is written.
    """

    heading = "Use"
    order = 155
    computes = True

    @classmethod
    def run(
        cls,
        run: Run,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("-o", "--output", metavar="FOLDER", help="Write here. Default: NAME-FORMAT."),
        ] = None,
        to: Annotated[
            str, typer.Option("--to", metavar="FORMAT", help="onnx, torch, aoti or ctranslate2.")
        ] = "onnx",
        check: Annotated[
            bool, typer.Option("--check", help="Write nothing: say for each format whether it is possible.")
        ] = False,
        double: Annotated[
            bool,
            typer.Option(
                "--double",
                help="Compute in double precision, with files twice as large: for large scores, which single "
                "precision rounds.",
            ),
        ] = False,
        of: Of = None,
        beam: Beam = None,
        overrides: Overrides = None,
        overwrite: Overwrite = False,
    ) -> None:
        from regard.export.exporting import export
        from regard.model import load
        from regard.reporting.terminal import say

        model = load(run, device="cpu", overrides=spec_changes(overrides, beam=beam))
        if check:
            for given, option in ((output, "-o"), (double, "--double"), (overwrite, "--overwrite")):
                if given:
                    raise RegardError(
                        f"{option} has no effect: --check writes nothing.", fix="Leave out one of them."
                    )
            cls._check(model, of)
            return
        target = output or Path(f"{run.absolute().name}-{to}")
        say(str(export(model, target, to=to, output=of, double=double, overwrite=overwrite)))

    @classmethod
    def _check(cls, model: object, of: str | None) -> None:
        from regard.export.checking import possible
        from regard.reporting.terminal import say

        for name, reason in possible(model, of):
            say(f"{name}: {reason or 'yes'}")
