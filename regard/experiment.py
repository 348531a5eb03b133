"""Experiment: a spec and its data → columns fitted, model trained, measured and saved in the folder of a run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from regard.console import safe_console
from regard.data import Batches, Dataset, StreamBatches
from regard.data_progress import DataProgress
from regard.distillation import columns_from, load_distillation
from regard.errors import RegardError
from regard.evaluation import Evaluation, check_metrics, evaluate
from regard.model import Model
from regard.model.columns import fit_columns, make_columns
from regard.model.model import DEFAULT_BATCH_COST
from regard.model.store import COLUMNS, read_columns, read_metrics, versions, write_columns
from regard.pairs import Inferred, Note, infer, is_data_file
from regard.run import RunFolder
from regard.sources import (
    Splits,
    build_dataset,
    changes,
    digests,
    is_stream,
    open_splits,
    remarks,
    with_absolute_paths,
)
from regard.spec import Spec
from regard.spec.saved import load_spec, write_spec
from regard.spec.training import SPAN, STREAMS
from regard.training import Callback, Result, make_progress, process_rank, seed_everything, world_size
from regard.training import fit as fit_network
from regard.training.curricula import Curriculum, make_curriculum
from regard.training.log import read_curve
from regard.training.seed import Generators, undisturbed
from regard.zoo import find

SETTINGS = "REGARD_SET"
"""A variable of the environment: settings for every new run, `training.steps=5 encoder.size=32`."""
EXAMPLES = 6
"""Answers that a card shows."""
MONITORED = 32
"""Stretches of a dev text that are read side by side while a model is trained; in the end it is read as one."""


class Experiment:
    """One run in one folder.

    experiment = Experiment.start("translation")
    experiment.train()
    experiment.model.predict("…")
    """

    def __init__(
        self,
        spec: Spec,
        run: Path | RunFolder,
        *,
        device: str | None = None,
        quiet: bool = False,
        resumed: bool = False,
        notes: Sequence[Note] = (),
        warnings: Sequence[str] = (),
        splits: Splits | None = None,
    ):
        """notes, warnings: what was inferred of the data, and what of it may not be expected; printed once.
        splits: the rows, where they have been opened already, as for several runs on the same data."""
        if not isinstance(run, RunFolder):
            run = RunFolder.resume(run) if resumed else RunFolder.start(run)
        spec, changed = (spec, "") if resumed else _as_environment_says(spec)
        spec = with_absolute_paths(spec)
        self.spec, self.device, self.quiet, self.resumed = spec, device, quiet, resumed
        self.notes, self.warnings = list(notes), [*warnings, *([changed] if changed else [])]
        self.folder, self.run = run, run.path
        self.callbacks: Sequence[Callback] = ()
        self.measured: Sequence[str] | None = None
        """The splits that are measured when the training has ended; None: all but train."""
        self.evaluations: dict[str, Evaluation] = {}
        """What was found on them."""
        silent = quiet or process_rank() > 0
        self.console = safe_console(quiet=silent)
        self._progress = DataProgress(silent=silent)
        try:
            with undisturbed():
                # Before anything is built: the first weights are drawn from it.
                seed_everything(spec.training.seed)
                with self._progress.shown("reading"):
                    self.splits: Splits = open_splits(spec) if splits is None else splits
                with self._progress.shown("fitting vocabularies to"):
                    self.columns = self._columns()
                self.datasets: dict[str, Dataset] = {}
                self.model = Model.build(spec, self.columns)
                check_metrics(self.model)
                self._generators = Generators.capture()
        except BaseException:
            self.close()
            raise

    @classmethod
    def start(
        cls,
        what: str,
        *,
        run: Path | None = None,
        overrides: Sequence[str] = (),
        device: str | None = None,
        overwrite: bool = False,
        quiet: bool = False,
        source: str | None = None,
        target: str | None = None,
    ) -> Experiment:
        """A fresh run of a zoo system, a spec file, or a file of pairs.

        source, target   the columns of a file of pairs, by name or by number from 1

        The folder is locked until the run ends or is closed. A run that is overwritten stays until the new one has its
        first checkpoint.
        """
        spec, notes, warnings = inferred(what, overrides, source=source, target=target)
        folder = RunFolder.start(run or Path("runs") / name_of_run(what, spec), overwrite=overwrite)
        return cls(spec, folder, device=device, quiet=quiet, notes=notes, warnings=warnings)

    @classmethod
    def resume(
        cls, run: Path, *, overrides: Sequence[str] = (), device: str | None = None, quiet: bool = False
    ) -> Experiment:
        """Go on with an interrupted run; overrides may prolong it."""
        folder = RunFolder.resume(run)
        try:
            spec = load_spec(folder.path, overrides)
        except BaseException:
            folder.close()
            raise
        return cls(spec, folder, device=device, quiet=quiet, resumed=True)

    def close(self) -> None:
        """Free the folder of the run. `train` does so at its end."""
        self.folder.close()

    def train(self) -> Model:
        """Train, keep the best weights, measure them on dev and test, save."""
        try:
            with undisturbed():
                self._generators.restore()
                return self._train()
        finally:
            self.close()

    def _train(self) -> Model:
        train, dev = self.dataset("train"), self.dataset("dev")
        options = self.spec.training
        if is_stream(self.spec) and options.batch_rows is None:
            options = options.model_copy(update={"batch_rows": STREAMS})
        batches = self._batches(train)
        self.model.network.distillation = load_distillation(self.model)
        self._announce(train, dev)
        if process_rank() == 0:
            self._prepare()
            write_columns(self.folder.work / COLUMNS, self.columns)
            write_spec(self.folder.work, self.spec)
        self.model.metrics = {"data": self._remembered()}
        monitor = self.model if is_stream(self.spec) else self.model.searching(method="greedy", n_best=1)
        result = fit_network(
            self.model.network,
            batches,
            options=options,
            run=self.folder.work,
            save_model=self.model.save,
            evaluate=lambda: self._monitor(monitor, dev),
            resume=self.resumed,
            progress=make_progress("silent" if self.quiet else "auto"),
            device=self.device,
            locate=train.where,
            settle=self.folder.settle,
            callbacks=self.callbacks,
        )
        self.folder.settle()  # a run without a step has no checkpoint
        if process_rank() == 0:
            self._finish(result)
        return self.model

    def _batches(self, train: Dataset) -> Batches | StreamBatches:
        options = self.spec.training
        if is_stream(self.spec):
            streams = StreamBatches(
                train,
                rows=options.batch_rows or STREAMS,
                span=options.span or SPAN,
                carry=options.carry,
                world_size=world_size(),
            )
            streams.refuse_short()
            return streams
        return Batches(
            train,
            rows=options.batch_rows,
            cost=None if options.batch_rows else options.batch_tokens or DEFAULT_BATCH_COST,
            seed=options.seed,
            window=options.bucket,
            world_size=world_size(),
            vary=True,
            workers=options.workers,
            draw=None if options.curriculum is None else self._curriculum(train).draw,
        )

    def _curriculum(self, train: Dataset) -> Curriculum:
        options = self.spec.training
        return make_curriculum(options.curriculum, train, self.spec, options.passes)

    def dataset(self, split: str) -> Dataset:
        """The encoded rows of a split; those to measure on have their references gathered."""
        if split not in self.splits:
            raise RegardError(
                f"the data have no {split!r}.", where="data", fix=f"There are {', '.join(self.splits)}."
            )
        if split not in self.datasets:
            with self._progress.shown(f"encoding {split} from"):
                self.datasets[split] = build_dataset(
                    self.splits[split],
                    self.spec,
                    list(self.columns.values()),
                    gather=split != "train",
                    rejected=self._rejected(split),
                )
        return self.datasets[split]

    def evaluate(self, split: str, metrics: Sequence[str] = ()) -> Evaluation:
        dev = None if split == "dev" else lambda _: self.dataset("dev")
        return evaluate(self.model, self.dataset(split), metrics, dev=dev)

    def _columns(self) -> dict[str, Any]:
        stored = self.run / COLUMNS
        if self.resumed and stored.is_file():
            return dict(read_columns(stored))
        columns = make_columns(self.spec)
        if not columns_from(columns, self.spec):
            fit_columns(columns, self.spec, lambda: self.splits["train"])
        return columns

    def _prepare(self) -> None:
        data = self.spec.data
        self.folder.prepare([*data.train, *data.dev, *data.test])

    def _rejected(self, split: str) -> Path | None:
        """Where the rows that cannot be used are listed, None where none are expected or another process does it."""
        if self.spec.data.bad_rows != "skip" or process_rank() > 0:
            return None
        self._prepare()
        return self.folder.work / ("rejected.tsv" if split == "train" else f"rejected-{split}.tsv")

    def _monitor(self, monitor: Model, dev: Dataset) -> dict[str, float]:
        """Dev loss and the deciding metric, with greedy search: what is looked at while training goes on."""
        wanted = ["loss"] if self.spec.training.metric == "loss" else ["loss", self.spec.training.metric]
        scores = evaluate(monitor, dev, wanted, streams=MONITORED).scores
        values = {name: score.value for name, score in scores.items()}
        if "loss" not in values:
            values["loss"] = sum(value for name, value in values.items() if name.endswith(".loss"))
        return values

    def _remembered(self) -> dict[str, Any]:
        """A hash of each file, said where it is not what it was when a resumed run began."""
        before = read_metrics(self.run).get("data", {}) if self.resumed else {}
        with self._progress.shown("hashing"):
            changed, now = changes(self.spec, before), before or digests(self.spec)
        for change in changed:
            self.console.print(f"[yellow]{escape(change)}[/yellow]", highlight=False)
        return now

    def _announce(self, train: Dataset, dev: Dataset) -> None:
        sizes = ", ".join(
            f"{name} {column.size:,}" for name, column in self.columns.items() if hasattr(column, "size")
        )
        self.console.print(
            f"[bold]{escape(self.spec.name or self.run.name)}[/bold]: {self._counted(train)} to train on, "
            f"{self._counted(dev)} for dev" + (f"; vocabularies: {escape(sizes)}" if sizes else ""),
            highlight=False,
        )
        self._tell_inferred()
        for split, dataset in (("train", train), ("dev", dev)):
            if dataset.rejected:
                place = "rejected.tsv" if split == "train" else f"rejected-{split}.tsv"
                self.console.print(
                    f"[yellow]{dataset.rejected:,} rows of {split} left out[/yellow], "
                    f"with their reasons in {escape(str(self.run / place))}",
                    highlight=False,
                )
            for remark in dataset.remarks():
                self.console.print(f"[yellow]{split}: {escape(remark)}[/yellow]", highlight=False)

    def _counted(self, dataset: Dataset) -> str:
        """How much there is to read: rows, or tokens of a text."""
        if not is_stream(self.spec):
            return f"{len(dataset):,} rows"
        return f"{len(dataset.stream(next(iter(self.spec.outputs)))):,} tokens"

    def _tell_inferred(self) -> None:
        """What was inferred of the data, how the files are read, and how each of these is changed."""
        width = max((len(note.decided) for note in self.notes), default=0)
        for note in self.notes:
            line = f"  {note.what:<9}{note.decided:<{min(width, 70)}}   {note.change}"
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)
        for remark in dict.fromkeys(remark for rows in self.splits.values() for remark in remarks(rows)):
            self.console.print(f"  {remark}", highlight=False, markup=False, soft_wrap=True)
        for warning in self.warnings:
            self.console.print(f"[yellow]{escape(warning)}[/yellow]", highlight=False, soft_wrap=True)
        if not self.notes and not self.spec.data.provider and not self.spec.data.dev and self.spec.inputs:
            share = f"{100 * self.spec.data.hold_out:g} % of the distinct inputs"
            change = "--set data.dev=FILE, --set data.hold_out=0.1"
            self.console.print(f"  split    dev: {share} are held out   {change}", highlight=False)

    def _finish(self, result: Result) -> None:
        self.model.eval()
        scores: dict[str, Any] = {}
        examples: list[dict[str, Any]] = []
        others = [name for name in self.splits if name != "train"]
        for split in sorted(
            others if self.measured is None else self.measured, key=lambda name: name != "dev"
        ):
            with self._progress.shown(f"encoding {split} from"):
                evaluation = self.evaluations[split] = self.evaluate(split)
            scores[split] = evaluation.to_dict()
            examples = evaluation.examples(EXAMPLES, list(self.spec.inputs)) or examples
            figures = "   ".join(
                f"{name} {score.value:.4g}"
                + (f" (chance {evaluation.chance[name].value:.4g})" if name in evaluation.chance else "")
                for name, score in evaluation.scores.items()
            )
            self.console.print(
                f"[bold]{split}[/bold]  {escape(figures)}   ({self._counted(self.dataset(split))}{self._searched()})",
                highlight=False,
            )
            if split != "dev":
                for remark in self.dataset(split).remarks():
                    self.console.print(f"[yellow]{split}: {escape(remark)}[/yellow]", highlight=False)
        self.model.metrics = {
            "data": self.model.metrics.get("data", {}),
            "scores": scores,
            "training": {
                "steps": result.steps,
                "epochs": result.epochs,
                "seconds": round(result.seconds, 1),
                "kept": result.kept,
                "stopped_because": result.stopped_because,
                "seed": self.spec.training.seed,
            },
            "splits": {split: self._about(split) for split in self.datasets},
            "curve": read_curve(self.run, self.spec.training.metric),
            "examples": examples,
            "versions": versions(),
        }
        self.model.save(self.run)
        self.model.folder = self.run
        self.console.print(
            f"{result.steps:,} steps in {result.seconds:.0f} s; the model is in [bold]{escape(str(self.run))}[/bold]",
            highlight=False,
        )

    def _about(self, split: str) -> dict[str, Any]:
        data = self.spec.data
        named = getattr(data, split, ()) if split in ("train", "dev", "test") else ()
        source = ", ".join(Path(file).name for file in named)
        if data.provider:
            source = f"{data.provider.kind} {data.provider.type}"
        elif not named:
            source = "set aside from train"
        return {"rows": len(self.datasets[split]), "from": source}

    def _searched(self) -> str:
        """Why the figures of dev may differ from those seen while the model was trained."""
        search = self.spec.search
        if search.method != "beam" or not any(head.stepwise for head in self.model.network.decoders.values()):
            return ""
        return f"; beam search of {search.beam}, during training: greedy"


def _as_environment_says(spec: Spec) -> tuple[Spec, str]:
    """The spec with the settings of REGARD_SET, as with --set, and what to say of them."""
    settings = os.environ.get(SETTINGS, "")
    try:
        return (spec.changed(*shlex.split(settings)), f"{SETTINGS}: {settings}") if settings else (spec, "")
    except ValueError as error:
        raise RegardError(f"{settings!r} cannot be read: {error}.", where=SETTINGS) from None


def name_of_run(what: str, spec: Spec | None = None) -> str:
    """The name of a run: a file gives its own (my.yaml → my), a system of the zoo its name."""
    stem = Path(what.split("+")[0]).name.split(".")[0].replace(":", "-")
    if spec is None and not is_data_file(what) and Path(what).suffix not in (".yaml", ".yml"):
        spec = find(what)
    return stem if spec is None or Path(what).suffix in (".yaml", ".yml") else spec.name or stem


def inferred(
    what: str, overrides: Sequence[str], *, source: str | None = None, target: str | None = None
) -> Inferred:
    """The spec of a file of pairs, of a spec's file or of a system of the zoo, and what was inferred of the data."""
    if is_data_file(what):
        return infer(what, overrides, source=source, target=target)
    if source is not None or target is not None:
        raise RegardError(
            "--source and --target choose columns of a file of pairs.",
            where=what,
            fix="In a spec, give the column its `field`.",
        )
    return Inferred(find(what, overrides), [], [])
