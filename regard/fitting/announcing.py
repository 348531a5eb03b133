"""Lines that a run prints: the data and the inferred settings before training, the scores and the folder after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from regard.data import Dataset
from regard.data.sources import Splits, remarks_of
from regard.errors import FILE, PYTHON, Front, Message, Setting, Words, said
from regard.evaluation import Evaluation
from regard.fitting.pair_model import Note
from regard.model.pretrained import record_lines
from regard.parts import is_stream
from regard.reporting.console import safe_console
from regard.reporting.terminal import printable
from regard.spec import Spec
from regard.spec.sections import QUICKEST
from regard.training import Result
from regard.training.batch_size import UPDATES, BatchChoice


class Announcer:
    """Prints for one run, or nothing if it is silent."""

    def __init__(self, spec: Spec, run: Path, *, silent: bool = False, front: Front = PYTHON) -> None:
        """front: how settings are named: as arguments in Python, or as options of the command line."""
        self.spec, self.run, self.front = spec, run, front
        self.console = safe_console(quiet=silent)

    def heading(self, text: str) -> None:
        """Which of several runs this is."""
        self.console.print(f"[bold cyan]{escape(text)}[/bold cyan]", highlight=False)

    def data(self, columns: Mapping[str, Any], datasets: Mapping[str, Dataset]) -> None:
        """The number of rows to train on and for dev, and the sizes of the vocabularies."""
        sizes = ", ".join(
            f"{name} {column.size:,}" for name, column in columns.items() if hasattr(column, "size")
        )
        self.console.print(
            f"[bold]{escape(self.spec.name or self.run.name)}[/bold]: {self._counted(datasets['train'])} to train on, "
            f"{self._counted(datasets['dev'])} for dev"
            + (f"; vocabularies: {escape(sizes)}" if sizes else ""),
            highlight=False,
        )

    def unlabeled(self, way: str, used: int, rows: int, times: int, run: Path) -> None:
        """What was made of a file without labels."""
        told = f" beside the real ones, {times} times each" if times > 1 else " beside the real ones"
        self.console.print(
            f"  {way}: {used:,} of {rows:,} rows join the training rows{told}; the first model is in {run}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    def batch(self, choice: BatchChoice) -> None:
        """The size of a batch that was chosen, and why."""
        why = {
            "throughput": "larger ones are no faster",
            "memory": "larger ones need more than half of the memory",
            "updates": f"an epoch keeps {UPDATES} updates",
        }[choice.limit]
        speed = next(one.throughput for one in choice.tried if one.tokens == choice.tokens)
        self.console.print(
            f"  batch    {choice.tokens:,} tokens, {speed:,.0f} tokens/s; {why} ({choice.seconds:.1f} s to measure)   "
            + said(Setting("training.batch_tokens", choice.tokens), self.front),
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    def inferred(self, notes: Sequence[Note], splits: Splits, warnings: Sequence[Words]) -> None:
        """Each inferred setting with the option that changes it, how the files are read, and warnings."""
        width = max((len(note.decided) for note in notes), default=0)
        for note in notes:
            line = f"  {note.what:<9}{note.decided:<{min(width, 70)}}   {said(note.change, self.front)}"
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)
        for remark in dict.fromkeys(remark for rows in splits.values() for remark in remarks_of(rows)):
            self.console.print(f"  {said(remark, self.front)}", highlight=False, markup=False, soft_wrap=True)
        for warning in warnings:
            self.warn(warning)
        if not notes and not self.spec.data.provider and not self.spec.data.dev and self.spec.inputs:
            group = self.spec.data.group
            of = "distinct inputs" if group in (None, "none") else f"distinct values of {group}"
            share = f"{100 * self.spec.data.hold_out:g} % of the {of}"
            change = Message(Setting("data.dev", FILE), ", ", Setting("data.hold_out", 0.1)).said(self.front)
            self.console.print(f"  split    dev: {share} are held out   {change}", highlight=False)

    def pretrained(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """The share of words that pretrained vectors cover."""
        for line in record_lines(records):
            self.console.print(f"  {printable(line)}", highlight=False, markup=False, soft_wrap=True)

    def rejected(self, dataset: Dataset, split: str, listed: Path) -> None:
        """The number of bad rows, and the file that lists them."""
        if dataset.rejected:
            self.console.print(
                f"[yellow]{dataset.rejected:,} rows of {split} left out[/yellow], "
                f"with their reasons in {escape(str(listed))}",
                highlight=False,
            )

    def remarks(self, dataset: Dataset, split: str) -> None:
        for remark in dataset.remarks():
            self.console.print(f"[yellow]{split}: {escape(remark)}[/yellow]", highlight=False)

    def repeated(self, split: str, count: int, distinct: int) -> None:
        """The number of inputs that the model was trained on."""
        if count:
            verb = "occurs" if count == 1 else "occur"
            self.console.print(
                f"[yellow]{split}: {count:,} of {distinct:,} distinct inputs also {verb} in train; the scores of "
                f"{split} are not of new inputs alone[/yellow]",
                highlight=False,
            )

    def warn(self, warning: Words) -> None:
        self.console.print(
            f"[yellow]{escape(said(warning, self.front))}[/yellow]", highlight=False, soft_wrap=True
        )

    def compiling(self) -> None:
        """That kernels are compiled meanwhile."""
        self.console.print(
            "  kernels  not compiled on this machine yet: a second process does it, and the first updates are slower",
            highlight=False,
            soft_wrap=True,
        )

    def compiled(self, step: int) -> None:
        """That kernels compute from now on."""
        self.console.print(f"step {step}  the kernels are compiled and compute from here on", highlight=False)

    def settled(self, lines: Sequence[str]) -> None:
        """What decoders chose on dev."""
        for line in lines:
            self.console.print(escape(line), highlight=False)

    def scores(self, evaluation: Evaluation, dataset: Dataset, split: str, *, stepwise: bool) -> None:
        """stepwise: whether a decoder writes its answer step by step, and therefore searches."""
        figures = "   ".join(
            f"{name} {score.value:.4g}{evaluation.beside(name)}" for name, score in evaluation.scores.items()
        )
        search = self.spec.search
        other = f"; {search.method.part.named(search.method)}, during training: {QUICKEST}"
        note = other if stepwise and search.method.type != QUICKEST else ""
        self.console.print(
            f"[bold]{split}[/bold]  {escape(figures)}   ({self._counted(dataset)}{note})", highlight=False
        )

    def end(self, result: Result) -> None:
        if result.stopped_because == "patience":
            metric, count = self.spec.training.metric, self.spec.training.waits
            self.console.print(
                f"stopped early: dev {metric} has not improved for {count} evaluations. To train to the end: "
                + said(Setting("training.patience", None), self.front),
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
        self.console.print(
            f"{result.steps:,} steps in {result.seconds:.0f} s; {escape(self._kept(result))}the model is in "
            f"[bold]{escape(str(self.run))}[/bold]",
            highlight=False,
        )

    def written(self, what: str, path: Path) -> None:
        """Where something beside the model was written."""
        self.console.print(f"the {what} is in [bold]{escape(str(path))}[/bold]", highlight=False)

    def _kept(self, result: Result) -> str:
        """The evaluation that chose the weights, with the value of the metric that decided."""
        metric = self.spec.training.metric
        value = result.metrics.get(metric)
        return "" if value is None else f"kept {result.kept} (dev {metric} {value:.4g}); "

    def _counted(self, dataset: Dataset) -> str:
        """The size of a data set in rows, or that of a text in tokens."""
        if not is_stream(self.spec):
            return f"{len(dataset):,} rows"
        return f"{len(dataset.stream(next(iter(self.spec.outputs)))):,} tokens"
