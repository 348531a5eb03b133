"""`regard.fit`: from Python data to a trained model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict, Unpack

from regard.data import read_rows
from regard.data.frames import SOURCE, TARGET, cell, is_file, is_missing, json_lines, pair_records, splits_of
from regard.errors import RegardError, Setting
from regard.fitting.experiment import Experiment, inferred, name_of_run
from regard.fitting.pair_columns import Sources
from regard.fitting.pair_model import refuse_model
from regard.fitting.pairs import Inferred
from regard.model import Model
from regard.model.building import make_columns
from regard.model.inputs import given_rows
from regard.parts import nearest
from regard.runs.run import RunFolder
from regard.spec import Spec
from regard.spec.document import Change, nested
from regard.training import Callback
from regard.training.callbacks import check_callbacks
from regard.zoo import find

OF_FILES = ("fields", "format", "images", "where")
"""Keys of a spec's `data` that describe files and do not apply to rows given in Python."""


class Sections(TypedDict, total=False):
    """Changes to the spec, as arguments of `fit`."""

    model: str | None
    name: str | None
    inputs: Mapping[str, Any] | None
    outputs: Mapping[str, Any] | None
    encoder: Any
    attention: Any
    decoder: Any
    search: Any
    training: Any
    metrics: str | Sequence[str] | None


def fit(
    data: Any,
    y: Any = None,
    *,
    source: str | Sequence[str] | None = None,
    target: str | None = None,
    dev: Any = None,
    test: Any = None,
    epochs: int | None = None,
    lr: float | None = None,
    batch: int | None = None,
    seed: int | None = None,
    start_from: str | PathLike[str] | Mapping[str, Any] | None = None,
    spec: str | PathLike[str] | Spec | Mapping[str, Any] | None = None,
    callbacks: Sequence[Callback] = (),
    run: str | PathLike[str] | None = None,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    device: str | None = None,
    quiet: bool = False,
    **sections: Unpack[Sections],
) -> Model | Any:
    """Train a model and save it in a folder. Returns a `Model`, or a `LanguageModel` if the spec's output is a stream.

        model = regard.fit("words.tsv")                              # a file of pairs
        model = regard.fit("words.tsv", model="transformer")
        model = regard.fit(frame, source="text", target="label")     # pandas, Polars, pyarrow, datasets.Dataset
        model = regard.fit(frame, source=["premise", "hypothesis"], target="label")
        model = regard.fit({"source": […], "target": […]}, epochs=5)
        model = regard.fit(X, y, dev=(X_dev, y_dev), encoder={"size": 64}, training={"lr": 3e-4})
        model = regard.fit([("cat", "K AE T"), …], spec="my.yaml")   # the spec's model on these data
        model = regard.fit("reverse")                                # a system of the zoo
        model = regard.fit(regard.Spec(inputs=…, data=…))            # a spec written in Python

    data, y          a file, a system of the zoo, a spec, or rows: a frame, a mapping of columns, pairs,
                     mappings, an array; with `y`, `data` are the inputs and `y` the targets. A
                     `datasets.DatasetDict` includes dev and test
    source, target   the columns of inputs and outputs; a.b is field b of a; default: `source` and `target`,
                     or the only two
    dev, test        data to choose the weights and to evaluate them: a file, rows as in `data`, or a pair (X,
                     y)
    epochs, lr, seed   of `training`
    batch            rows of a batch, `batch_rows` of `training`
    start_from       the folder of a trained model to start from; `{"run": folder, "vocabulary": "keep"}` keeps
                     its vocabularies
    spec             the model to train: a file, a system of the zoo, a `Spec` or a mapping; default: inferred
                     from the pairs
    callbacks        called after updates and evaluations; see `regard.training.Callback`
    run              the folder of the run; default: runs/NAME. If it already contains a run, the new run goes
                     to runs/NAME-2
    overwrite        replace the run in this folder instead
    overrides        `key.path=value` in YAML, as the command line takes them
    sections         changes to the spec: `inputs`, `outputs`, `encoder`, `attention`, `decoder`, `search`,
                     `training`, `metrics`, `name`. A mapping changes single values, or replaces the part if it
                     has a `type`: `encoder={"size": 64}`, `encoder={"type": "transformer", "layers": 2}`. For
                     pairs without a spec, `model` is the encoder, and the decoder of this name if there is one,
                     such as "transformer"; default: "recurrent"
    """
    start = None if start_from is None else _start(start_from)
    changes = fit_changes(
        sections, overrides, epochs=epochs, lr=lr, batch_rows=batch, seed=seed, start_from=start
    )
    checked = check_callbacks(callbacks)
    rows = FitRows.of(data, y, source=source, target=target, spec=spec, dev=dev, test=test)
    folder = _folder(run, rows, sections.get("name"), overwrite=overwrite)
    try:
        described, notes, remarks = rows.described(folder, changes)
        experiment = Experiment(described, folder, device=device, quiet=quiet, notes=notes, warnings=remarks)
    except BaseException:
        folder.close()
        raise
    experiment.callbacks = checked
    return experiment.train()


def fit_changes(sections: Mapping[str, Any], overrides: Sequence[str], **training: Any) -> list[Change]:
    """The changes to the spec that the arguments of `fit` say; None says nothing."""
    _check_sections(sections)
    settings = {**sections, **{f"training.{name}": value for name, value in training.items()}}
    changes: list[Change] = [
        change for path, value in settings.items() if value is not None for change in nested(path, value)
    ]
    return [*changes, *overrides]


def _check_sections(sections: Mapping[str, Any]) -> None:
    """Refuse arguments that `fit` does not have."""
    for name in sections:
        if name not in Sections.__annotations__:
            known = [*Sections.__annotations__, *(fit.__kwdefaults__ or ())]
            raise RegardError(f"fit has no argument {name!r}.", fix=nearest(name, known))


class FitRows:
    """The model and its data: a file, a spec with its own data, or rows given in Python."""

    def __init__(
        self, data: Any, y: Any, splits: Mapping[str, Any], source: Sources, target: str | None, spec: Any
    ) -> None:
        if is_file(data) and y is not None:
            raise RegardError("y cannot be combined with a data file.", where="y", fix="Leave y out.")
        self.data, self.y, self.splits, self.spec = data, y, splits, spec
        self.sources = [source] if isinstance(source, str) else list(source or ())
        self.target = target
        chosen = bool(self.sources) or target is not None
        if spec is not None and len(self.sources) > 1:
            raise RegardError(
                "the spec names its inputs.", where="source", fix="Set the `field` of each input in the spec."
            )
        self.given = data is not None and not (is_file(data) and (not chosen or spec is None))
        """Whether the training rows are written into the folder of the run."""
        self.named: tuple[list[str], str | None] = self.sources, target
        """The columns of the training data that are the inputs and the output."""

    @classmethod
    def of(
        cls, data: Any, y: Any, *, source: Sources, target: str | None, spec: Any, dev: Any, test: Any
    ) -> FitRows:
        """The rows of the arguments of `fit`."""
        splits = {
            **splits_of(data),
            **({} if dev is None else {"dev": dev}),
            **({} if test is None else {"test": test}),
        }
        data = splits.pop("train", data)
        if isinstance(data, Spec | Mapping) and spec is None and y is None and _is_spec(data):
            data, spec = None, data
        return cls(data, y, splits, source, target, spec)

    def name(self) -> str:
        if isinstance(self.spec, str | PathLike):
            return name_of_run(fspath(self.spec), inferred(fspath(self.spec), ()).spec)
        if self.spec is not None:
            return (
                self.spec.name if isinstance(self.spec, Spec) else str(self.spec.get("name", ""))
            ) or "model"
        return "pairs" if self.given else name_of_run(fspath(self.data), None)

    def described(self, folder: RunFolder, changes: Sequence[Change]) -> Inferred:
        """The spec to train, with notes on what was inferred; writes rows given in Python into the folder."""
        base = self._base()
        kept = {
            split: self._kept(folder, split, rows, base)
            for split, rows in {"train": self.data, **self.splits}.items()
            if rows is not None
        }
        if base is None:
            more = [Setting(f"data.{split}", file) for split, file in kept.items() if split != "train"]
            named = [Setting("name", "pairs")] if self.given else []
            sources, target = self.named
            return inferred(kept["train"], [*named, *more, *changes], source=sources or None, target=target)
        refuse_model(changes, "model")
        if "train" in kept:
            said = base.written().get("data") or {}
            options = {
                key: value for key, value in said.items() if key in ("hold_out", "references", "bad_rows")
            }
            if not self.given:
                options |= {key: said[key] for key in OF_FILES if key in said and key != "where"}
            changes = [Setting("data", {**options, **kept}), *changes]
        else:
            changes = [*(Setting(f"data.{split}", file) for split, file in kept.items()), *changes]
        return Inferred(base.changed(*changes), [], [])

    def _base(self) -> Spec | None:
        """The given spec, as an object, a mapping, a file or a system of the zoo; None if the data decide."""
        if isinstance(self.spec, Spec):
            return self.spec
        if isinstance(self.spec, Mapping):
            return Spec(**{str(key): value for key, value in self.spec.items()})
        return None if self.spec is None else find(fspath(self.spec))

    def _kept(self, folder: RunFolder, split: str, rows: Any, base: Spec | None) -> str:
        """The file of a split: the given one, or a new one in the folder of the run."""
        source = self.sources[0] if self.sources else None
        if is_file(rows) and (base is None or (source is None and self.target is None)):
            return str(fspath(rows))
        if is_file(rows):
            names = [source or SOURCE, self.target or TARGET]
            rows, y = list(read_rows(fspath(rows), fields=names)), None
        elif split == "train":
            y = self.y
        else:
            rows, y = _inputs_and_targets(rows, as_pair=self.y is not None)
        where = "data" if split == "train" else split
        if base is None:
            found = self._own_rows(rows, y, split, where)
        else:
            found = given_rows(
                rows, y, base, make_columns(base), source=source, target=self.target, where=where
            )
        name = "pairs" if split == "train" else split
        return str(folder.add_rows(json_lines(found), name))

    def _own_rows(self, rows: Any, y: Any, split: str, where: str) -> Iterable[Mapping[str, Any]]:
        """The columns of inputs and output, under the names of the training data, so that they can be predicted."""
        if y is None and not self.sources and self.target is None and _is_nested(rows):
            return [dict(row) for row in rows]  # the format of a file of these objects is recognized
        found, sources, target = pair_records(rows, y, self.sources, self.target, where=where)
        made = _pairs(found, [*sources, target], where)
        if split == "train":
            self.named = sources, target
            return made
        names = [*self.named[0], str(self.named[1])]
        return (dict(zip(names, row.values(), strict=True)) for row in made)


def _is_nested(rows: Any) -> bool:
    """Whether rows are objects with objects in them, such as chats."""
    first = rows[0] if isinstance(rows, list | tuple) and rows else None
    return isinstance(first, Mapping) and any(
        isinstance(value, list | tuple) and value and isinstance(value[0], Mapping)
        for value in first.values()
    )


def _inputs_and_targets(rows: Any, *, as_pair: bool) -> tuple[Any, Any]:
    """A pair (X, y) if the training rows are given so; everything else is rows."""
    if as_pair:
        if not isinstance(rows, tuple) or len(rows) != 2:
            raise RegardError("expected a pair (X, y), as for the training data.", where="dev, test")
        return rows
    return rows, None


def _pairs(found: list[dict[str, Any]], names: Sequence[str], where: str) -> Iterator[dict[str, Any]]:
    if not found:
        raise RegardError("there are no rows.", where=where)
    first = found[0]
    absent = [name for name in names if name not in first]
    if absent:
        raise RegardError(
            f"the columns are {', '.join(first)}; none is named {absent[0]}.",
            where=where,
            fix=f"Pass {' and '.join(f'{name}=…' for name in absent)}.",
        )
    for number, row in enumerate(found, 1):
        yield _cells({name: row.get(name) for name in names}, f"{where}, row {number}")


def _cells(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    for place, (name, value) in enumerate(row.items(), 1):
        if is_missing(value):
            side = TARGET if place == len(row) else SOURCE if len(row) == 2 else name
            raise RegardError(f"the {side} is missing.", where=where, fix="Leave the row out.")
    return {name: cell(value, f"{where}: {name}") for name, value in row.items()}


def _is_spec(data: Spec | Mapping[str, Any]) -> bool:
    return isinstance(data, Spec) or isinstance(data.get("outputs"), Mapping)


def _folder(
    run: str | PathLike[str] | None, rows: FitRows, name: str | None, *, overwrite: bool
) -> RunFolder:
    wanted = Path("runs") / (name or rows.name()) if run is None else Path(run)
    if overwrite:
        return RunFolder.start(wanted, overwrite=True)
    folder = RunFolder.start_beside(wanted)
    if run is not None and folder.path != Path(run).expanduser():
        warnings.warn(f"{run} already contains a run; the new run is written to {folder.path}.", stacklevel=3)
    return folder


def _start(value: str | PathLike[str] | Mapping[str, Any]) -> Any:
    """The folder to start from, as a spec writes it."""
    if isinstance(value, Mapping):
        return {key: fspath(one) if isinstance(one, PathLike) else one for key, one in value.items()}
    return fspath(value)
