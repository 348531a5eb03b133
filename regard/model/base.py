"""AnyModel: what a model that answers and a model that continues a text have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch

from regard.data import Batch, Batches, Dataset, StreamBatches
from regard.data.columns import Column
from regard.errors import RegardError
from regard.model.budget import Budget
from regard.model.building import build_network, count_parameters, fitted_columns, make_columns
from regard.model.inputs import given_rows, is_files
from regard.model.loading import (
    check_digests,
    naming_changes,
    read_columns,
    read_metrics,
    read_spec,
    read_weights,
    weight_shapes,
)
from regard.model.saving import CARD, COLUMNS, WEIGHTS, card, write_columns, write_metrics, write_weights
from regard.nn.network import Network, answering, faults_named
from regard.parts import is_stream
from regard.spec import Spec, TrainingSpec
from regard.spec.document import Change
from regard.spec.spec import foreign_parts, write_spec
from regard.storage.files import write_text
from regard.storage.hub import fetched
from regard.storage.manifest import MODEL_FILES, claim

if TYPE_CHECKING:
    from regard.evaluation import Evaluation


class AnyModel:
    """The model of a spec, with its vocabularies and weights: a `Model` or a `LanguageModel`.

    spec      its description
    columns   the fitted, typed fields of its data
    network   the torch module
    metrics   the results of its training
    folder    the folder it was loaded from or trained in; None if it is only in memory
    """

    continues: ClassVar[bool | None] = None
    """Whether it continues a text, or answers inputs; None: this base class, which does neither."""

    def __init__(self, spec: Spec, columns: Mapping[str, Column], network: Network) -> None:
        self.spec, self.columns, self.network = spec, dict(columns), network
        self.metrics: dict[str, Any] = {}
        self.folder: Path | None = None

    @classmethod
    def build(
        cls,
        spec: Spec,
        columns: Mapping[str, Column] | None = None,
        *,
        rows: Iterable[Mapping[str, Any]] | None = None,
        read_files: bool = True,
    ) -> Self:
        """A model with new weights, to be trained by `regard.fit` or by your own loop.

        columns   the fitted, typed fields of its data; or
        rows      the rows to fit them to: mappings from fields to values, or the result of
                  `regard.data.read_rows`
        read_files   False: do not read pretrained vectors, because the weights will be loaded
        """
        if (columns is None) == (rows is None):
            raise RegardError(
                "expected exactly one of columns and rows.",
                where=f"{cls.__name__}.build",
                fix="Pass rows=…, the training data.",
            )
        cls.check_kind(spec, "build(spec, …)", spec.name)
        with faults_named(lambda: spec):
            if columns is None:
                columns = fitted_columns(spec, rows or ())
            return cls(spec, columns, build_network(spec, columns, read_files=read_files))

    @classmethod
    def load(cls, folder: str | Path, *, device: str | None = None, overrides: Sequence[Change] = ()) -> Self:
        """Load a finished model from its folder or the Hub (`hf:owner/name`). `overrides` change only
        the search."""
        folder = fetched(folder)
        spec = read_spec(folder, overrides)
        cls.check_kind(spec, f"load({str(folder)!r})", str(folder))
        with naming_changes(overrides):
            return cls.of_folder(folder, spec, device=device)

    @classmethod
    def of_folder(cls, folder: Path, spec: Spec, *, device: str | None = None) -> Self:
        """The model in a folder whose spec was read."""
        where = named_device(device or best_device())
        check_digests(folder)
        columns = read_columns(folder / COLUMNS)
        missing = [name for name in make_columns(spec) if name not in columns]
        if missing:
            raise RegardError(f"columns.json lacks {missing[0]!r}, which spec.yaml names.", where=str(folder))
        budget = Budget(folder / WEIGHTS, weight_shapes(folder).values())
        with (
            faults_named(lambda: spec),
            torch.random.fork_rng(devices=[]),
            budget,
        ):  # initial weights are drawn, then replaced
            network = build_network(spec, columns, read_files=False)
        read_weights(folder / WEIGHTS, network)
        model = cls(spec, columns, network)
        model.metrics, model.folder = read_metrics(folder), folder
        return model.to(where).eval()

    @classmethod
    def check_kind(cls, spec: Spec, call: str, where: str) -> None:
        """Refuse the spec of a model of the other class, and name the `call` of that class."""
        if is_stream(spec) != cls.continues:
            raise cls.other_kind(spec, call, where)

    @classmethod
    def other_kind(cls, spec: Spec, call: str, where: str) -> RegardError:
        """The error for a spec of the other class."""
        return RegardError(
            "AnyModel is the base of Model and LanguageModel.", where=where, fix=f"Use  regard.model.{call}"
        )

    def save(self, folder: str | Path) -> None:
        """Write the model's folder, each file atomically. Files not written by regard are never replaced."""
        folder = Path(folder).expanduser()
        claim(folder, MODEL_FILES)
        write_columns(folder / COLUMNS, self.columns)
        write_spec(folder, self.spec)
        write_weights(folder / WEIGHTS, self.network)
        write_metrics(folder, self.metrics)
        write_text(folder / CARD, self._card())

    def _card(self) -> str:
        sizes = {
            f"encoder of {name}": count_parameters(self.network.reader(name)) for name in self.network.readers
        }
        sizes |= {f"decoder of {name}": count_parameters(one) for name, one in self.network.decoders.items()}
        return card(
            self.spec,
            self.metrics,
            count_parameters(self.network),
            foreign_parts(self.spec),
            example=self.example(),
            sizes=sizes,
            vocabularies={n: column.size for n, column in self.columns.items() if hasattr(column, "size")},
        )

    def example(self) -> list[str]:
        """Lines of Python that use `model`, for its card."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        return self.network.device

    def to(self, device: str | torch.device) -> Self:
        self.network.to(device)
        return self

    def eval(self) -> Self:
        self.network.eval()
        return self

    def evaluate(
        self,
        split: str | None = None,
        *,
        data: Any = None,
        y: Any = None,
        source: str | None = None,
        target: str | None = None,
        metrics: Sequence[str] = (),
        ensemble: Sequence[AnyModel] = (),
    ) -> Evaluation:
        """Evaluate on unseen rows: `model.evaluate(data="new.tsv").scores["per"].value`.

        split            of the training data's splits; default: test, or dev if there is no test, which
                         `remarks` then says
        data, y          instead of a split: files in the same format, or rows as in `regard.fit`
        source, target   the columns of these rows, as in `regard.fit`
        metrics          default: from the spec, or the usual ones for the output
        ensemble         additional models of the ensemble
        """
        from regard.evaluation import measure

        files = [data] if isinstance(data, str | Path) else data
        splits = [split] if split else ()
        if y is None and (files is None or is_files(files)):
            return measure(self, metrics, files=[*map(str, files or ())], splits=splits, ensemble=ensemble)
        rows = given_rows(data, y, self.spec, self.columns, source=source, target=target)
        return measure(self, metrics, rows=rows, ensemble=ensemble)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}({self.spec.name or (self.folder.name if self.folder else '')!r})"]
        for role in ("inputs", "outputs"):
            for name in getattr(self.spec, role):
                column = self.columns[name]
                kind = getattr(self.spec, role)[name].type
                size = f", {column.size:,} in the vocabulary" if hasattr(column, "size") else ""
                lines.append(f"  {'reads' if role == 'inputs' else 'writes':<7}{name}: {kind}{size}")
        lines.append(f"  {count_parameters(self.network):,} parameters on {self.device}")
        for split, scores in self.metrics.get("scores", {}).items():
            figures = ", ".join(f"{name} {score['value']:.4g}" for name, score in scores.items())
            lines.append(f"  {split}: {figures}")
        if self.folder is not None:
            lines.append(f"  in {self.folder}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The notebook view: what it reads and writes, its size, its scores, and the curve of its training."""
        from regard.inspect import notebook_table, notebook_title

        name = self.spec.name or (self.folder.name if self.folder else "model")
        note = f"{count_parameters(self.network):,} parameters on {self.device}"
        columns = [
            [
                "reads" if role == "inputs" else "writes",
                name,
                part.type,
                getattr(self.columns[name], "size", ""),
            ]
            for role in ("inputs", "outputs")
            for name, part in getattr(self.spec, role).items()
        ]
        scores = [
            [split, name, score["value"], score.get("n", "")]
            for split, found in self.metrics.get("scores", {}).items()
            for name, score in found.items()
        ]
        parts = [
            notebook_title(name, note),
            notebook_table(("", "column", "type", "vocabulary"), columns),
            notebook_table(("split", "metric", "value", "n"), scores),
        ]
        if self.folder is not None:
            parts.append(notebook_title("", f"in {self.folder}"))
        return "".join(parts)

    def monitored(self) -> Self:
        """The model as it is measured during training: with the fastest search, if it searches."""
        return self

    @property
    def training_options(self) -> TrainingSpec:
        """The section `training` of the spec, with the defaults of this class."""
        return self.spec.training

    def training_batches(
        self, train: Dataset, *, world_size: int = 1, draw: Callable[..., Any] | None = None
    ) -> Batches | StreamBatches:
        """The batches of the training data, as the spec's `training` describes them.

        draw   the rows of an epoch, as a curriculum draws them
        """
        raise NotImplementedError

    def losses(self, batches: Iterator[Batch]) -> dict[str, tuple[float, float]]:
        """For each output, the sum of −log p of the truth, and the number of items."""
        sums: dict[str, tuple[float, float]] = {}
        with torch.inference_mode(), answering(self):
            for batch in batches:
                for name, loss in self.network(batch.to(self.device)).items():
                    total, count = sums.get(name, (0.0, 0.0))
                    likelihood = loss.parts.get("likelihood", loss.total)
                    sums[name] = total + float(likelihood), count + float(loss.count)
        return sums


def best_device() -> str:
    """cuda if it is available, else cpu."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def named_device(name: str | torch.device) -> torch.device:
    """The device of this name; raises an error if it does not exist or is not on this machine."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # fails on `meta` too, where nothing can be computed
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        found = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        if torch.backends.mps.is_available():
            found.append("mps")
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        if "device string" in reason or "device type at start" in reason:
            reason = "expected cpu, cuda, cuda:1 or mps"
        raise RegardError(
            f"{str(name)!r} cannot be used: {reason}.",
            where="device",
            fix=f"This machine has {', '.join([*found, 'cpu'])}.",
        ) from None
    return device
