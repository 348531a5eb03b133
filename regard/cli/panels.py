"""`regard show --panel`, and traces as files: written by `regard show -o x.trace`, drawn by `regard show x.trace`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.command import Loading
from regard.cli.outputs import file_of
from regard.errors import RegardError
from regard.inspect import Card, PageSection, figure, page, save
from regard.inspect.titles import headline
from regard.inspect.trace_panels import stacked
from regard.reporting.console import safe_console
from regard.reporting.terminal import say
from regard.trace import Panel, Trace

if TYPE_CHECKING:
    from regard.cli.show_request import ShowRequest

RECORD = ("states", "beam", "potentials", "times")
PAGES = (".html", ".htm")


def is_trace(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() == ".trace"


def show_panels(
    run: Path, request: ShowRequest, panel: str | None, *, of: str | None, output: Path | None, how: Loading
) -> None:
    """Show the panels of a name for each output, or write whole traces."""
    from regard.cli.loading import load_any
    from regard.model import LanguageModel

    model = load_any(run, how)
    if isinstance(model, LanguageModel):
        write_panels(model.trace(request.line), panel, output)
        if output is not None:
            say(str(output))
        return
    request = replace(request.on_split_of(model), record=RECORD)
    names = list(model.spec.outputs) if of is None else [model.output_name(of)]
    for name in names:
        found = request.by(model, name)
        if found.trace is None:
            continue
        path = None if output is None else file_of(output, name, names)
        write_panels(found.trace, panel, path)
        if path is not None:
            say(f"{found.text}\n{path}")


def show_saved(path: Path, panel: str | None, output: Path | None) -> None:
    """Draw a saved trace, without its model."""
    trace = Trace.load(path)
    write_panels(trace, panel or "figure", output)
    if trace.left_out:
        say(f"left out of the file, which would have been too large: {', '.join(trace.left_out)}")
    if output is not None:
        say(str(output))


def write_panels(trace: Trace, panel: str | None, path: Path | None) -> None:
    """The panels of a name, in the terminal or in a file; the whole trace, if the file is one."""
    if path is not None and is_trace(path):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            trace.save(path)
        for one in told:
            say(str(one.message))
        return
    chosen = chosen_panels(trace, panel or "figure")
    if path is None:
        _print(chosen, trace)
    elif path.suffix.lower() in PAGES:
        steps = [
            PageSection(one.title, steps=[Card(step) for step in one.steps]) for one in chosen if one.steps
        ]
        still = [PageSection(one.title, figures=[one.scene]) for one in chosen if one.scene is not None]
        save(page(headline(trace) or panel or "trace", [*still, *steps]), path)
    else:
        scenes = [one.scene if one.scene is not None else one.steps[-1] for one in chosen]
        save(stacked(scenes, [one.title for one in chosen]), path)


def chosen_panels(trace: Trace, name: str) -> Sequence[Panel]:
    """The panels with this name, or whose names begin with it and a colon."""
    panels = trace.panels()
    found = [one for one in panels if one.name == name or one.name.startswith(f"{name}:")]
    if not found:
        raise RegardError(
            f"there is no panel {name!r}.",
            where="--panel",
            fix=f"Choose from {', '.join(one.name for one in panels)}.",
        )
    return found


def _print(chosen: Sequence[Panel], trace: Trace) -> None:
    screen = safe_console()
    for one in chosen:
        if len(chosen) > 1:
            screen.print(f"\n{one.title}", style="bold", highlight=False, markup=False)
        if one.scene is not None:
            screen.print(figure(trace) if one.name == "figure" else one.scene)
        for number, step in enumerate(one.steps, 1):
            screen.print(f"step {number} of {len(one.steps)}", style="dim", highlight=False)
            screen.print(step)
