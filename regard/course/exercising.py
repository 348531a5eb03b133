"""The implementation of `regard exercise`: list exercises, show one, write its template, grade an answer."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.course.exercises import exercise, grade, names, write_template
from regard.errors import RegardError
from regard.reporting.console import safe_console


def list_exercises(*, output: Path | None, hint: bool) -> None:
    """List every exercise with its title and its place in the lectures."""
    if output is not None or hint:
        raise RegardError("name the exercise.", where="regard exercise", fix=f"Known: {', '.join(names())}.")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    table.add_column(style="dim", no_wrap=True)
    for name in names():
        found = exercise(name)
        table.add_row(Text(name), Text(found.title), Text(", ".join(found.entries)))
    console = safe_console()
    console.print(table)
    console.print(
        "\n[dim]regard exercise NAME -o FILE.py[/dim] writes a template, [dim]regard exercise NAME FILE.py[/dim] "
        "grades it, [dim]--hint[/dim] helps."
    )


def show_exercise(name: str, *, output: Path | None, hint: bool) -> None:
    """Print the task, its questions and how to start; write the template if a file is named."""
    found, console = exercise(name), safe_console(highlight=False)
    if output is not None:
        write_template(name, output)
        console.print(Text(f"{output}: fill it in, then  regard exercise {name} {output}"))
        return
    console.print(Text(found.title, style="bold"))
    console.print(Text(found.task))
    for number, question in enumerate(found.questions, 1):
        console.print(Padding(Text(f"{number}. {question.title}"), (0, 0, 0, 4)))
        if hint:
            console.print(Padding(Text(question.hint, style="cyan"), (0, 0, 0, 7)))
    lectures = ", ".join(f"regard lecture {entry}" for entry in found.entries)
    console.print(Text(f"From the lectures: {lectures}", style="dim"))
    console.print(Text(f"Begin with: regard exercise {name} -o {name}.py", style="dim"))


def grade_answer(name: str, answer: Path, *, output: Path | None, hint: bool, seconds: float) -> None:
    """Print right or wrong for each question, with line, cause and hint if it is wrong. Exit with 1 unless all are
    right."""
    if output is not None or hint:
        raise RegardError(
            "FILE, --output and --hint cannot be combined: they grade a file, write a template, and print hints.",
            where="regard exercise",
            fix=f"regard exercise {name} {answer}",
        )
    found, console = grade(name, answer, seconds=seconds), safe_console(highlight=False)
    for number, mark in enumerate(found.marks, 1):
        line = Text(f"{number}. ")
        word, style = (
            ("right", "green") if mark.right else ("open", "yellow") if mark.open else ("wrong", "bold red")
        )
        line.append(f"{word:<7}", style=style)
        line.append(mark.title)
        console.print(line)
        if mark.cause:
            place = f"{mark.place}: " if mark.place else ""
            console.print(Padding(Text(f"{place}{mark.cause}"), (0, 0, 0, 10)))
        if mark.hint:
            console.print(Padding(Text(mark.hint, style="cyan"), (0, 0, 0, 10)))
    if found.printed:
        console.print(Text("Your file printed:", style="dim"))
        console.print(Padding(Text(found.printed), (0, 0, 0, 4)))
    right = sum(mark.right for mark in found.marks)
    console.print(Text(f"{right} of {len(found.marks)} right", style="bold"))
    if any(mark.open for mark in found.marks):
        console.print(Text(f"Hints: regard exercise {name} --hint", style="dim"))
    if not found.right:
        raise typer.Exit(1)
