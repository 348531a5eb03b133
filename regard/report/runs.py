"""Many runs: their scores, sizes and times, the settings in which they differ, and their curves over each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.inspect import PageSection, page
from regard.inspect.curve import curves_of, read_log
from regard.inspect.page import frame_of_page
from regard.live import live_module
from regard.spec.document import parse_file
from regard.storage.files import read_json, write_text
from regard.storage.tensors import read_header

DEEPEST = 3
"""Depth to which folders are searched for runs."""
MOST_CURVES = 12
"""Maximum number of curves over each other."""
IGNORED = ("name", "description", "format")
"""Keys of a spec that are no settings."""
TASK = ("inputs", "outputs")
"""Runs with the same of these are compared by their settings."""


@dataclass(frozen=True)
class RunSummary:
    """One run, read from its files; the model is not loaded.

    folder      where it is
    scores      {metric: value} on `split`: test, or else dev
    steps, seconds, weights   their numbers; None if they are not known
    trained     when its newest file was written
    state       of a run without scores: "in training", "interrupted", "not measured"
    settings    {key path: value} of its spec
    """

    folder: Path
    scores: Mapping[str, float] = field(default_factory=dict)
    split: str = ""
    steps: int | None = None
    seconds: float | None = None
    weights: int | None = None
    trained: datetime | None = None
    state: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> RunSummary:
        """The summary of a folder; what cannot be read is left out, so that one bad run does not hide the others."""
        metrics = _read(folder / "metrics.json")
        split, scores = _scores(metrics)
        training = metrics.get("training")
        training = training if isinstance(training, dict) else {}
        steps, seconds = training.get("steps"), training.get("seconds")
        return cls(
            folder,
            scores,
            split,
            steps if isinstance(steps, int) else None,
            float(seconds) if isinstance(seconds, int | float) else None,
            _weights(folder),
            _when(folder),
            "" if scores else _state(folder),
            _settings(folder),
        )

    @property
    def reads(self) -> str:
        """Its inputs and outputs by name: "word → phonemes"."""
        sides = [
            dict.fromkeys(key.split(".")[1] for key in self.settings if key.startswith(f"{side}."))
            for side in TASK
        ]
        inputs, outputs = (", ".join(side) for side in sides)
        return f"{inputs} → {outputs}".removeprefix(" → ") if outputs else "unreadable"

    @property
    def task(self) -> str:
        """What it reads and writes."""
        return repr([one for one in self.settings.items() if one[0].split(".")[0] in TASK])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "run": str(self.folder),
            "split": self.split,
            "scores": dict(self.scores),
            "steps": self.steps,
            "seconds": self.seconds,
            "weights": self.weights,
            "trained": None if self.trained is None else f"{self.trained:%Y-%m-%d %H:%M}",
            "state": self.state,
        }


@dataclass(frozen=True, repr=False)
class RunTable:
    """Several runs. A notebook shows the table; `save` writes a page with it and the curves."""

    runs: Sequence[RunSummary]

    @property
    def differing(self) -> list[str]:
        """The settings that are not the same in all runs of one task: with the same inputs and outputs."""
        found: dict[str, None] = {}
        for same in (one.runs for one in self.by_task()):
            for key in dict.fromkeys(key for run in same for key in run.settings):
                if len({repr(run.settings.get(key)) for run in same}) > 1:
                    found[key] = None
        return list(found)

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(name for run in self.runs for name in run.scores))

    def rows(self) -> tuple[list[str], list[list[object]]]:
        """The head and the lines of the table; the settings that differ follow the numbers."""
        differing = self.differing
        head = ["run", *self.metrics, "split", "weights", "steps", "seconds", "trained", *differing]
        lines: list[list[object]] = []
        for run in self.runs:
            scores = [run.scores.get(name, "") for name in self.metrics]
            numbers = ["" if one is None else one for one in (run.weights, run.steps, run.seconds)]
            when = "" if run.trained is None else f"{run.trained:%Y-%m-%d %H:%M}"
            settings = [_written(run.settings.get(key, "")) for key in differing]
            lines.append([str(run.folder), *scores, run.split or run.state, *numbers, when, *settings])
        return head, lines

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        differing = self.differing
        return {
            "runs": [
                {**run.to_dict(), "settings": {key: run.settings.get(key) for key in differing}}
                for run in self.runs
            ]
        }

    def html(self) -> str:
        """A page with the table and the curves over each other."""
        count = f"{len(self.runs)} runs"
        return page("Runs", self._sections(), subtitle=count, contents=True, sealed=True, live=live_module())

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page."""
        write_text(Path(path), self.html())
        return Path(path)

    def __repr__(self) -> str:
        return "\n".join([f"{len(self.runs)} runs", *(f"  {run.folder}: {told(run)}" for run in self.runs)])

    def _repr_html_(self) -> str:
        return frame_of_page(page("Runs", self._sections(), contents=True, script=False))

    def by_task(self) -> list[RunTable]:
        """The runs that read and write the same, together."""
        tasks: dict[str, list[RunSummary]] = {}
        for run in self.runs:
            tasks.setdefault(run.task, []).append(run)
        return [RunTable(same) for same in tasks.values()]

    def _sections(self) -> list[PageSection]:
        return [one._section() for one in self.by_task()]

    def _section(self) -> PageSection:
        """The table of one task, and its curves over each other."""
        shown, logs = self.runs[:MOST_CURVES], {}
        names = [run.folder.name for run in shown]
        for run in shown:
            try:
                log = read_log(run.folder)
            except RegardError:
                continue
            if len(log.get("step", ())) > 1 and "loss" in log:
                name = run.folder.name if names.count(run.folder.name) == 1 else str(run.folder)
                logs[name] = log
        text = f"The curves are of the first {MOST_CURVES} runs." if len(self.runs) > MOST_CURVES else ""
        curves = [curves_of(logs)] if logs else []
        return PageSection(self.runs[0].reads, text, figures=curves, table=self.rows(), sortable=True)


def runs(*folders: str | PathLike[str]) -> RunTable:
    """The runs in these folders and below them, in alphabetical order; default: in `runs`."""
    found: dict[Path, RunSummary] = {}
    for folder in map(Path, folders or ("runs",)):
        if not folder.is_dir():
            raise RegardError(
                "no such folder.", where=str(folder), fix="Name the folder that holds the runs."
            )
        inside = list(find_runs(folder))
        if not inside:
            raise RegardError(
                "there is no run here.", where=str(folder), fix="`regard train NAME` makes one."
            )
        for one in inside:
            found.setdefault(one.resolve(), RunSummary.of(one))
    return RunTable(list(found.values()))


def find_runs(folder: Path, depth: int = DEEPEST) -> Iterator[Path]:
    """The folders with a spec.yaml that regard wrote, in alphabetical order."""
    if (folder / "spec.yaml").is_file() and (folder / "columns.json").is_file():
        yield folder
        return
    if depth:
        for inner in sorted(folder.iterdir()):
            if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
                yield from find_runs(inner, depth - 1)


def told(run: RunSummary) -> str:
    """The scores of a run in a line, or its state."""
    figures = ", ".join(f"{name} {value:.4g}" for name, value in run.scores.items())
    return f"{run.split}: {figures}" if figures else run.state


def _scores(metrics: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    """The scores on test, or else on dev."""
    measured = metrics.get("scores")
    if not isinstance(measured, dict) or not measured:
        return "", {}
    split = "test" if "test" in measured else next(iter(measured))
    scores = measured[split] if isinstance(measured[split], dict) else {}
    return split, {
        name: float(score["value"])
        for name, score in scores.items()
        if isinstance(score, dict) and isinstance(score.get("value"), int | float)
    }


def _state(run: Path) -> str:
    """The state of a run without scores."""
    if (run / ".regard.lock").exists():
        return "in training"
    if (run / "state" / "training.safetensors").is_file():
        return f"interrupted; regard train --resume {run}"
    return "not measured"


def _weights(run: Path) -> int | None:
    """The number of weights in its file."""
    try:
        return sum(prod(shape) for shape in read_header(run / "model.safetensors", "weights").shapes.values())
    except (OSError, ValueError):
        return None


def _when(run: Path) -> datetime | None:
    newest = max((path.stat().st_mtime for path in run.iterdir() if path.is_file()), default=None)
    return None if newest is None else datetime.fromtimestamp(newest)


def _read(path: Path) -> dict[str, Any]:
    """The content of a JSON file; empty if it is absent or damaged."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _settings(run: Path) -> dict[str, Any]:
    """The settings of the run's spec, by their paths."""
    try:
        written = parse_file(run / "spec.yaml").data
    except (OSError, ValueError):  # RegardError among them
        return {}
    here = f"{run.absolute()}/"  # rows given in Python are in the folder
    flat = _flat(written) if isinstance(written, Mapping) else ()
    return {key: value.removeprefix(here) if isinstance(value, str) else value for key, value in flat}


def _flat(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, one in value.items():
        path = f"{above}{key}"
        if not above and key in IGNORED:
            continue
        if isinstance(one, Mapping) and one:
            yield from _flat(one, f"{path}.")
        else:
            yield path, one


def _written(value: Any) -> object:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
