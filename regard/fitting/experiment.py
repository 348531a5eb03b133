"""Experiment: fits the columns to the data of a spec, then trains, evaluates and saves its model in a run folder."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from regard.data import Batch, Batches, Dataset
from regard.data.columns import column_from_state
from regard.data.sources import (
    Splits,
    build_dataset,
    changes,
    digests,
    open_splits,
    repeated_inputs,
    with_absolute_paths,
    with_group,
)
from regard.errors import PYTHON, Front, Message, Option, RegardError, Setting, Words
from regard.evaluation import Evaluation, check_metrics, evaluate, settle
from regard.fitting.announcing import Announcer
from regard.fitting.pair_columns import Sources
from regard.fitting.pair_model import Note, refuse_model
from regard.fitting.pairs import Inferred, in_a_path, infer, is_data_file, name_of_file
from regard.fitting.starting import Start
from regard.model import AnyModel, Model, build
from regard.model.base import named_device
from regard.model.building import fit_columns, make_columns, refuse_unseen
from regard.model.loading import read_columns, read_metrics
from regard.model.pretrained import pretrained_records
from regard.model.saving import COLUMNS, versions, write_columns
from regard.nn.network import faults_named
from regard.reporting.console import DataProgress
from regard.runs.run import RunFolder
from regard.spec import Spec
from regard.spec.document import Change
from regard.spec.spec import load_spec, write_spec
from regard.training import Callback, Result, make_progress, process_rank, seed_everything, world_size
from regard.training import fit as fit_network
from regard.training.batch_size import BatchChoice, choose_batch_tokens
from regard.training.curricula import Curriculum, make_curriculum
from regard.training.distillation import columns_from, load_distillation
from regard.training.log import read_curve
from regard.training.machine import first_on_machine, join, made_once, together
from regard.training.rate_finder import RateCurve, find_rate
from regard.training.state import Generators, undisturbed
from regard.zoo import find, names

__all__ = ["Experiment"]

SETTINGS = "REGARD_SET"
"""An environment variable with settings for every new run, such as `training.steps=5 encoder.size=32`."""
EXAMPLES = 6
"""Number of example answers on the model card."""
MONITORED = 32
"""Number of parallel streams for a dev text during training. The final evaluation reads it as a single stream."""


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
        warnings: Sequence[Words] = (),
        splits: Splits | None = None,
        front: Front = PYTHON,
    ):
        """notes, warnings: settings that were inferred from the data, and surprises among them; printed once.
        splits: the rows, if several runs share them and they are open already.
        front: how printed lines name settings."""
        if not isinstance(run, RunFolder):
            run = RunFolder.resume(run) if resumed else RunFolder.start(run)
        spec, changed = (spec, "") if resumed else _as_environment_says(spec)
        spec = with_absolute_paths(spec)
        self.spec, self.device, self.quiet, self.resumed = spec, device, quiet, resumed
        self.notes, self.warnings = list(notes), [*warnings, *([changed] if changed else [])]
        self.folder, self.run = run, run.path
        self.callbacks: Sequence[Callback] = ()
        self.measured: Sequence[str] | None = None
        """The splits to evaluate after training. None: all but train."""
        self.plain_updates: int | None = None
        """The number of updates in plain code, before kernels were compiled; None if kernels were used at once."""
        self._together = True
        """Whether all processes of a launch do what this one does: from the first row to the end of the training."""
        self.beside: dict[str, Any] = {}
        """What else metrics.json has about this run: a file without labels."""
        self.batch_choice: BatchChoice | None = None
        """What was measured for `batch_tokens: auto`; None if the size was given."""
        self.evaluations: dict[str, Evaluation] = {}
        """The final evaluation of each split."""
        silent = quiet or process_rank() > 0
        self.announcer = Announcer(spec, run.path, silent=silent, front=front)
        self._progress = DataProgress(silent=silent)
        try:
            if device is not None:
                named_device(device)  # an error comes before the data are read
            with undisturbed(), faults_named(lambda: spec), together():
                join(spec.training.precision, device)
                # Before anything is built: the first weights are drawn from it.
                seed_everything(spec.training.seed)
                with self._progress.shown("reading"):
                    if not resumed and splits is None:
                        spec = self.spec = self.announcer.spec = with_group(spec)
                    self.splits: Splits = open_splits(spec) if splits is None else splits
                with self._progress.shown("fitting vocabularies to"):
                    self.columns = self._columns()
                self.datasets: dict[str, Dataset] = {}
                self.model: Model | Any = build(spec, self.columns, read_files=not resumed)
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
        overrides: Sequence[Change] = (),
        device: str | None = None,
        overwrite: bool = False,
        quiet: bool = False,
        source: Sources = None,
        target: str | None = None,
        front: Front = PYTHON,
    ) -> Experiment:
        """A fresh run of a zoo system, a spec file, or a file of pairs.

        source, target   the columns of a file of pairs, by name or by number from 1; several sources are several inputs

        The folder is locked until the run ends or is closed. A run that is overwritten stays until the new one has its
        first checkpoint.
        """
        spec, notes, warnings = inferred(what, overrides, source=source, target=target)
        folder = RunFolder.start(run or Path("runs") / name_of_run(what, spec), overwrite=overwrite)
        return cls(spec, folder, device=device, quiet=quiet, notes=notes, warnings=warnings, front=front)

    @classmethod
    def resume(
        cls,
        run: Path,
        *,
        overrides: Sequence[Change] = (),
        device: str | None = None,
        quiet: bool = False,
        front: Front = PYTHON,
    ) -> Experiment:
        """Go on with an interrupted run; overrides may prolong it."""
        refuse_model(overrides, str(run))
        folder = RunFolder.resume(run)
        try:
            spec = uncalibrated(load_spec(folder.path, overrides))
        except BaseException:
            folder.close()
            raise
        return cls(spec, folder, device=device, quiet=quiet, resumed=True, front=front)

    def close(self) -> None:
        """Free the folder of the run. `train` does so at its end."""
        self.folder.close()

    def train(self) -> Model | Any:
        """Train, keep the best weights, evaluate them on dev and test, and save the model."""
        try:
            with undisturbed(), faults_named(lambda: self.spec), together():
                self._generators.restore()
                return self._train()
        finally:
            self._together = False
            self.close()

    def _train(self) -> Model | Any:
        train, dev = self.dataset("train"), self.dataset("dev")
        if self.spec.training.batch_tokens == "auto":
            self._choose_batch(train)
        drawn = None if self.spec.training.curriculum is None else self._curriculum(train).draw
        batches = self.model.training_batches(train, world_size=world_size(), draw=drawn)
        distill = self.spec.training.distill
        self.model.network.distillation = None if distill is None else load_distillation(self.model, distill)
        self._announce()
        if process_rank() == 0:
            self._prepare()
            write_columns(self.folder.work / COLUMNS, self.columns)
            write_spec(self.folder.work, self.spec)
        if self.resumed:
            before = read_metrics(self.run)
            self.beside = {key: before[key] for key in ("unlabeled",) if key in before}
        self.model.metrics = {"data": self._remembered(), **self.beside, **self._pretrained(train)}
        monitor = self.model.monitored()
        result = fit_network(
            self.model.network,
            batches,
            options=self.model.training_options,
            run=self.folder.work,
            save_model=self.model.save,
            evaluate=lambda: self._monitor(monitor, dev),
            shared=True,
            resume=self.resumed,
            progress=make_progress("silent" if self.quiet else "auto"),
            device=self.device,
            locate=train.where,
            settle=self.folder.settle,
            callbacks=self.callbacks,
            load_start=None if self.start_from is None else self._load_start,
        )
        self.folder.settle()  # a run without a step has no checkpoint
        self._finish(result)
        return self.model

    def _choose_batch(self, train: Dataset) -> None:
        """Measure the size of a batch, and write it into the spec."""
        if world_size() > 1:
            raise RegardError(
                "the size of a batch is measured in one process.",
                where="training.batch_tokens",
                fix="Start the run in one process to see the number, and set it.",
            )
        options = self.spec.training

        def batches(size: int) -> Iterator[Batch]:
            made = Batches(train, cost=size, seed=options.seed, window=options.bucket, vary=True, workers=0)
            return made.epoch(0)

        with undisturbed(), self._progress.shown("measuring batches of"):
            choice = choose_batch_tokens(
                self.model.network,
                batches,
                total=int(np.maximum(train.costs, 1).sum()),
                options=options,
                device=self.device,
            )
        self.spec = self.spec.changed(Setting("training.batch_tokens", choice.tokens))
        self.model.spec = self.announcer.spec = self.spec
        self.batch_choice = choice

    def find_rate(self) -> RateCurve:
        """Try learning rates on a copy of the network. Nothing is trained, and nothing is written."""
        with undisturbed(), faults_named(lambda: self.spec):
            self._generators.restore()
            train = self.dataset("train")
            self._announce()
            batches = self.model.training_batches(train)
            return find_rate(
                self.model.network, batches.epoch, options=self.model.training_options, device=self.device
            )

    def _load_start(self) -> str:
        assert self.start_from is not None
        return self.start_from.load(self.model.network, self.columns, self.spec)

    def _curriculum(self, train: Dataset) -> Curriculum:
        options = self.spec.training
        return make_curriculum(options.curriculum, train, self.spec, options.passes)

    def dataset(self, split: str) -> Dataset:
        """The encoded rows of a split. All splits but train have their references gathered by input."""
        if split not in self.splits:
            raise RegardError(
                f"the data have no split {split!r}.", where="data", fix=f"There are {', '.join(self.splits)}."
            )
        if split not in self.datasets:
            turns = first_on_machine() if self._together else nullcontext()
            with self._progress.shown(f"encoding {split} from"), turns:
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
        return evaluate(self.model, self.dataset(split), metrics, dev=dev, shared=self._together)

    def _columns(self) -> dict[str, Any]:
        self.start_from: Start | None = None
        stored = self.run / COLUMNS
        if self.resumed and stored.is_file():
            return dict(read_columns(stored))
        columns = make_columns(self.spec)
        start, distill = self.spec.training.start_from, self.spec.training.distill
        self.start_from = None if start is None else Start.of(start)
        if distill is not None and columns_from(columns, distill):
            return columns
        if self.start_from is None:
            return self._fitted_once(columns)
        given = self.start_from.inherited(columns, self.spec)
        fit_columns(columns, self.spec, lambda: self.splits["train"], given=given)
        self.start_from.set_columns(columns, self.spec)
        if self.start_from.keep:
            refuse_unseen(self.splits["train"], columns, "Leave the row out, or leave out vocabulary: keep.")
        return columns

    def _fitted_once(self, columns: dict[str, Any]) -> dict[str, Any]:
        """The columns, fitted to the training rows by the first process."""

        def fitted() -> tuple[dict[str, Any], Generators]:
            fit_columns(columns, self.spec, lambda: self.splits["train"])
            return {name: column.state() for name, column in columns.items()}, Generators.capture()

        if world_size() == 1:
            fit_columns(columns, self.spec, lambda: self.splits["train"])
            return columns
        states, generators = made_once(fitted)
        generators.restore()  # all build the same network
        return columns if process_rank() == 0 else {name: column_from_state(states[name]) for name in columns}

    def _prepare(self) -> None:
        data = self.spec.data
        self.folder.prepare([*data.train, *data.dev, *data.test], self.spec.training.loggers)

    def _rejected(self, split: str) -> Path | None:
        """The file that lists the bad rows of a split. None: they are errors, or another process writes it."""
        if self.spec.data.bad_rows != "skip" or process_rank() > 0:
            return None
        self._prepare()
        return self.folder.work / _rejected(split)

    def _monitor(self, monitor: AnyModel, dev: Dataset) -> dict[str, float]:
        """Dev loss and the metric that chooses the best weights, with greedy search; computed during training."""
        wanted = ["loss"] if self.spec.training.metric == "loss" else ["loss", self.spec.training.metric]
        scores = evaluate(monitor, dev, wanted, streams=MONITORED, shared=True).scores
        values = {name: score.value for name, score in scores.items()}
        if "loss" not in values:
            values["loss"] = sum(value for name, value in values.items() if name.endswith(".loss"))
        return values

    def _remembered(self) -> dict[str, Any]:
        """A hash of each data file. Warns if a file has changed since a resumed run began."""
        if process_rank() > 0:
            return {}
        before = read_metrics(self.run).get("data", {}) if self.resumed else {}
        with self._progress.shown("hashing"):
            changed, now = changes(self.spec, before), before or digests(self.spec)
        for change in changed:
            self.announcer.warn(change)
        return now

    def _pretrained(self, train: Dataset) -> dict[str, Any]:
        """The record of the files of pretrained weights; that of the first start if the run is resumed."""
        if self.resumed:
            found = read_metrics(self.run).get("pretrained", {})
        elif any(getattr(one, "origin", None) is not None for one in self.model.network.modules()):
            splits: tuple[str, ...] = ("dev", "test")
            others = {split: self.dataset(split) for split in splits if split in self.splits}
            found = pretrained_records(self.model.network, train, others)
        else:
            return {}
        if found:
            self.announcer.pretrained(found)
        return {"pretrained": found} if found else {}

    def _announce(self) -> None:
        say, of_training = self.announcer, {split: self.dataset(split) for split in ("train", "dev")}
        say.data(self.columns, of_training)
        if self.batch_choice is not None:
            say.batch(self.batch_choice)
        say.inferred(self.notes, self.splits, self.warnings)
        for split, dataset in of_training.items():
            say.rejected(dataset, split, self.run / _rejected(split))
            say.remarks(dataset, split)
        self._announce_repeated("dev")

    def _announce_repeated(self, split: str) -> None:
        """Say how many inputs of a split are in the training data too; a split by inputs has none."""
        data = self.spec.data
        if process_rank() > 0 or (split == "dev" and not data.dev and data.group in (None, "none")):
            return
        with self._progress.shown(f"comparing {split} with train from"):
            self.announcer.repeated(
                split, *repeated_inputs(self.splits["train"], self.splits[split], self.spec)
            )

    def _finish(self, result: Result) -> None:
        self.model.eval()
        if any(head.settles for head in self.model.network.decoders.values()):
            self.announcer.settled(settle(self.model, self.dataset("dev")))
        scores: dict[str, Any] = {}
        examples: list[dict[str, Any]] = []
        others = [name for name in self.splits if name != "train"]
        stepwise = any(head.stepwise for head in self.model.network.decoders.values())
        for split in sorted(
            others if self.measured is None else self.measured, key=lambda name: name != "dev"
        ):
            with self._progress.shown(f"encoding {split} from"):
                evaluation = self.evaluations[split] = self.evaluate(split)
            scores[split] = evaluation.to_dict()
            examples = evaluation.examples(EXAMPLES, list(self.spec.inputs)) or examples
            self.announcer.scores(evaluation, self.dataset(split), split, stepwise=stepwise)
            if split != "dev":
                self.announcer.remarks(self.dataset(split), split)
                self._announce_repeated(split)
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
                **({} if self.plain_updates is None else {"plain_updates": self.plain_updates}),
                **({} if self.batch_choice is None else {"batch": asdict(self.batch_choice)}),
            },
            "splits": {split: self._about(split) for split in self.datasets},
            "curve": read_curve(self.run, self.spec.training.metric),
            "examples": examples,
            "versions": versions(),
            **{
                key: self.model.metrics[key]
                for key in ("pretrained", "unlabeled")
                if key in self.model.metrics
            },
        }
        if process_rank() == 0:
            self.model.save(self.run)
        self.model.folder = self.run
        self.announcer.end(result)

    def _about(self, split: str) -> dict[str, Any]:
        data = self.spec.data
        named = getattr(data, split, ()) if split in ("train", "dev", "test") else ()
        source = ", ".join(Path(file).name for file in named)
        if data.provider:
            source = f"{data.provider.kind} {data.provider.type}"
        elif not named:
            source = "set aside from train"
        return {"rows": len(self.datasets[split]), "from": source}


def _rejected(split: str) -> str:
    """The file that lists the bad rows of a split."""
    return "rejected.tsv" if split == "train" else f"rejected-{split}.tsv"


def _as_environment_says(spec: Spec) -> tuple[Spec, str]:
    """The spec with the settings of REGARD_SET applied as by --set, and a line that says so."""
    settings = os.environ.get(SETTINGS, "")
    try:
        return (spec.changed(*shlex.split(settings)), f"{SETTINGS}: {settings}") if settings else (spec, "")
    except ValueError as error:
        raise RegardError(f"{settings!r} cannot be read: {error}.", where=SETTINGS) from None


def uncalibrated(spec: Spec) -> Spec:
    """The spec without the temperatures of a calibration, which other weights would make untrue."""
    written = spec.written()
    decoder = {key: _without(value) for key, value in _without(written.get("decoder") or {}).items()}
    return spec if decoder == written.get("decoder") else Spec.parse({**written, "decoder": decoder})


def _without(options: Any) -> Any:
    kept = options.items() if isinstance(options, dict) else ()
    return {key: value for key, value in kept if key != "calibration"} if kept else options


def name_of_run(what: str, spec: Spec | None = None) -> str:
    """The default name of a run: the `name` of its spec, unless it was copied from a system of the zoo; else the stem
    of the file (my.yaml → my)."""
    stem = name_of_file(what)
    if spec is None and not is_data_file(what):
        spec = find(what)
    if spec is None:
        return stem
    copied = Path(what).suffix in (".yaml", ".yml") and spec.name in names()
    return stem if copied or not spec.name else in_a_path(spec.name) or stem


def inferred(
    what: str, overrides: Sequence[Change], *, source: Sources = None, target: str | None = None
) -> Inferred:
    """The spec of a file of pairs, a spec file or a zoo system, with the settings that were inferred from the data."""
    if is_data_file(what):
        return infer(what, overrides, source=source, target=target)
    refuse_model(overrides, what)
    if source is not None or target is not None:
        raise RegardError(
            Message(
                Option("source"), " and ", Option("target"), " work only with a data file, not with a spec."
            ),
            where=what,
            fix="In the spec, set the `field` of the column.",
        )
    folder = Path(what)
    if what not in names() and folder.is_dir() and not (folder / "spec.yaml").is_file():
        raise RegardError(
            "this is a folder without class folders of images (.png, .jpg, …) or texts (.txt); expected data, a spec "
            "(my.yaml) or a system of the zoo.",
            where=what,
            fix=f"Name a file in it: {folder / 'FILE'}",
        )
    return Inferred(find(what, overrides), [], [])
