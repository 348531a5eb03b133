"""The runs that were named when the studio was started, and nothing else.

A model is loaded by the worker of its run, after the page was opened; its rows when they are first asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.runs.finished import finished_runs
from regard.studio.jobs import Jobs, Worker
from regard.studio.uploads import Uploads

if TYPE_CHECKING:
    from regard.data import Dataset
    from regard.trace.prediction import Prediction

MOST_BEFORE = 32
"""Predictions without edits that are kept for each run."""
MEDIA = ("image", "video", "audio", "points", "series", "dialog", "document", "story")
"""What the page distinguishes; everything else is typed as text."""


class Run:
    """One run: its folder, its worker, and what the worker has loaded. Everything but `folder`, `name` and `worker` is
    used in the worker's thread alone."""

    def __init__(self, name: str, folder: Path, uploads: Uploads, *, device: str | None = None) -> None:
        self.name, self.folder, self.uploads, self.device = name, folder, uploads, device
        self.worker = Worker(name)
        self._model: Any = None
        self._datasets: dict[str, Dataset] = {}
        self._before: OrderedDict[Hashable, Prediction] = OrderedDict()
        self.kept: dict[Hashable, Any] = {}
        """Results of long work, such as the strangest rows of a split."""

    @property
    def model(self) -> Any:
        """The model, a `Model` or a `LanguageModel`; loaded at first use."""
        if self._model is None:
            from regard.model import load

            self._model = load(self.folder, device=self.device)
        return self._model

    @property
    def usual_split(self) -> str:
        from regard.evaluation import usual_split

        return usual_split(self.model.spec)[0]

    def dataset(self, split: str | None = None) -> Dataset:
        """The rows of a split; default: test, or dev if there is none."""
        name = split or self.usual_split
        if name not in self._datasets:
            from regard.evaluation import open_dataset

            self._datasets[name] = open_dataset(self.model, (), [name])
        return self._datasets[name]

    def before(self, key: Hashable, predict: Callable[[], Prediction]) -> Prediction:
        """The prediction without edits; computed once for each input."""
        if key not in self._before:
            self._before[key] = predict()
            while len(self._before) > MOST_BEFORE:
                self._before.popitem(last=False)
        self._before.move_to_end(key)
        return self._before[key]

    def about(self) -> dict[str, Any]:
        """The run as the page needs it."""
        model = self.model
        continues = bool(model.continues)
        inputs = [
            {"name": name, "type": model.columns[name].type, "media": media(model.columns[name])}
            for name in (model.spec.outputs if continues else model.spec.inputs)
        ]
        dialog = any(model.columns[name].can_be("dialog") for name in model.spec.inputs)
        return {
            "name": self.name,
            "folder": str(self.folder),
            "kind": "continues" if continues else "dialog" if dialog else "answers",
            "inputs": inputs,
            "outputs": list(model.spec.outputs),
            "splits": self._splits(),
            "split": self.usual_split,
            "example": self._example(inputs),
            "search": self._search(),
            "structured": any(_selects_segments(decoder) for decoder in model.network.decoders.values()),
        }

    def _splits(self) -> dict[str, int]:
        """The number of rows of each split, as they were counted after training."""
        counted = self.model.metrics.get("splits")
        counted = counted if isinstance(counted, dict) else {}
        found = {
            str(name): about["rows"]
            for name, about in counted.items()
            if isinstance(about, dict) and isinstance(about.get("rows"), int)
        }
        return found | {name: len(dataset) for name, dataset in self._datasets.items()}

    def _example(self, inputs: Sequence[Mapping[str, str]]) -> dict[str, str]:
        """An input that was measured after training, if it can be typed."""
        measured = self.model.metrics.get("examples")
        first = measured[0] if isinstance(measured, list) and measured else {}
        text = first.get("input") if isinstance(first, dict) else None
        alone = len(inputs) == 1 and inputs[0]["media"] in ("text", "document", "story", "dialog")
        return {inputs[0]["name"]: text} if alone and isinstance(text, str) and text else {}

    def _search(self) -> dict[str, Any]:
        """The options of the search that the page can change; empty if no output is searched."""
        spec = self.model.spec
        if not any(decoder.stepwise for decoder in self.model.network.decoders.values()):
            return {}
        return {"beam": getattr(spec.search.method, "beam", 1), "n_best": spec.search.n_best}


class Runs:
    """All runs of a studio by name, with their jobs and uploads."""

    def __init__(self, folders: Sequence[str | PathLike[str]], *, device: str | None = None) -> None:
        if not folders:
            raise RegardError("no run to open.", where="studio", fix="Name the folder of a trained model.")
        self.jobs, self.uploads = Jobs(), Uploads()
        self._runs = {
            name: Run(name, folder, self.uploads, device=device)
            for name, folder in finished_runs(folders).items()
        }

    def __getitem__(self, name: str) -> Run:
        if name not in self._runs:
            raise RegardError(
                f"this studio has no run {name!r}.", where="run", fix=f"It has {', '.join(self._runs)}."
            )
        return self._runs[name]

    def __iter__(self) -> Any:
        return iter(self._runs.values())

    def __len__(self) -> int:
        return len(self._runs)

    def stop(self) -> None:
        for run in self:
            run.worker.stop()


def media(column: Any) -> str:
    """What kind of thing an input is, for the page."""
    return next((one for one in MEDIA if column.can_be(one)), "text")


def _selects_segments(decoder: Any) -> bool:
    """Whether segments of its attention can be forced and forbidden."""
    reading = getattr(decoder, "reading", None)
    return reading is not None and any(reading.attention(name).select.ruled for name in decoder.attended)
