"""`regard ask`"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from regard.cli.command import Command
from regard.parts.registry import register


@register("command", "ask")
class AskCommand(Command):
    """Ask a server that `regard serve` started.

    \b
    regard ask http://127.0.0.1:8000 "the old man sleeps"
    regard ask http://127.0.0.1:8000 "the old man sleeps" --n-best 3 --trace
    regard ask http://127.0.0.1:8000 "the old man" --stream

    A model with several inputs is asked with  name=text  for each of them.
    """

    heading = "Use"
    order = 170

    @classmethod
    def run(
        cls,
        url: Annotated[str, typer.Argument(metavar="URL", help="Address of the server.")],
        texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="The input.")],
        model: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option("--model", metavar="NAME", help="Default: the first one of the server."),
        ] = None,
        n_best: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option("--n-best", min=1, metavar="N", help="Number of answers."),
        ] = None,
        trace: Annotated[bool, typer.Option("--trace", help="Show where the model looked.")] = False,
        stream: Annotated[bool, typer.Option("--stream", help="Print tokens as they are written.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
        key: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option("--key", envvar="REGARD_API_KEY", metavar="KEY", help="Key of the server."),
        ] = None,
        timeout: Annotated[
            float, typer.Option("--timeout", min=0.001, metavar="S", help="Seconds until the answer.")
        ] = 30.0,
    ) -> None:
        from regard.serve.asking import ask

        ask(
            url,
            texts,
            model=model,
            n_best=n_best,
            trace=trace,
            stream=stream,
            as_json=as_json,
            key=key,
            timeout=timeout,
        )
