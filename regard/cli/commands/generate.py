"""`regard generate`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from regard.cli.command import (
    Answers,
    Command,
    Device,
    Grammar,
    Must,
    Never,
    Output,
    Overwrite,
    Regex,
    Run,
    Seed,
    a_number,
)
from regard.cli.outputs import outputs
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "generate")
class GenerateCommand(Command):
    """Let a language model continue a text.

    \b
    regard generate runs/lm-char
    regard generate runs/lm-char --prompt 'The "while" statement' --length 500 --temperature 0.8 --seed 3
    regard generate runs/lm-char --length 40 --regex "[a-z ]+[.]"
    regard generate runs/lm-word --prompt 'The function' --next 5
    """

    heading = "Use"
    order = 120
    computes = True

    @classmethod
    def run(
        cls,
        run: Run,
        prompt: Annotated[
            str,
            typer.Option(
                "--prompt", metavar="TEXT", help="The beginning of the text. Default: the model begins it."
            ),
        ] = "",
        length: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--length", min=0, metavar="N", help="Tokens to draw. Default: from the spec, or 200."
            ),
        ] = None,
        temperature: Annotated[
            Optional[float],  # noqa: UP045
            typer.Option(
                "--temperature",
                metavar="T",
                callback=a_number,
                help="Below 1, likely tokens become likelier; 0 always draws the likeliest. Default: from the spec.",
            ),
        ] = None,
        top_k: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--top-k", metavar="K", help="Draw among the K likeliest tokens; 0 draws among all."
            ),
        ] = None,
        top_p: Annotated[
            Optional[float],  # noqa: UP045
            typer.Option(
                "--top-p",
                metavar="P",
                callback=a_number,
                help="Draw among the likeliest tokens that together have probability P.",
            ),
        ] = None,
        following: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--next",
                min=1,
                metavar="N",
                help="Instead, print the N most probable next tokens, each after its probability.",
            ),
        ] = None,
        must: Must = None,
        never: Never = None,
        regex: Regex = None,
        grammar: Grammar = None,
        answers: Answers = None,
        output: Output = None,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--json",
                metavar="FILE",
                help="Write text, log-probability and options here; -: standard output.",
            ),
        ] = None,
        overwrite: Overwrite = False,
        device: Device = None,
        seed: Seed = None,
    ) -> None:
        from regard.cli.continuing import generate_text, list_following

        if following is not None:
            drawing = {
                "--length": length, "--temperature": temperature, "--top-k": top_k, "--top-p": top_p, "--seed": seed,
                "--must": must, "--never": never, "--regex": regex, "--grammar": grammar, "--answers": answers,
            }  # fmt: skip
            for option, given in drawing.items():
                if given is not None and given != []:
                    raise RegardError(
                        f"{option} has no effect: --next draws no tokens.",
                        where=option,
                        fix=f"Leave {option} out.",
                    )
            with outputs({"--output": output, "--json": json_file}, overwrite=overwrite):
                list_following(run, prompt, following, output=output, json_file=json_file, device=device)
            return
        options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        if must or never or regex or grammar or answers:
            from regard.cli.constraining import given_constraints

            options["constraint"] = given_constraints(must, never, None, regex, grammar, answers)
        with outputs({"--output": output, "--json": json_file}, overwrite=overwrite):
            generate_text(
                run, prompt, length=length, options=options, output=output, json_file=json_file, device=device
            )
