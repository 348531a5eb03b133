"""`regard faithful`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Beam, Command, Device, Loading, Of, Overrides, Overwrite, Seed, spec_changes
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "faithful")
class FaithfulCommand(Command):
    """Measure whether the attention tells what the answers depend on.

    \b
    regard faithful runs/g2p
    regard faithful runs/softmax runs/segments -o faithful.svg
    regard faithful runs/caption --rows 20 -o faithful.json

    Positions of the input are removed in the order of their attention, and the probability of the output is computed
    again, beside random orders, leave-one-out and gradient × input. docs/faithfulness.md tells what each measure says.
    """

    heading = "Look inside"
    order = 230

    @classmethod
    def run(
        cls,
        runs: Annotated[
            list[Path], typer.Argument(metavar="RUN", help="Folders of trained models.", show_default=False)
        ],
        rows: Annotated[
            int, typer.Option("--rows", min=1, metavar="N", help="Number of rows to examine, the first ones.")
        ] = 100,
        split: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--split",
                metavar="NAME",
                help="The split of the data. Default: test, or dev if there is none.",
            ),
        ] = None,
        remove: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--remove",
                metavar="delete|mask|zero",
                help="How a position is removed: delete it and encode the input anew, put the unknown word in its "
                "place, or give it no attention. In an image, delete and mask fill its cell with the mean color. "
                "Default: delete, where the input can be written without a position.",
            ),
        ] = None,
        normalize: Annotated[
            str,
            typer.Option(
                "--normalize",
                metavar="short|all|none",
                help="Normalized AOPC of short inputs (up to 8 positions, exact), of all (slow), or of none.",
            ),
        ] = "short",
        draws: Annotated[
            int, typer.Option("--draws", min=1, metavar="N", help="Random orders for each answer.")
        ] = 5,
        quick: Annotated[
            bool,
            typer.Option(
                "--quick",
                help="Leave out the comparators, soft measures, normalized AOPC and replaced attention.",
            ),
        ] = False,
        of: Of = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="Write a figure here (.svg .png .pdf .html), or all numbers (.json; - for standard output).",
            ),
        ] = None,
        beam: Beam = None,
        overwrite: Overwrite = False,
        overrides: Overrides = None,
        device: Device = None,
        seed: Seed = None,
    ) -> None:
        from regard.cli.faithfulness import FaithfulRequest, measure_faithfulness

        request = FaithfulRequest(
            rows, split, remove, normalize, draws, 1 if seed is None else seed, of, quick
        )
        how = Loading(spec_changes(overrides, beam=beam, seed=seed), device)
        with outputs({"--output": output}, overwrite=overwrite):
            measure_faithfulness(runs, request, output, how)
