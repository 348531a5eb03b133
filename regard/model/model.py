"""Model: columns and a network; it takes rows and returns predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from regard.data import Batch, Batches, Dataset
from regard.data.columns import Column
from regard.errors import RegardError
from regard.model.budget import Budget
from regard.model.building import build_network, count_parameters
from regard.model.card import card
from regard.model.columns import as_rows, fitted_columns, make_columns, refuse_unseen
from regard.model.device import named_device
from regard.model.inputs import given_rows, is_files
from regard.model.language import LanguageModel
from regard.model.predicting import PredictingModel
from regard.model.store import (
    CARD,
    COLUMNS,
    WEIGHTS,
    check_digests,
    read_columns,
    read_metrics,
    read_spec,
    read_weights,
    weight_shapes,
    write_columns,
    write_metrics,
    write_weights,
)
from regard.nn.network import Network, answering
from regard.parts import faults_named
from regard.spec import Spec
from regard.spec.changes import Change
from regard.spec.saved import foreign_parts, write_spec
from regard.storage.files import write_text
from regard.storage.hub import fetched
from regard.storage.manifest import MODEL_FILES, claim

if TYPE_CHECKING:
    from regard.evaluation import Evaluation

DEFAULT_BATCH_COST = 4000


class Model(PredictingModel, LanguageModel):
    """The model of a spec, with its vocabularies and weights.

        model = regard.load("runs/g2p")
        model.predict("attention").text

    spec      its description
    columns   the fitted, typed fields of its data
    network   the torch module
    metrics   the results of its training
    folder    the folder it was loaded from or trained in; None if it is only in memory
    """

    def __init__(self, spec: Spec, columns: Mapping[str, Column], network: Network) -> None:
        super().__init__(spec, columns, network)
        self.metrics: dict[str, Any] = {}
        self.folder: Path | None = None

    @classmethod
    def build(
        cls,
        spec: Spec,
        columns: Mapping[str, Column] | None = None,
        *,
        rows: Iterable[Mapping[str, Any]] | None = None,
    ) -> Model:
        """A model with new weights, to be trained by `regard.fit` or by your own loop.

        columns   the fitted, typed fields of its data; or
        rows      the rows to fit them to: mappings from fields to values, or the result of
                  `regard.data.read_rows`
        """
        if (columns is None) == (rows is None):
            raise RegardError(
                "expected exactly one of columns and rows.",
                where="Model.build",
                fix="Pass rows=…, the training data.",
            )
        with faults_named(lambda: spec):
            if columns is None:
                columns = fitted_columns(spec, rows or ())
            return cls(spec, columns, build_network(spec, columns))

    @classmethod
    def load(
        cls, folder: str | Path, *, device: str | None = None, overrides: Sequence[Change] = ()
    ) -> Model:
        """Load a finished model from its folder or the Hub (`hf:owner/name`). `overrides` change only
        the search."""
        folder = fetched(folder)
        where = named_device(device or best_device())
        spec = read_spec(folder, overrides)
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
            sizes=sizes,
            vocabularies={n: column.size for n, column in self.columns.items() if hasattr(column, "size")},
        )

    @property
    def device(self) -> torch.device:
        return self.network.device

    def to(self, device: str | torch.device) -> Model:
        self.network.to(device)
        return self

    def eval(self) -> Model:
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
        ensemble: Sequence[Model] = (),
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
        lines = [f"Model({self.spec.name or (self.folder.name if self.folder else '')!r})"]
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

    def batches(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        batch_rows: int | None = None,
        batch_tokens: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
    ) -> Batches:
        """Batches of rows with inputs, outputs and truth: `for batch in model.batches(rows).epoch(3)`.

        batch_rows, batch_tokens   limits of a batch, as in the spec's `training`; default: from the spec
        seed, shuffle              determine the order, together with the epoch
        """
        training = self.spec.training
        if batch_rows is None and batch_tokens is None:
            batch_rows, batch_tokens = training.batch_rows, training.batch_tokens
        if batch_rows is None and batch_tokens is None:
            batch_tokens = DEFAULT_BATCH_COST
        self._refuse_stream("batches")
        known = as_rows(rows, self.columns)
        refuse_unseen(known, self.columns)
        dataset = Dataset.build(
            known,
            self.columns.values(),
            remedy="Correct the row, or leave it out.",
        )
        return Batches(
            dataset, rows=batch_rows, cost=batch_tokens, seed=seed, shuffle=shuffle, window=training.bucket
        )

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


def load(folder: str | Path, *, device: str | None = None) -> Model:
    """Load a trained model from its folder, or from the Hugging Face Hub: `regard.load("hf:owner/name")`."""
    return Model.load(folder, device=device)
