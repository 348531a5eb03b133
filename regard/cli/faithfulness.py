"""The implementation of `regard faithful`: measure, print the table, write the figure or the numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from rich.markup import escape
from rich.table import Table

from regard.cli.command import Loading
from regard.cli.loading import load
from regard.cli.outputs import STANDARD, write_output
from regard.errors import RegardError
from regard.evaluation import open_dataset, usual_split
from regard.inspect.saving import check_target
from regard.model import Model
from regard.questions.faithfulness import Faithfulness, Measured, faithful
from regard.questions.faithfulness.asking import Normalize
from regard.questions.faithfulness.drawing import faithfulness_figure, names_of
from regard.questions.faithfulness.intervals import BootstrapInterval
from regard.questions.faithfulness.kinds import ATTENTION, CHANGES, CORRELATIONS, HIGHER, WARNING
from regard.questions.faithfulness.removal import Progress, Remove
from regard.questions.faithfulness.signs import with_effects
from regard.reporting.console import DataProgress, safe_console
from regard.reporting.terminal import tell
from regard.trace.prediction import Prediction


@dataclass(frozen=True)
class FaithfulRequest:
    """What to measure: see the options of the command."""

    rows: int
    split: str | None
    remove: Any
    normalize: Any
    draws: int
    seed: int
    of: str | None
    quick: bool = False

    def __post_init__(self) -> None:
        for option, value, known in (
            ("--remove", self.remove, get_args(Remove)),
            ("--normalize", self.normalize, get_args(Normalize)),
        ):
            if value is not None and value not in known:
                raise RegardError(f"expected {', '.join(known)}; received {value!r}.", where=option)


def measure_faithfulness(
    runs: Sequence[Path], request: FaithfulRequest, output: Path | None, how: Loading
) -> None:
    """Measure every run on the same inputs, those of the first run's data."""
    numbers = output is not None and (output == STANDARD or output.suffix.lower() == ".json")
    if output is not None and not numbers:
        check_target(output)
    models = [load(run, how, Model) for run in runs]
    _check_same(runs, models)
    splits = [request.split] if request.split else usual_split(models[0].spec)
    found = []
    progress = DataProgress()
    with progress.shown("measuring"):
        data = open_dataset(models[0], (), splits)
        count = min(request.rows, len(data))
        inputs = [{name: data.raw(row)[name] for name in models[0].spec.inputs} for row in range(count)]
        for run, model in zip(runs, models, strict=True):
            found.append(
                faithful(
                    model,
                    inputs,
                    output=model.output_name(request.of),
                    remove=request.remove,
                    normalize=request.normalize,
                    draws=request.draws,
                    seed=request.seed,
                    quick=request.quick,
                    name=run.name or str(run),
                    progress=_telling(run),
                )
            )
    console = safe_console(stderr=output == STANDARD)
    named = dict(zip(names_of(found), found, strict=True))
    console.print(_table(named, f"{'+'.join(splits)}, {count} rows"))
    if len(found) > 1:
        for part in _paired_tables(named):
            console.print(part, highlight=False, soft_wrap=isinstance(part, str))
    for name, one in named.items():
        told = [f"{name}: {remark}" if len(named) > 1 else remark for remark in one.remarks]
        flagged = one.flagged
        if flagged:
            told.append(
                f"{name}: {sum(flagged.values())} of {len(flagged)} answers are flagged: their attention may mislead"
            )
        for line in told:
            console.print(escape(line), style="dim", highlight=False)
    _print_correlations(named, console)
    if output is None:
        return
    if numbers:
        write_output(output, json.dumps(_as_json(found), ensure_ascii=False) + "\n")
    else:
        faithfulness_figure(found).save(output)
    if output != STANDARD:
        console.print(f"written to [bold]{escape(str(output))}[/bold]", highlight=False)


def _telling(run: Path) -> Progress:
    return lambda done, of: tell("measuring", str(run), done / max(of, 1))


def _check_same(runs: Sequence[Path], models: Sequence[Model]) -> None:
    for run, model in zip(runs, models, strict=True):
        if list(model.spec.inputs) != list(models[0].spec.inputs):
            raise RegardError(
                f"{runs[0]} reads {', '.join(models[0].spec.inputs)}, but {run} reads {', '.join(model.spec.inputs)}.",
                fix="Name runs that read the same inputs.",
            )


def _table(found: dict[str, Faithfulness], title: str) -> Table:
    """All methods of one run, or the attention of each of several; a line of its own names each measure."""
    table = Table(box=None, header_style="bold", pad_edge=False, title=title, title_justify="left")
    table.add_column("↑ higher is better", no_wrap=True)
    for head in ("value, 95 %", "random", "gain, 95 %"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    known = {line.measure for one in found.values() for line in one.table}
    measures = [measure for measure in (*HIGHER, *CHANGES) if measure in known]
    for measure in measures:
        arrow = " ↑" if HIGHER.get(measure) else " ↓" if measure in HIGHER else ""
        heading = f"[cyan]{escape(measure)}[/cyan]{arrow}"
        lines = [
            (line.method if len(found) == 1 else name, line)
            for name, one in found.items()
            for line in one.table
            if line.measure == measure and (len(found) == 1 or line.method == ATTENTION)
        ]
        if [named for named, _ in lines] == [ATTENTION]:
            table.add_row(heading, *_cells(lines[0][1]))
            continue
        table.add_row(heading)
        for named, line in lines:
            table.add_row(f"  {escape(named)}", *_cells(line))
    return table


def _cells(line: Measured) -> list[str]:
    value = _written(line.value)
    if line.random is None or line.gain is None:
        return [value, "", "", ""]
    return [value, f"{line.random.value:.3f}", _written(line.gain, "+"), line.verdict]


def _written(one: BootstrapInterval, sign: str = "") -> str:
    bounds = "" if one.low != one.low else f"  {one.low:.2f}…{one.high:.2f}"
    return f"{one.value:{sign}.3f}{bounds}"


def _paired_tables(found: dict[str, Faithfulness]) -> Iterator[str | Table]:
    """Each later run beside the first."""
    (first, base), *others = found.items()
    for name, other in others:
        yield escape(f"{name} beside {first}: gain over random, paired by answer")
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("measure", style="cyan", no_wrap=True)
        for head in ("gain", "beside", "difference, 95 %"):
            table.add_column(head, justify="right", no_wrap=True)
        for pair in base.against(other):
            if pair.measure not in CORRELATIONS:
                values = (f"{one.value:.3f}" for one in (pair.second, pair.first))
                table.add_row(pair.measure, *values, _written(pair.difference, "+"))
        yield table


def _print_correlations(found: dict[str, Faithfulness], console: Any) -> None:
    told = [
        f"{name}: "
        + ", ".join(f"{line.measure} {line.value}" for line in one.table if line.measure in CORRELATIONS)
        for name, one in found.items()
    ]
    if any(line.measure in CORRELATIONS for one in found.values() for line in one.table):
        console.print(escape("\n".join(told)), style="dim", highlight=False)
        console.print(escape(WARNING), style="yellow", highlight=False)


def _as_json(found: Sequence[Faithfulness]) -> dict[str, Any]:
    if len(found) == 1:
        return found[0].to_dict()
    paired = [
        {
            "measure": pair.measure,
            "first": found[0].name,
            "second": other.name,
            "difference": pair.difference.to_dict(),
        }
        for other in found[1:]
        for pair in found[0].against(other)
    ]
    return {"runs": [one.to_dict() for one in found], "paired": paired}


def examined_answer(model: Model, given: Any, answer: Prediction, output: str) -> tuple[Prediction, Table]:
    """One answer with the effects of its positions in its trace, and a table of what each piece depends on."""
    if answer.trace is None or not answer.trace.attention:
        raise RegardError("this output attends to no input.", where="--faithful", fix="Leave out --faithful.")
    targets = [answer.text] if model.network.decoders[output].stepwise else None
    found = faithful(model, [given], output=output, targets=targets, quick=True)
    answer = with_effects(model, given, answer, output=output)
    table = Table(box=None, header_style="bold", pad_edge=False)
    several = len({piece.input for piece in found.pieces}) > 1
    for head in ("piece", *(("input",) if several else ()), "looks at"):
        table.add_column(head)
    for head in ("weight", "log p without it", "AOPC", "random"):
        table.add_column(head, justify="right")
    table.add_column("")
    for piece in found.pieces:
        idle = answer.trace.idle(piece.input) if answer.trace else None
        without = "×" if idle is not None and idle[piece.step, piece.position] else ""
        values = piece.values["comprehensiveness"]
        table.add_row(
            escape(piece.text),
            *((escape(piece.input),) if several else ()),
            escape(piece.word),
            f"{piece.weight:.2f}",
            f"{-piece.effect:+.3f}",
            f"{values['attention']:.3f}",
            f"{values['random']:.3f}",
            without,
        )
    return answer, table
