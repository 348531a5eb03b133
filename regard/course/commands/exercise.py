"""`regard exercise`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, a_number
from regard.parts.registry import register


@register("command", "exercise")
class ExerciseCommand(Command):
    """Solve exercises of the lectures: write a template, fill it in, have it graded.

    \b
    regard exercise
    regard exercise summing -o summing.py
    regard exercise summing summing.py
    """

    heading = "Learn"
    order = 330

    @classmethod
    def run(
        cls,
        name: Annotated[
            Optional[str],  # noqa: UP045
            typer.Argument(metavar="NAME", help="An exercise. Default: list them all.", show_default=False),
        ] = None,
        answer: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Argument(metavar="ANSWER.py", help="Your file, to be graded.", show_default=False),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("-o", "--output", metavar="FILE.py", help="Write the template into a new file."),
        ] = None,
        hint: Annotated[bool, typer.Option("--hint", help="Print a hint for each question.")] = False,
        seconds: Annotated[
            float,
            typer.Option(
                "--seconds",
                metavar="N",
                min=1.0,
                max=3600.0,
                callback=a_number,
                help="Time limit for your file.",
            ),
        ] = 20.0,
    ) -> None:
        from regard.course.exercising import grade_answer, list_exercises, show_exercise

        if name is None:
            list_exercises(output=output, hint=hint)
        elif answer is not None:
            grade_answer(name, answer, output=output, hint=hint, seconds=seconds)
        else:
            show_exercise(name, output=output, hint=hint)
