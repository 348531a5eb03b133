"""The implementation of `regard compare` and `regard evaluate --compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from regard.cli.show_request import ShowRequest
from regard.errors import RegardError
from regard.metrics import Comparison
from regard.metrics.significance import bounds, known
from regard.model import Model
from regard.reporting.console import safe_console
from regard.reporting.terminal import say
from regard.trace import Trace
from regard.trace.prediction import Prediction


def comparison_table(made: Sequence[tuple[str, str, str, Comparison]]) -> Table:
    table = Table(
        box=None, header_style="bold", pad_edge=False, title="paired bootstrap", title_justify="left"
    )
    for head in ("metric", "model", "beside", "difference", "95 %", "p", "wins"):
        table.add_column(head, justify="left" if head in ("metric", "model", "beside") else "right")
    for name, first, other, result in made:
        low, high = result.difference.low, result.difference.high
        table.add_row(
            name,
            other,
            first,
            f"{result.difference.value:+.4g}",
            bounds(low, high) if low != low else f"{low:+.4g} to {high:+.4g}",
            f"{result.p_value:.3f}",
            f"{result.wins:.0%}",
        )
    return table


def comparisons_json(made: Sequence[tuple[str, str, str, Comparison]]) -> list[dict[str, Any]]:
    return [
        {
            "metric": name,
            "first": first,
            "second": other,
            "difference": result.difference.value,
            "low": known(result.difference.low),
            "high": known(result.difference.high),
            "p_value": result.p_value,
            "wins": result.wins,
            "samples": result.difference.samples,
        }
        for name, first, other, result in made
    ]


def draw_side_by_side(
    runs: Sequence[Path],
    request: ShowRequest,
    *,
    of: str | None,
    names: Sequence[str],
    output: Path | None,
    across: int | None,
    device: str | None,
) -> None:
    """One figure with a panel per run for the same input, preceded by the truth if it is known; without a file, a
    figure per run in the terminal."""
    from regard.inspect import compare as draw
    from regard.inspect import figure, save

    if output == Path("-"):
        raise RegardError(
            "a figure cannot be written to standard output.", where="-o", fix="Name a file: -o compare.svg"
        )
    if output is None and across is not None:
        raise RegardError(
            "--across arranges the panels of a figure.", where="--across", fix="Add -o FILE, or leave it out."
        )
    if names and len(names) != len(runs):
        raise RegardError(
            f"received {len(names)} names for {len(runs)} runs, expected one for each.", where="--name"
        )
    models = [Model.load(run, device=device) for run in runs]
    common = [name for name in models[0].spec.outputs if all(name in model.spec.outputs for model in models)]
    if not common or (of is not None and of not in common):
        raise RegardError(
            f"the models have no output {of!r} in common."
            if common
            else "the models have no output in common.",
            where="--of",
            fix=f"They have {', '.join(common)}." if common else "",
        )
    request = request.on_split_of(models[0])
    traces = [_traced(request.by(model, of or common[0])) for model in models]
    titles = names or [run.name for run in runs]
    if output is not None:
        save(draw(list(zip(titles, traces, strict=True)), across=across), output)
        say(str(output))
    else:
        screen = safe_console()
        for title, trace in zip(titles, traces, strict=True):
            screen.print(title, style="bold", highlight=False, markup=False)
            screen.print(figure(trace))
    if output is None and request.target is None:
        _tell_divergences(models, titles, request.given(models[0]), of or common[0])


def _tell_divergences(models: Sequence[Model], titles: Sequence[str], value: Any, output: str) -> None:
    """Where the own answer of each later model first differs from that of the first."""
    from regard.questions.diverging import diverging

    for title, model in zip(titles[1:], models[1:], strict=True):
        for line in diverging(models[0], model, value, output=output).told(titles[0], title):
            say(line)


def _traced(found: Prediction) -> Trace:
    if found.trace is None or not (found.trace.attention or found.trace.structures):
        raise RegardError("this model has no attention to show.", fix="Compare models with attention.")
    return found.trace
