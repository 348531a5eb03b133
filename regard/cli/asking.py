"""`regard show --why` and `--like`: questions about one step of an answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from regard.cli.command import Loading
from regard.cli.loading import load
from regard.cli.outputs import file_of
from regard.cli.show_request import ShowRequest
from regard.errors import RegardError
from regard.model import Model
from regard.reporting.console import safe_console
from regard.reporting.terminal import printable, say


def show_why(
    run: Path,
    request: ShowRequest,
    word: str,
    step: int | None,
    *,
    of: str | None,
    grid: bool,
    output: Path | None,
    how: Loading,
) -> None:
    """The least change of attention that makes the model say a word, in the terminal or as a figure."""
    from regard.inspect import save, side_by_side
    from regard.questions.why import why
    from regard.questions.why_figure import why_scenes

    model, value, name = _asked(run, request, of, how, "--why")
    found = why(model, value, word, step, output=name)
    scenes = why_scenes(found, style="grid" if grid else "smooth")
    lines = [printable(str(found))]
    if found.found and found.edits:
        lines.append(f"--look '{found.look}'")
    if output is not None:
        path = file_of(output, name, [name])
        save(side_by_side(scenes), path)
        say("\n".join([*lines, str(path)]))
        return
    screen = safe_console()
    for scene in scenes:
        screen.print(scene)
    for line in lines:
        screen.print(line, highlight=False, markup=False, soft_wrap=True)


def show_like(
    run: Path, request: ShowRequest, step: int | None, *, of: str | None, how: Loading, count: int = 5
) -> None:
    """The training rows whose states are nearest to one step of the answer."""
    from regard.questions.like import like

    model, value, name = _asked(run, request, of, how, "--like")
    answer = model.predict(value, output=name)
    at = 0 if step is None else step
    found = like(model, value, at, count=count, output=name, progress=_counted)
    pieces = [] if answer.trace is None else list(answer.trace.output)
    said = f", piece {at}: {pieces[at]}" if len(pieces) > 1 else ""
    say(f"{answer.text}{said}")
    say("1 − cosine of the states; in brackets what the training row writes there:")
    for one in found:
        say(f"{one}")


def _counted(done: int, rows: int) -> None:
    """The number of training rows that are read, on the line of a terminal; erased at the end."""
    if sys.stderr.isatty():
        told = f"{done:,} of {rows:,} training rows" if done < rows else ""
        print(f"\r\x1b[K{told}", end="", file=sys.stderr, flush=True)


def _asked(
    run: Path, request: ShowRequest, of: str | None, how: Loading, option: str
) -> tuple[Model, Any, str]:
    """The model, the input and the output of a question."""
    for other, given in (
        ("--look", request.look),
        ("--target", request.target),
        ("--samples", request.samples),
    ):
        if given:
            raise RegardError(
                f"{option} asks about the model's own answer.", where=other, fix=f"Leave out {other}."
            )
    model = load(run, how, Model)
    request = request.on_split_of(model)
    return model, request.given(model), model.output_name(of)
