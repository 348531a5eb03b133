"""`regard describe`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Overrides, Overwrite, Seed, spec_changes
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "describe")
class DescribeCommand(Command):
    """Print a model's data, encoder, decoder, parameters, loss and algorithm, with its equations; or draw the network.

    \b
    regard describe translation
    regard describe translation -o net.svg
    """

    heading = "Look inside"
    order = 230

    @classmethod
    def run(
        cls,
        what: Annotated[
            str,
            typer.Argument(
                metavar="NAME | SPEC.yaml | RUN | FILE",
                help="A system of the zoo, a spec, a trained model, or a file of pairs.",
                show_default=False,
            ),
        ],
        letters: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--as",
                metavar="NOTATION",
                help="Use other symbols, such as 004 for those of lecture 004 (`regard list parts notation`), and show "
                "which parameter and rows hold each weight.",
            ),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="Draw the network here: rolled, unrolled, and inside its cells (.svg .png .pdf .html).",
            ),
        ] = None,
        paths: Annotated[
            bool,
            typer.Option(
                "--paths",
                help="Print which kernels and recordings serve its calls on CPU and CUDA, and why others do not.",
            ),
        ] = False,
        overwrite: Overwrite = False,
        overrides: Overrides = None,
        seed: Seed = None,
    ) -> None:
        from regard import zoo
        from regard.describe import board
        from regard.fitting.pairs import is_data_file, pairs_spec
        from regard.reporting.console import safe_console

        if output is not None:
            from regard.inspect.saving import check_target

            check_target(output)
        with outputs({"--output": output}, overwrite=overwrite):
            changes = spec_changes(overrides, seed=seed)
            spec = pairs_spec(what, changes) if is_data_file(what) else zoo.find(what, changes)
            if paths:
                from regard.model.paths import report

                safe_console().print(report(spec), highlight=False, markup=False, soft_wrap=True)
                return
            safe_console().print(board(spec, what, letters=letters))
            if output is not None:
                from regard.describe import draw
                from regard.inspect.saving import save

                save(draw(spec, what), output)
                safe_console(stderr=True).print(f"wrote {output}", highlight=False, markup=False)
