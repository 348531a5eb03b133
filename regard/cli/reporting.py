"""The report of `regard evaluate`: tables, a figure, JSON, predictions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from regard.cli.command import COMMAND_LINE
from regard.cli.outputs import STANDARD, write_output
from regard.data.readers.row import readable
from regard.errors import RegardError, said
from regard.evaluation import Evaluation
from regard.metrics import ByGroup, ByLength
from regard.metrics.significance import bounds, known
from regard.model.saving import versions
from regard.reporting.console import safe_console

TOGETHER = " + "
"""Separator between the names of the models of an ensemble."""


@dataclass(frozen=True)
class EvaluationReport:
    """What to report besides the table of all scores.

    by_length     tables by the length of the input
    length_of     the input whose length counts; default: the longest one of each row
    by            tables by one or two columns
    compare       compare each model with the first, by paired bootstrap
    plot          a figure by length, or by the columns of `by`
    json          all scores
    predictions   inputs, outputs and references
    """

    by_length: bool = False
    length_of: str | None = None
    by: Sequence[str] = ()
    compare: bool = False
    plot: Path | None = None
    json: Path | None = None
    predictions: Path | None = None

    @property
    def files(self) -> dict[str, Path | None]:
        """{option: the file it names}"""
        return {"--plot": self.plot, "--json": self.json, "--predictions": self.predictions}

    def give(self, found: dict[str, Evaluation], data: Sequence[str] = ()) -> None:
        """Print and write the report; `data` are the named files or splits."""
        # Tables must not mix with the data on standard output.
        console = safe_console(stderr=STANDARD in (self.json, self.predictions))
        console.print(score_table(found, data or split_of(found)))
        for line in signatures(found):  # whole, so that one can be copied
            console.print(escape(line), style="table.caption", highlight=False, soft_wrap=True)
        for remark in dict.fromkeys(remark for evaluation in found.values() for remark in evaluation.remarks):
            console.print(
                f"[yellow]{escape(said(remark, COMMAND_LINE))}[/yellow]", highlight=False, soft_wrap=True
            )
        print_labels(found, console)
        groups = {name: evaluation.by(self.by) for name, evaluation in found.items()} if self.by else {}
        lengths = self.by_length or (self.plot is not None and not self.by)
        curves = {name: lengths_of(one, self.length_of) for name, one in found.items()} if lengths else {}
        measured = next(iter(found.values())).measured_length(self.length_of) if found else ""
        for name, group in groups.items():
            console.print(group_table(name, group))
        if self.by_length:
            for name, curve in curves.items():
                console.print(length_table(name, curve, measured))
        if self.plot is not None:
            draw_groups(groups, self.plot) if groups else draw(curves, self.plot, measured)
            console.print(f"the figure is in [bold]{escape(str(self.plot))}[/bold]", highlight=False)
        compared = self._compared(found, console)
        if self.json is not None:
            figures = as_json(found, curves, groups) | compared
            write_output(self.json, json.dumps(figures, ensure_ascii=False, indent=1) + "\n")
        if self.predictions is not None:
            write_predictions(found, self.predictions)

    def _compared(self, found: dict[str, Evaluation], console: Console) -> dict[str, Any]:
        if not self.compare:
            return {}
        from regard.cli.comparing import comparison_table, comparisons_json
        from regard.evaluation import comparisons

        made = comparisons(found)
        console.print(comparison_table(made))
        return {"comparisons": comparisons_json(made)}


def split_of(found: dict[str, Evaluation]) -> list[str]:
    """The split that was measured if none was named."""
    return list(dict.fromkeys(evaluation.split for evaluation in found.values()))


def score_table(found: dict[str, Evaluation], data: Sequence[str]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, title=", ".join(data), title_justify="left")
    table.add_column("model", style="cyan")
    names = list(dict.fromkeys(name for evaluation in found.values() for name in evaluation.scores))
    for name in names:
        table.add_column(name, justify="right")
    counted = "tokens" if any(evaluation.tokens for evaluation in found.values()) else "rows"
    table.add_column(counted, justify="right", style="dim")
    for model, evaluation in found.items():
        cells = [
            f"{evaluation.scores[name].value:.4f}" if name in evaluation.scores else "" for name in names
        ]
        table.add_row(model, *cells, evaluation.measured.split()[0])
    return table


def signatures(found: dict[str, Evaluation]) -> list[str]:
    """How each metric was computed, a line for each."""
    told = {
        name: score.signature for evaluation in found.values() for name, score in evaluation.scores.items()
    }
    return [f"{name}: {signature}" for name, signature in told.items() if signature]


def print_labels(found: dict[str, Evaluation], console: Console) -> None:
    """Print precision, recall and F1 of each label, and the confusion matrix."""
    for model, evaluation in found.items():
        for output, result in evaluation.labels.items():
            table = Table(box=None, header_style="bold", title=f"{model}: {output}", title_justify="left")
            for head in (
                "label",
                "precision",
                "recall",
                "f1",
                "rows",
                *(f"→ {label}" for label in result.labels),
            ):
                table.add_column(head, justify="left" if head == "label" else "right")
            for row, (label, score) in enumerate(result.per_label.items()):
                counts = [str(count) for count in result.confusion[row]]
                numbers = [f"{value:.3f}" for value in (score.precision, score.recall, score.f1)]
                table.add_row(label, *numbers, str(score.support), *counts)
            console.print(table)


def lengths_of(evaluation: Evaluation, of: str | None = None) -> ByLength:
    name = next(iter(evaluation.of_outputs()), None)
    if name is None:
        raise RegardError(
            "none of the metrics measured can be split by length.", fix="Add one: --metric bleu"
        )
    return evaluation.by_length(name, of=of)


def length_table(name: str, curve: ByLength, measured: str = "the input") -> Table:
    title = f"{name}: by length of {measured}"
    if measured.startswith("the longest"):
        title += " (--length-of NAME chooses one)"
    table = Table(box=None, header_style="bold", title=title, title_justify="left")
    for head in ("length", "rows", curve.metric, "95 %"):
        table.add_column(head, justify="right")
    for label, rows, value, low, high in curve.table():
        table.add_row(label, f"{rows:,}", f"{value:.4g}", bounds(low, high))
    return table


def draw(curves: dict[str, ByLength], path: Path, measured: str = "the input") -> None:
    from regard.inspect import lengths_figure, save

    named = {
        TOGETHER.join(Path(run).name for run in name.split(TOGETHER)): one for name, one in curves.items()
    }
    save(lengths_figure(named, measured), path)


def group_table(name: str, group: ByGroup) -> Table:
    title = f"{name}: by {' and '.join(group.names)}"
    table = Table(box=None, header_style="bold", title=title, title_justify="left")
    for head in (*group.names, "rows", group.metric, "95 %"):
        table.add_column(head, justify="right")
    for cell in group.cells:
        low, high = cell.interval
        table.add_row(*map(escape, cell.group), f"{cell.n:,}", f"{cell.value:.4g}", bounds(low, high))
    return table


def draw_groups(groups: dict[str, ByGroup], path: Path) -> None:
    """Draw lines for one column, or a heatmap per model for two."""
    from regard.inspect import groups_figure, save

    named = {
        TOGETHER.join(Path(run).name for run in name.split(TOGETHER)): one for name, one in groups.items()
    }
    save(groups_figure(named), path)


def as_json(
    found: dict[str, Evaluation], curves: dict[str, ByLength], groups: dict[str, ByGroup]
) -> dict[str, Any]:
    return {
        "models": {
            name: {
                "scores": evaluation.to_dict(),
                **({"by_length": [_known(line) for line in curves[name].table()]} if name in curves else {}),
                **(
                    {
                        "by": {
                            "names": groups[name].names,
                            "cells": [_known(line) for line in groups[name].table()],
                        }
                    }
                    if name in groups
                    else {}
                ),
            }
            for name, evaluation in found.items()
        },
        "versions": versions(),
    }


def _known(line: Sequence[Any]) -> list[Any]:
    """A line of a table for JSON."""
    return [known(cell) if isinstance(cell, float) else cell for cell in line]


def write_predictions(found: dict[str, Evaluation], path: Path) -> None:
    """Write model, inputs, outputs and references; tabs and line ends within a text become spaces.

    One input is the column `input`. Several are one column each, named by their fields, as `predict --file` reads them.
    One output is the columns `output` and `references`. Several have two columns each, `output NAME` and
    `references NAME`.
    """
    evaluations = found.values()
    fields = _different(field for evaluation in evaluations for field in evaluation.fields.values())
    outputs = _different(name for evaluation in evaluations for name in evaluation.predictions)
    several = any(len(evaluation.fields) > 1 for evaluation in evaluations)
    heads = [("output", "references")]
    if len(outputs) > 1:
        heads = [(f"output {name}", f"references {name}") for name in outputs]
    lines = [["model", *(fields if several else ["input"]), *(head for pair in heads for head in pair)]]
    for model, evaluation in found.items():
        for row in range(max(map(len, evaluation.predictions.values()), default=0)):
            given = {field: evaluation.inputs[row][name] for name, field in evaluation.fields.items()}
            read = [given.get(field, "") for field in fields] if several else ["".join(given.values())]
            cells = [model, *read]
            for output in outputs:
                written, references = evaluation.predictions.get(output), evaluation.references.get(output)
                cells += [written[row] if written else "", " | ".join(references[row]) if references else ""]
            lines.append([" ".join(readable(cell).split()) for cell in cells])
    write_output(path, "".join("\t".join(line) + "\n" for line in lines))


def _different(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
