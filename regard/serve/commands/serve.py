"""`regard serve`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Device
from regard.parts.registry import register


@register("command", "serve")
class ServeCommand(Command):
    """Answer requests over HTTP with trained models. Ctrl-C or SIGTERM ends it, after accepted requests are answered.

    \b
    regard serve runs/translation --port 8000
    regard serve runs/translation runs/g2p --key-file keys.txt --host 0.0.0.0

    POST /predict and /stream answer JSON, /v2 is the Open Inference Protocol of KServe and Triton; /docs tells all.
    The server listens on this machine only (127.0.0.1), unless --host says otherwise; then it asks for a key, which
    --key-file or the variable REGARD_API_KEY gives.
    """

    heading = "Use"
    order = 160
    computes = True

    @classmethod
    def run(
        cls,
        runs: Annotated[
            list[Path],
            typer.Argument(metavar="RUN", help="Folder of a trained model.", show_default=False),
        ],
        host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
        port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 8000,
        workers: Annotated[
            int, typer.Option("--workers", min=1, max=256, help="Processes that share the loaded models.")
        ] = 1,
        max_batch: Annotated[int, typer.Option("--max-batch", min=1, help="Rows computed together.")] = 64,
        max_wait: Annotated[
            float, typer.Option("--max-wait", min=0, help="Milliseconds that a row waits for others.")
        ] = 2.0,
        queue: Annotated[int, typer.Option("--queue", min=1, help="Rows that wait; more get 429.")] = 256,
        timeout: Annotated[
            float,
            typer.Option("--timeout", min=0.001, help="Seconds until an answer, if a request names none."),
        ] = 30.0,
        body: Annotated[int, typer.Option("--max-body", min=1, help="Bytes of a request.")] = 4 << 20,
        length: Annotated[int, typer.Option("--max-length", min=1, help="Characters of an input.")] = 5_000,
        key_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("--key-file", metavar="FILE", help="Keys of clients, one in each line."),
        ] = None,
        everybody: Annotated[
            bool, typer.Option("--open", help="Answer other machines without a key.")
        ] = False,
        log: Annotated[
            str,
            typer.Option(
                "--log", metavar="FILE", help="A line of JSON for each request; - is standard error."
            ),
        ] = "",
        log_inputs: Annotated[bool, typer.Option("--log-inputs", help="Log the inputs too.")] = False,
        device: Device = None,
    ) -> None:
        from regard.errors import RegardError
        from regard.serve.options import read_keys
        from regard.serve.running import serve

        keys = read_keys(key_file)
        if not keys and not everybody and host not in ("127.0.0.1", "localhost", "::1"):
            raise RegardError(
                f"whoever reaches this machine at {host} would be answered.",
                where="--host",
                fix="Give keys with --key-file, or pass --open.",
            )
        serve(
            runs,
            host=host,
            port=port,
            workers=workers,
            device=device,
            max_batch=max_batch,
            max_wait=max_wait / 1000,
            queue=queue,
            timeout=timeout,
            max_timeout=max(300.0, timeout),
            body=body,
            length=length,
            rows=min(256, queue),
            keys=keys,
            log=log,
            log_inputs=log_inputs,
        )
