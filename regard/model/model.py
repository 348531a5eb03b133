"""Model: columns and a network, with one way in (rows) and one way out (predictions)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np
import torch

from regard.data import Batch, Batches, Dataset, Row
from regard.data.columns import Column
from regard.data.frames import values_of
from regard.device import named_device
from regard.errors import RegardError
from regard.files import write_text
from regard.manifest import MODEL_FILES, claim
from regard.model.budget import Budget
from regard.model.building import build_network, count_parameters
from regard.model.card import card
from regard.model.columns import as_rows, fitted_columns, make_columns, refuse_unseen
from regard.model.inference import BatchInference
from regard.model.inputs import INPUT_REMEDY, Input, given_rows, input_row, is_files, one_or_several
from regard.model.language import LanguageModel
from regard.model.modes import answering
from regard.model.network import Network
from regard.model.order import in_order
from regard.model.override import Override, check_look, check_reached, check_sampled
from regard.model.searching import sample_keys, searched
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
from regard.prediction import Prediction
from regard.sharing import fetched
from regard.spec import Spec
from regard.spec.saved import foreign_parts, write_spec

if TYPE_CHECKING:
    from regard.evaluation import Evaluation

PREDICT_ROWS, DEFAULT_BATCH_COST = 64, 4000
Target = str | int | float
"""An output that is given, as its column writes it."""
Method = Literal["greedy", "beam", "sample"]


class PredictOptions(TypedDict, total=False):
    """The options of `Model.predict`, for type checkers."""

    output: str | None
    trace: bool
    samples: int
    batch_rows: int
    prefix: str | None
    ensemble: Sequence[Model]
    look: Override | None
    seed: int | None
    method: Method | None
    beam: int | None
    length_penalty: float | None
    n_best: int | None
    min_length: int | None
    max_length: int | Literal["spec"] | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    replace_unknown: bool | None


class Model(LanguageModel):
    """What a spec describes, with its vocabularies and weights.

        model = regard.load("runs/g2p")
        model.predict("attention").text

    spec      what it is
    columns   the typed fields of its data, fitted
    network   the torch module
    metrics   what was measured when it was trained
    folder    where it was loaded from, or trained; None where it is in memory alone
    """

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
        """A finished model from its folder, or from the Hub (`hf:owner/name`); `overrides` may change how it
        searches, not what it is."""
        folder = fetched(folder)
        where = named_device(device or best_device())
        spec = read_spec(folder, tuple(overrides))
        check_digests(folder)
        columns = read_columns(folder / COLUMNS)
        missing = [name for name in make_columns(spec) if name not in columns]
        if missing:
            raise RegardError(f"columns.json lacks {missing[0]!r}, which spec.yaml names.", where=str(folder))
        budget = Budget(folder / WEIGHTS, weight_shapes(folder).values())
        with torch.random.fork_rng(devices=[]), budget:  # weights that are about to be replaced are drawn
            network = build_network(spec, columns, read_files=False)
        read_weights(folder / WEIGHTS, network)
        model = cls(spec, columns, network)
        model.metrics, model.folder = read_metrics(folder), folder
        return model.to(where).eval()

    def save(self, folder: str | Path) -> None:
        """Write the model's folder, each file atomically; refused where a file of another's would be replaced."""
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

    def to(self, device: str | torch.device) -> Model:
        self.network.to(device)
        return self

    def eval(self) -> Model:
        self.network.eval()
        return self

    @overload  # a str is an iterable of str, and one input here
    def predict(  # type: ignore[overload-overlap]
        self, inputs: Input, **options: Unpack[PredictOptions]
    ) -> Prediction: ...

    @overload
    def predict(self, inputs: Iterable[Input], **options: Unpack[PredictOptions]) -> list[Prediction]: ...

    def predict(
        self,
        inputs: Any,
        *,
        output: str | None = None,
        trace: bool = True,
        samples: int = 0,
        batch_rows: int = PREDICT_ROWS,
        prefix: str | None = None,
        ensemble: Sequence[Model] = (),
        look: Override | None = None,
        seed: int | None = None,
        method: Method | None = None,
        beam: int | None = None,
        length_penalty: float | None = None,
        n_best: int | None = None,
        min_length: int | None = None,
        max_length: int | Literal["spec"] | None = "spec",
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        replace_unknown: bool | None = None,
    ) -> Prediction | list[Prediction]:
        """Answer one input, or several in the order they came.

        inputs        one (a text; a mapping by the inputs' names; a picture, film or sound), or several: a list, an
                      array of texts, a Series, a frame, a generator
        output        which output, where the model has several
        trace         False leaves out where it looked
        samples       how many segmentations of each step, or trees of a sentence, to draw (`trace.structures`)
        batch_rows    inputs computed at a time; the answers do not depend on it
        prefix        how every output must begin
        ensemble      additional models of the ensemble
        look          the attention to impose, for one input: `Override` of `regard.model.override`
        seed          of all that is drawn, default: the spec's `training.seed`. With `method="sample"`, the same input
                      and seed give the same answer, whatever else is in the call; equal inputs in one call, and the
                      `n_best` samples of one input, are drawn independently
        method, …     how a text is searched for, as in the spec's `search`; default: as the spec says.
                      `max_length=None` is the longest that the input's length allows
        """
        self._refuse_stream("predict")
        several, single = one_or_several(inputs)
        changes: dict[str, Any] = {
            "seed": seed,
            "method": method,
            "beam": beam,
            "length_penalty": length_penalty,
            "n_best": n_best,
            "min_length": min_length,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "replace_unknown": replace_unknown,
        }
        changes = {name: value for name, value in changes.items() if value is not None}
        if max_length != "spec":
            changes["max_length"] = max_length
        answers = self._predict(
            several,
            self.searching(**changes),
            output=output,
            trace=trace,
            samples=samples,
            batch_rows=batch_rows,
            prefix=prefix,
            ensemble=ensemble,
            look=look,
        )
        return answers[0] if single else answers

    def _predict(
        self,
        inputs: Sequence[Input],
        model: Model,
        *,
        output: str | None,
        trace: bool,
        samples: int,
        batch_rows: int,
        prefix: str | None,
        ensemble: Sequence[Model],
        look: Override | None,
    ) -> list[Prediction]:
        if not inputs:
            return []
        check_look(look, inputs=len(inputs), models=1 + len(ensemble))
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
        answers = in_order((batch.rows, answer(batch)) for batch in batches)
        if look is not None:
            check_reached(look, answers[0])
        if samples and trace and not ensemble:
            check_sampled(answers[0])
        return answers

    @overload
    def score(  # type: ignore[overload-overlap]
        self, inputs: Input, targets: Target, *, output: str | None = None, samples: int = 0,
        look: Override | None = None,
    ) -> Prediction: ...  # fmt: skip

    @overload
    def score(
        self, inputs: Iterable[Input], targets: Iterable[Target], *, output: str | None = None,
        samples: int = 0, look: Override | None = None,
    ) -> list[Prediction]: ...  # fmt: skip

    def score(
        self,
        inputs: Any,
        targets: Any,
        *,
        output: str | None = None,
        samples: int = 0,
        look: Override | None = None,
    ) -> Prediction | list[Prediction]:
        """Given outputs as predictions: their log-probabilities, and where the model looks while it writes them.

        output        which output, where the model has several
        samples       as in `predict`
        look          as in `predict`, for one pair
        """
        self._refuse_stream("score")
        several, single = one_or_several(inputs)
        alone = isinstance(targets, str | int | float | np.generic)
        wanted = [targets] if alone else values_of(targets, "targets")
        if alone != single or len(several) != len(wanted):
            raise RegardError(
                f"inputs: {len(several)}, targets: {len(wanted)}; "
                f"score takes one of each, or two lists of the same length."
            )
        answers = self._score(several, wanted, output=output, samples=samples, look=look)
        return answers[0] if single else answers

    def _score(
        self,
        inputs: Sequence[Input],
        targets: Sequence[Target],
        *,
        output: str | None,
        samples: int,
        look: Override | None,
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

    def _refuse_stream(self, what: str) -> None:
        if not self.spec.inputs:
            instead = "surprise(text)" if what == "score" else "generate(prompt)"
            command = "score RUN TEXT" if what == "score" else "generate RUN --prompt TEXT"
            raise RegardError(
                "this model reads no input: it continues a text.",
                where=what,
                fix=f"Use  regard {command}  or, in Python,  model.{instead}.",
            )

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
        """What it does on rows it has not seen: `model.evaluate(data="new.tsv").scores["per"].value`.

        split            of the data it learned from; default: test, or where there is none dev, as `remarks` then says
        data, y          instead of a split: a file or files like those, or rows as `regard.fit` takes them
        source, target   the columns of these rows, as in `regard.fit`
        metrics          the spec's, or what is usual for the output, where none are named
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
        self._refuse_stream("predict")
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
        """For each output the summed −log p of the truth, and the number of items."""
        sums: dict[str, tuple[float, float]] = {}
        with torch.inference_mode(), answering(self):
            for batch in batches:
                for name, loss in self.network(batch.to(self.device)).items():
                    total, count = sums.get(name, (0.0, 0.0))
                    likelihood = loss.parts.get("likelihood", loss.total)
                    sums[name] = total + float(likelihood), count + float(loss.count)
        return sums


def best_device() -> str:
    """cuda where there is one, else cpu."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def load(folder: str | Path, *, device: str | None = None) -> Model:
    """A trained model from its folder, or shared on the Hugging Face Hub: `regard.load("hf:owner/name")`."""
    return Model.load(folder, device=device)
