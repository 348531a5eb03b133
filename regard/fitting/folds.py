"""Cross-validation: a model for each fold of the data, each a run in its own folder, and the mean of their test scores.

    runs/NAME-folds/folds.json        the spec, the number of folds, and the scores of those that are done
    runs/NAME-folds/fold-1-of-5/      a run with `data.fold: 1/5`

A fold that was interrupted goes on from its last checkpoint, and one that is done is not trained again. The test part
of a fold is measured once, at the end of its run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.data.sources import with_absolute_paths
from regard.data.sources.folds import check_folds
from regard.errors import OPEN, PYTHON, Front, Message, Option, RegardError, Setting, Words
from regard.fitting.experiment import Experiment
from regard.fitting.pair_model import Note
from regard.fitting.pairs import Inferred
from regard.metrics.mean_interval import mean_interval
from regard.metrics.significance import ConfidenceInterval
from regard.model import Model, load
from regard.model.loading import read_metrics
from regard.runs.run import RunFolder, contains_run
from regard.spec import Spec
from regard.storage.files import Lock, naming, read_json, write_text
from regard.storage.manifest import STATE_FILE
from regard.version import __version__

SIGN = "folds.json"
LOCK = ".regard-folds.lock"


@dataclass(frozen=True)
class FoldResult:
    """One fold: its run, the number of rows of its splits, and its scores on test."""

    number: int
    run: Path
    rows: dict[str, int]
    scores: dict[str, float]

    def load(self, device: str | None = None) -> Model | Any:
        """The model of this fold."""
        return load(self.run, device=device)


@dataclass(frozen=True)
class CrossValidation:
    """The result of a cross-validation: `.scores["accuracy"].value`, `.low`, `.high`; each fold in `.folds`.

    The training rows of the folds overlap, so the interval is approximate.
    """

    folder: Path
    folds: list[FoldResult] = field(default_factory=list)

    @property
    def scores(self) -> dict[str, ConfidenceInterval]:
        """The mean of each test score over the folds, with its 95 % interval by Student's t."""
        names = [name for name in self.folds[0].scores if all(name in one.scores for one in self.folds)]
        return {name: mean_interval([one.scores[name] for one in self.folds]) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Means, intervals and folds, for JSON."""
        return {
            "scores": {
                name: {"mean": one.value, "low": one.low, "high": one.high, "level": one.level}
                for name, one in self.scores.items()
            }
            if len(self.folds) > 1
            else {},
            "folds": [
                {"fold": one.number, "run": one.run.name, "rows": one.rows, "scores": one.scores}
                for one in self.folds
            ],
        }


class Folds:
    """The folds of a spec in a folder."""

    def __init__(
        self,
        spec: Spec,
        count: int,
        folder: Path,
        *,
        device: str | None = None,
        quiet: bool = False,
        notes: Sequence[Note] = (),
        warnings: Sequence[Words] = (),
        front: Front = PYTHON,
    ) -> None:
        if spec.data.fold is not None:
            raise RegardError("the spec names a fold already.", where="data.fold", fix="Remove it.")
        self.spec, self.count, self.folder = with_absolute_paths(spec), check_folds(count), folder
        self.device, self.quiet, self.front = device, quiet, front
        self.notes = [one for one in notes if one.what != "split"]
        self.warnings = list(warnings)
        if spec.data.test:
            self.warnings.append(
                "data.test is not read: the test rows of each fold are its part of the training rows."
            )

    @classmethod
    def of(
        cls, described: Inferred, count: int, folder: Path, *, overwrite: bool = False, **options: Any
    ) -> Folds:
        """The folds of a spec in a new folder, or in that of the same folds, which go on."""
        found = cls(
            described.spec, count, folder, notes=described.notes, warnings=described.warnings, **options
        )
        found._open(overwrite=overwrite)
        return found

    @classmethod
    def resume(cls, folder: Path, **options: Any) -> Folds:
        """The folds of a folder, which go on."""
        plan = _read(folder)
        return cls(Spec.parse(plan["spec"]), int(plan["of"]), folder, **options)

    def run(self) -> CrossValidation:
        """Train and measure all folds that are not done."""
        lock = Lock(self.folder, LOCK)
        try:
            done: list[FoldResult] = []
            for number in range(1, self.count + 1):
                run = self.run_of(number)
                if not _is_done(run):
                    self._train(number, run)
                done.append(_result(number, run))
                self._write(done)
        finally:
            lock.release()
        return CrossValidation(self.folder, done)

    def run_of(self, number: int) -> Path:
        """The folder of a fold's run."""
        return self.folder / f"fold-{number}-of-{self.count}"

    def spec_of(self, number: int) -> Spec:
        """The spec of a fold's run."""
        fold = {"number": number, "of": self.count, "seed": self.spec.training.seed}
        return self.spec.changed(Setting("data.fold", fold))

    def _train(self, number: int, run: Path) -> None:
        first = number == 1
        options: dict[str, Any] = {"device": self.device, "quiet": self.quiet, "front": self.front}
        if (run / STATE_FILE).is_file() or (run / ".regard-next" / STATE_FILE).is_file():
            experiment = Experiment.resume(run, **options)
        else:
            experiment = Experiment(
                self.spec_of(number),
                RunFolder.start(run, overwrite=contains_run(run)),
                notes=self.notes if first else (),
                warnings=self.warnings if first else (),
                **options,
            )
        experiment.announcer.heading(f"fold {number} of {self.count}")
        experiment.train()

    def _open(self, *, overwrite: bool) -> None:
        """Make the folder, or find it again with the same spec."""
        if self.folder.exists() and not self.folder.is_dir():
            raise RegardError(
                "this is a file, expected a folder for the folds.",
                where=str(self.folder),
                fix=Message("Choose another folder with `", Option("run", OPEN), "`."),
            )
        known = _read(self.folder) if (self.folder / SIGN).is_file() else None
        if contains_run(self.folder) or (known is None and self._has_others()):
            raise RegardError(
                "this folder contains a run or other files, and no folds.",
                where=str(self.folder),
                fix=Message("Choose a new or empty folder with `", Option("run", OPEN), "`."),
            )
        same = known is not None and (known["of"], known["spec"]) == (self.count, self._plan()["spec"])
        if known is not None and not same and not overwrite:
            raise RegardError(
                "this folder contains the folds of another spec, or another number of them.",
                where=str(self.folder),
                fix=Message(
                    "Pass `",
                    Option("overwrite", True),
                    "`, or choose another folder with `",
                    Option("run", OPEN),
                    "`.",
                ),
            )
        with naming(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        if overwrite:
            self._forget()
        if overwrite or not same:
            self._write([])

    def _has_others(self) -> bool:
        """Whether the folder holds anything but rows that were given in Python."""
        names = {one.name for one in self.folder.iterdir()} if self.folder.is_dir() else set()
        rows = {name for name in names if name.endswith(".jsonl")} if "manifest.json" in names else set()
        return any(not name.startswith(".") for name in names - rows - {"manifest.json"})

    def _forget(self) -> None:
        """Let all folds be trained anew: a run without scores and state is replaced."""
        for number in range(1, self.count + 1):
            run = self.run_of(number)
            if contains_run(run):
                for name in ("metrics.json", STATE_FILE):
                    (run / name).unlink(missing_ok=True)

    def _plan(self) -> dict[str, Any]:
        spec: dict[str, Any] = json.loads(json.dumps(self.spec.written()))
        return {"regard": __version__, "of": self.count, "seed": self.spec.training.seed, "spec": spec}

    def _write(self, done: list[FoldResult]) -> None:
        told = CrossValidation(self.folder, done).to_dict()
        write_text(
            self.folder / SIGN, json.dumps({**self._plan(), **told}, ensure_ascii=False, indent=1) + "\n"
        )


def contains_folds(folder: Path) -> bool:
    """Whether a folder holds folds."""
    return (folder / SIGN).is_file()


def _read(folder: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = read_json(folder / SIGN)
        if not isinstance(content["spec"], dict) or not isinstance(content["of"], int):
            raise ValueError("its spec is missing")
        return content
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RegardError(
            f"the list of the folds cannot be read: {error}.",
            where=str(folder / SIGN),
            fix="Choose another folder.",
        ) from None


def _is_done(run: Path) -> bool:
    return (run / "metrics.json").is_file() and "scores" in read_metrics(run)


def _result(number: int, run: Path) -> FoldResult:
    metrics = read_metrics(run)
    rows = {split: int(about["rows"]) for split, about in metrics["splits"].items()}
    scores = {name: float(score["value"]) for name, score in metrics["scores"]["test"].items()}
    return FoldResult(number, run, rows, scores)
