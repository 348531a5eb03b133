"""Model: columns and a network, with one way in (rows) and one way out (predictions)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import torch

from regard.data import Batch, Batches, Dataset, Row
from regard.data.columns import Column
from regard.errors import RegardError
from regard.files import write_text
from regard.manifest import MODEL_FILES, claim
from regard.model.building import build_network, count_parameters
from regard.model.card import card
from regard.model.columns import as_rows, fitted_columns, make_columns, refuse_unseen
from regard.model.inference import BatchInference
from regard.model.inputs import Input, input_row, one_or_several
from regard.model.network import Network
from regard.model.order import in_order
from regard.model.override import Override, check_look
from regard.model.searching import sample_keys, searched
from regard.model.store import (
    CARD,
    COLUMNS,
    WEIGHTS,
    read_columns,
    read_metrics,
    read_spec,
    read_weights,
    write_columns,
    write_metrics,
    write_weights,
)
from regard.prediction import Prediction
from regard.spec import Spec
from regard.spec.saved import foreign_parts, write_spec

if TYPE_CHECKING:
    from regard.evaluation import Evaluation

INPUT_REMEDY = "Correct this input, or leave it out."
PREDICT_ROWS, DEFAULT_BATCH_COST = 64, 4000
Target = str | int | float
"""An output that is given, as its column writes it."""


class Model:
    """What a spec describes, with its vocabularies and weights.

        model = regard.load("runs/g2p")
        model.predict("attention").text

    spec      what it is
    columns   the typed fields of its data, fitted
    network   the torch module
    metrics   what was measured when it was trained
    """

    def __init__(self, spec: Spec, columns: Mapping[str, Column], network: Network) -> None:
        self.spec, self.columns, self.network = spec, dict(columns), network
        self.metrics: dict[str, Any] = {}

    @classmethod
    def build(
        cls,
        spec: Spec,
        columns: Mapping[str, Column] | None = None,
        *,
        rows: Iterable[Mapping[str, Any]] | None = None,
    ) -> Model:
        """A model with fresh weights, to be trained by `regard.fit` or by a loop of your own.

        columns   the typed fields of its data, fitted; or
        rows      the rows to fit them to: mappings from fields to values, or what `regard.data.read_rows` returns
        """
        if (columns is None) == (rows is None):
            raise RegardError(
                "expected either columns or rows.", where="Model.build", fix="Pass rows=…, the training data."
            )
        if columns is None:
            columns = fitted_columns(spec, rows or ())
        return cls(spec, columns, build_network(spec, columns))

    @classmethod
    def load(cls, folder: str | Path, *, device: str | None = None, overrides: Sequence[str] = ()) -> Model:
        """A finished model from its folder; `overrides` may change how it searches, not what it is."""
        folder = Path(folder).expanduser()
        spec = read_spec(folder, tuple(overrides))
        columns = read_columns(folder / COLUMNS)
        missing = [name for name in make_columns(spec) if name not in columns]
        if missing:
            raise RegardError(f"columns.json lacks {missing[0]!r}, which spec.yaml names.", where=str(folder))
        with torch.random.fork_rng(devices=[]):  # weights that are about to be replaced are drawn
            network = build_network(spec, columns, read_files=False)
        read_weights(folder / WEIGHTS, network)
        model = cls(spec, columns, network)
        model.metrics = read_metrics(folder)
        return model.to(device or best_device()).eval()

    def save(self, folder: str | Path) -> None:
        """Write the model's folder, each file atomically; refused where a file of another's would be replaced."""
        folder = Path(folder).expanduser()
        claim(folder, MODEL_FILES)
        write_columns(folder / COLUMNS, self.columns)
        write_spec(folder, self.spec)
        write_weights(folder / WEIGHTS, self.network)
        write_metrics(folder, self.metrics)
        parameters, parts = count_parameters(self.network), foreign_parts(self.spec)
        write_text(folder / CARD, card(self.spec, self.metrics, parameters, parts))

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    def to(self, device: str | torch.device) -> Model:
        self.network.to(device)
        return self

    def eval(self) -> Model:
        self.network.eval()
        return self

    @overload
    def predict(self, inputs: Input, **options: Any) -> Prediction: ...

    @overload
    def predict(self, inputs: Sequence[Input], **options: Any) -> list[Prediction]: ...

    def predict(self, inputs: Input | Sequence[Input], **options: Any) -> Prediction | list[Prediction]:
        """Answer one input, or several in the order they came.

        output        which output, where the model has several
        trace         False leaves out where it looked
        samples       how many segmentations of each step, or trees of a sentence, to draw (`trace.structures`)
        batch_rows    inputs computed at a time; the answers do not depend on it
        prefix        how every output must begin
        ensemble      other models to decide together with
        look          the attention to impose, for one input: `Override` of `regard.model.override`
        seed          of all that is drawn, default: the spec's `training.seed`. With `method="sample"`, the same input
                      and seed give the same answer, whatever else is in the call; equal inputs in one call, and the
                      `n_best` samples of one input, are drawn independently
        and the fields of the spec's `search`: method, beam, length_penalty, n_best, max_length, temperature, …
        """
        several, single = one_or_several(inputs)
        answers = self._predict(several, **options)
        return answers[0] if single else answers

    def _predict(
        self,
        inputs: Sequence[Input],
        *,
        output: str | None = None,
        trace: bool = True,
        samples: int = 0,
        batch_rows: int = PREDICT_ROWS,
        prefix: str | None = None,
        ensemble: Sequence[Model] = (),
        look: Override | None = None,
        **search: Any,
    ) -> list[Prediction]:
        if not inputs:
            return []
        check_look(look, inputs=len(inputs), models=1 + len(ensemble))
        model = self.searching(**search)
        dataset = self.dataset([self.row(value, number) for number, value in enumerate(inputs, 1)])
        others = [(other, other.dataset([other.row(value) for value in inputs])) for other in ensemble]
        keys: list[int] = []
        if model.spec.search.method == "sample":
            keys = sample_keys(dataset.raw(number) for number in range(len(inputs)))

        def answer(batch: Batch) -> list[Prediction]:
            beside = [(other, data.batch(batch.rows)) for other, data in others]
            return model.answer(
                batch,
                output=output,
                trace=trace,
                samples=samples,
                prefix=prefix,
                ensemble=beside,
                look=look,
                keys=[keys[row] for row in batch.rows] if keys else None,
            )

        batches = Batches(dataset, rows=batch_rows, shuffle=False)
        return in_order((batch.rows, answer(batch)) for batch in batches)

    @overload
    def score(self, inputs: Input, targets: Target, **options: Any) -> Prediction: ...

    @overload
    def score(
        self, inputs: Sequence[Input], targets: Sequence[Target], **options: Any
    ) -> list[Prediction]: ...

    def score(
        self, inputs: Input | Sequence[Input], targets: Target | Sequence[Target], **options: Any
    ) -> Prediction | list[Prediction]:
        """Given outputs as predictions: their log-probabilities, and where the model looks while it writes them.

        output        which output, where the model has several
        samples       as in `predict`
        look          as in `predict`, for one pair
        """
        several, single = one_or_several(inputs)
        wanted = targets if isinstance(targets, Sequence) and not isinstance(targets, str) else [targets]
        if (wanted is targets) == single or len(several) != len(wanted):
            raise RegardError(
                f"inputs: {len(several)}, targets: {len(wanted)}; "
                f"score takes one of each, or two lists of the same length."
            )
        answers = self._score(several, wanted, **options)
        return answers[0] if single else answers

    def _score(
        self,
        inputs: Sequence[Input],
        targets: Sequence[Target],
        *,
        output: str | None = None,
        samples: int = 0,
        look: Override | None = None,
    ) -> list[Prediction]:
        if not inputs:
            return []
        check_look(look, inputs=len(inputs))
        name = self.output_name(output)
        column = self.columns[name]
        rows = [
            Row({**self.row(value), column.field: column.written(target)}, file="pair", line=number)
            for number, (value, target) in enumerate(zip(inputs, targets, strict=True), 1)
        ]
        batches = Batches(self.dataset(rows, [name]), rows=PREDICT_ROWS, shuffle=False)
        return in_order(
            (batch.rows, self.score_batch(batch, name, structures=True, samples=samples, look=look))
            for batch in batches
        )

    def evaluate(
        self,
        split: str | None = None,
        *,
        data: str | Path | Sequence[str | Path] = (),
        metrics: Sequence[str] = (),
        ensemble: Sequence[Model] = (),
    ) -> Evaluation:
        """What it does on rows it has not seen: `model.evaluate(data="new.tsv").scores["per"].value`.

        split      of the data it learned from; default: test, or where there is none dev, as `remarks` then says
        data       a file or files like those, instead of a split
        metrics    the spec's, or what is usual for the output, where none are named
        ensemble   other models to decide together with
        """
        from regard.evaluation import measure

        files = [data] if isinstance(data, str | Path) else data
        return measure(
            self, metrics, files=[*map(str, files)], splits=[split] if split else (), ensemble=ensemble
        )

    @torch.inference_mode()
    def score_batch(
        self,
        batch: Batch,
        output: str,
        *,
        structures: bool = False,
        samples: int = 0,
        ensemble: Sequence[tuple[Model, Batch]] = (),
        look: Override | None = None,
    ) -> list[Prediction]:
        """As `score`, for a batch that holds the targets; with `structures`, traces hold those and what was seen."""
        with answering(self, *(other for other, _ in ensemble)):
            inference = self._inference(batch, output, look)
            found = inference.given([other._inference(part, output) for other, part in ensemble])
            answers = inference.answers(found)
            return inference.structured(inference.seen(answers), found, samples) if structures else answers

    @torch.inference_mode()
    def answer(
        self,
        batch: Batch,
        *,
        output: str | None = None,
        trace: bool = True,
        samples: int = 0,
        prefix: str | None = None,
        ensemble: Sequence[tuple[Model, Batch]] = (),
        look: Override | None = None,
        keys: Sequence[int] | None = None,
    ) -> list[Prediction]:
        """Predictions for the rows of a batch; `look` imposes the attention on a batch of one.

        keys   a number for each row, which with the seed determines its samples; default: the row's number in the data
        """
        name = self.output_name(output)
        with answering(self, *(other for other, _ in ensemble)):
            inference = self._inference(batch, name, look)
            found = inference.find(prefix, [other._inference(part, name) for other, part in ensemble], keys)
            answers = inference.answers(found, trace=trace)
            if not trace:
                return answers
            answers = inference.seen(answers)
            return answers if ensemble else inference.structured(answers, found, samples)

    def _inference(self, batch: Batch, output: str, look: Override | None = None) -> BatchInference:
        return BatchInference(self.spec, self.columns, self.network, batch.to(self.device), output, look)

    def searching(self, **changes: Any) -> Model:
        """The same model with other search options."""
        return Model(searched(self.spec, changes), self.columns, self.network) if changes else self

    def output_name(self, output: str | None) -> str:
        names = list(self.spec.outputs)
        if output is None and len(names) == 1:
            return names[0]
        if output not in names:
            asked = "which output" if output is None else f"no output {output!r}"
            raise RegardError(
                f"{asked}? This model has {', '.join(names)}.", fix=f"Pass output={names[0]!r}."
            )
        return output

    def row(self, value: Input, number: int = 0) -> Row:
        """An input as a row of the data."""
        return input_row(value, {name: self.columns[name] for name in self.spec.inputs}, number)

    def dataset(self, rows: Sequence[Row], outputs: Sequence[str] = ()) -> Dataset:
        """Rows encoded in memory, with the inputs' columns and those of some outputs."""
        columns = [self.columns[name] for name in (*self.spec.inputs, *outputs)]
        return Dataset.build(rows, columns, remedy=INPUT_REMEDY)

    def batches(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        batch_rows: int | None = None,
        batch_tokens: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
    ) -> Batches:
        """Rows with inputs, outputs and truth as batches for `network`: `for batch in model.batches(rows).epoch(3)`.

        batch_rows, batch_tokens   limits of a batch, as in the spec's `training`; its own where both are absent
        seed, shuffle              with the number of the epoch they determine the order
        """
        training = self.spec.training
        if batch_rows is None and batch_tokens is None:
            batch_rows, batch_tokens = training.batch_rows, training.batch_tokens
        if batch_rows is None and batch_tokens is None:
            batch_tokens = DEFAULT_BATCH_COST
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
        """For each output the summed −log p of the truth, and the number of items."""
        sums: dict[str, tuple[float, float]] = {}
        with torch.inference_mode(), answering(self):
            for batch in batches:
                for name, loss in self.network(batch.to(self.device)).items():
                    total, count = sums.get(name, (0.0, 0.0))
                    likelihood = loss.parts.get("likelihood", loss.total)
                    sums[name] = total + float(likelihood), count + float(loss.count)
        return sums


@contextmanager
def answering(*models: Model) -> Iterator[None]:
    """Networks in evaluation mode, and afterwards, part by part, in the mode they were in."""
    training = [part for model in models for part in model.network.modules() if part.training]
    for model in models:
        if training:
            model.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def best_device() -> str:
    """cuda where there is one, else cpu."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def load(folder: str | Path, *, device: str | None = None) -> Model:
    """A trained model from its folder."""
    return Model.load(folder, device=device)
