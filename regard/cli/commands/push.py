"""`regard push`"""

from __future__ import annotations

from typing import Annotated

import typer

from regard.cli.command import Command, Run
from regard.parts.registry import register


@register("command", "push")
class PushCommand(Command):
    """Share a trained model: weights, spec, vocabularies, card and metrics.

    No row of the data, no local folder and no training state is shared. Vocabularies, classes and the list of
    candidates are part of the model.

    \b
    regard push runs/g2p me/g2p

    Then load it anywhere with regard.load("hf:me/g2p").
    """

    heading = "Use"
    order = 150

    @classmethod
    def run(
        cls,
        run: Run,
        target: Annotated[
            str,
            typer.Argument(
                metavar="OWNER/NAME | folder:PATH",
                help="A repository of the Hugging Face Hub, or a folder.",
                show_default=False,
            ),
        ],
        private: Annotated[
            bool, typer.Option("--private", help="Make the repository private, if it is new.")
        ] = False,
    ) -> None:
        from regard.runs.sharing import push as share

        typer.echo(f'regard.load("{share(run, target, private=private)}")')
