"""Figures of `regard show` for one input: the attention, the heads, or the surprisal of a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from regard.cli.command import Loading
from regard.cli.loading import load_any
from regard.cli.outputs import file_of
from regard.cli.show_request import ShowRequest
from regard.errors import RegardError
from regard.inspect.drawings.drawing import Style, drawing_for
from regard.model import LanguageModel
from regard.model.override import check_sampled
from regard.reporting.console import safe_console
from regard.reporting.terminal import say
from regard.trace import Trace


def show_trace(
    run: Path,
    request: ShowRequest,
    *,
    of: str | None = None,
    grid: bool = False,
    output: Path | None,
    how: Loading,
    faithful: bool = False,
) -> None:
    """Show the figure of each output, or of the output `of`, in the terminal or as a file. Attention to images is
    smoothed, or drawn as a grid. `faithful`: with signs on weights without effect, and a table of the pieces."""
    from regard.inspect import before_and_after, figure, save, side_by_side

    model = load_any(run, how)
    if isinstance(model, LanguageModel):
        from regard.cli.continuing import show_self_attention, show_surprise

        _check_text_alone(request, grid=grid)
        if model.decoder.looks_at_itself and request.line:
            show_self_attention(model, request.line, output)
        else:
            show_surprise(model, request.line, output)
        return
    request = request.on_split_of(model)
    style: Style = "grid" if grid else "smooth"
    names = list(model.spec.outputs) if of is None else [model.output_name(of)]
    if request.look is not None and len(names) > 1:
        raise RegardError(
            f"--look works with one output. Which of {', '.join(names)}?",
            where="--look",
            fix=f"--of {names[0]}",
        )
    for name in names:
        found, told = request.by(model, name), None
        request.tell_own(model, name)
        if faithful:
            from regard.cli.faithfulness import examined_answer

            found, told = examined_answer(model, request.given(model), found, name)
        if found.trace is None:
            continue
        if request.samples:
            check_sampled(found)
        _check_shown(found.trace, grid=grid)
        scenes = [figure(found.trace, style=style)]
        if request.look is not None:
            before = request.untold(model, name)
            scenes = before_and_after(before.trace or found.trace, found.trace, style=style)
        if output is not None:
            path = file_of(output, name, names)
            page = path.suffix.lower() in (".html", ".htm") and request.look is None
            save(
                found.trace.html() if page else scenes[0] if len(scenes) == 1 else side_by_side(scenes), path
            )
            say(f"{found.text}\n{path}")
        else:
            screen = safe_console()
            for scene in scenes:
                screen.print(scene)
            if not math.isnan(found.score):
                screen.print(f"log p {found.score:.3f}", highlight=False)
            if told is not None:
                screen.print(told)


def _check_text_alone(request: ShowRequest, *, grid: bool) -> None:
    """Refuse options that do not apply to a language model, whose only figure is the shaded text."""
    given = {
        "--row": request.row is not None,
        "--target": request.target is not None,
        "--samples": bool(request.samples),
        "--look": request.look is not None,
        "--grid": grid,
    }
    for option, used in given.items():
        if used:
            raise RegardError(
                "this model reads no input; `regard show` marks the surprising tokens of a text.",
                where=option,
                fix="Give only a text.",
            )


def _check_shown(trace: Trace, *, grid: bool) -> None:
    """Refuse options that have no effect on this figure."""
    seen = [drawing_for(one) for one in trace.seen.values()]
    if grid and not any(one is not None and one.gridded for one in seen):
        raise RegardError("this model reads no image or video.", where="--grid", fix="Leave out --grid.")


def show_heads(
    run: Path,
    request: ShowRequest,
    layers: Sequence[str] | None,
    *,
    of: str | None = None,
    output: Path | None,
    how: Loading,
) -> None:
    """Show the attention of each head of all layers, or of the given `layers` (names or numbers), for each output that
    has heads."""
    if request.look is not None:
        raise RegardError(
            "--heads shows the model's own attention, without an override.",
            where="--heads",
            fix="Leave out --look.",
        )
    model = load_any(run, how)
    if isinstance(model, LanguageModel):
        from regard.cli.continuing import show_self_attention

        _check_text_alone(request, grid=False)
        show_self_attention(model, request.line, output, heads=True, layers=layers)
        return
    request = request.on_split_of(model)
    names = list(model.spec.outputs) if of is None else [model.output_name(of)]
    found = {name: request.by(model, name) for name in names}
    shown = {
        name: (one, one.trace) for name, one in found.items() if one.trace is not None and one.trace.heads
    }
    if not shown:
        raise RegardError(
            "this model has no attention heads to show: no layer has several heads.",
            where="--heads",
            fix="Leave out --heads and --layer to see the attention.",
        )
    for name, (answer, trace) in shown.items():
        if output is None:
            trace.print(heads=True, layers=layers)
            print(f"log p {answer.score:.3f}")
        else:
            path = file_of(output, name, list(shown))
            trace.save(path, heads=True, layers=layers)
            say(f"{answer.text}\n{path}")
