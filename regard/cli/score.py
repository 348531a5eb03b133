"""`regard score`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import Device, Loading, Output, Overrides, Overwrite, Run, Seed, spec_changes
from regard.cli.outputs import outputs


def score(
    run: Run,
    texts: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(
            metavar="SOURCE TARGET | TEXT",
            help="One pair, or a text where the model continues texts; default: from --file.",
        ),
    ] = None,
    file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--file", "-f", metavar="FILE", help="Pairs, in any format `train` reads; or a text."),
    ] = None,
    output: Output = None,
    overwrite: Overwrite = False,
    overrides: Overrides = None,
    device: Device = None,
    seed: Seed = None,
) -> None:
    """Log-probability a model gives to outputs you name, and of texts the perplexity per token; of a language model
    how surprising each token of a text is.

    regard score runs/g2p attention 'AH T EH N SH AH N' · regard score runs/g2p -f pairs.tsv
    """
    from regard.cli.scoring import score_pairs

    with outputs({"--output": output}, read=[file], overwrite=overwrite):
        how = Loading(spec_changes(overrides, seed=seed), device)
        score_pairs(run, texts=texts or [], file=file, output=output, how=how)
