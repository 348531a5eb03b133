"""`regard score`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Device, Loading, Output, Overrides, Overwrite, Run, Seed, spec_changes
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "score")
class ScoreCommand(Command):
    """Print how probable a model finds given outputs, or each token of a text.

    \b
    regard score runs/g2p attention 'AH T EH N SH AH N'
    regard score runs/g2p -f pairs.tsv
    regard score runs/lm-char -f text.txt

    For a pair: the log-probability of its output, and the perplexity per token of a text.

    From a language model: −log p of each token.
    """

    heading = "Use"
    order = 140
    computes = True

    @classmethod
    def run(
        cls,
        run: Run,
        texts: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Argument(
                metavar="SOURCE TARGET | TEXT",
                help="One pair; for a language model, a text. Default: --file.",
            ),
        ] = None,
        file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--file",
                "-f",
                metavar="FILE",
                help="Pairs, in any format that `train` reads; for a language model, a text.",
            ),
        ] = None,
        output: Output = None,
        overwrite: Overwrite = False,
        overrides: Overrides = None,
        device: Device = None,
        seed: Seed = None,
    ) -> None:
        from regard.cli.scoring import score_pairs

        with outputs({"--output": output}, read=[file], overwrite=overwrite):
            how = Loading(spec_changes(overrides, seed=seed), device)
            score_pairs(run, texts=texts or [], file=file, output=output, how=how)
