"""Model: it answers inputs, and gives the probability of given outputs; and how a model of either class is opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, overload

import numpy as np
import torch

from regard.data import Batch, Batches, Dataset, Row
from regard.data.batch import in_order
from regard.data.columns import Column
from regard.data.encoding import EncodedRows, encode_rows
from regard.data.frames import values_of
from regard.errors import Message, Option, RegardError, ShellCommand
from regard.model.base import AnyModel
from regard.model.building import as_rows, refuse_unseen
from regard.model.inference import BatchInference, sample_keys
from regard.model.inputs import INPUT_REMEDY, Again, Input, input_row, one_or_several
from regard.model.language import LanguageModel
from regard.model.loading import naming_changes, read_spec
from regard.model.override import Overrides, by_row, check_reached, check_sampled
from regard.nn.network import answering, faults_named
from regard.parts import is_stream
from regard.reporting.terminal import printable
from regard.spec import Spec
from regard.spec.document import Change
from regard.spec.sections import QUICKEST, TrainingSpec
from regard.storage.hub import fetched
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.model.edits import Edit
    from regard.model.override import Override
    from regard.model.recording import TraceRecorder, TraceRecording

PREDICT_ROWS = 64
DEFAULT_BATCH_COST = 4000
Target = str | int | float
"""A given output, in the written form of its column."""


def _known_cost(options: TrainingSpec) -> int | None:
    """The maximum cost of a batch; None if it is not given, or still to be measured."""
    return None if options.batch_tokens == "auto" else options.batch_tokens


class SearchOptions(TypedDict, total=False):
    """The options of a search, for type checkers: those of the spec's `search`, and a seed."""

    seed: int | None
    method: Literal["greedy", "beam", "sample"] | None
    beam: int | None
    length_penalty: float | None
    n_best: int | None
    min_length: int | None
    max_length: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    replace_unknown: bool | None
    constraint: Any


class PredictOptions(SearchOptions, total=False):
    """The options of `Model.predict`, for type checkers."""

    output: str | None
    trace: bool
    samples: int
    batch_rows: int
    prefix: str | None
    ensemble: Sequence[Model]
    look: Overrides | None
    record: str | Sequence[str]


def check_several(answers: Sequence[Prediction], output: str) -> None:
    """Refuse to give several answers where there is only one: tags, a tree, a number."""
    if answers and not any(answer.alternatives for answer in answers):
        raise RegardError(
            f"the output {output!r} has one answer for each input.",
            where="n_best",
            fix="Leave it out. Texts have several answers, and labels, which have probabilities.",
        )


class Model(AnyModel):
    """A model that answers inputs.

        model = regard.load("runs/g2p")
        model.predict("attention").text

    A spec whose output is a text stream makes a `LanguageModel` instead, which continues a text.
    """

    continues = False

    @overload  # a str is an iterable of str, but one input here
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
        look: Overrides | None = None,
        record: str | Sequence[str] = (),
        **search: Unpack[SearchOptions],
    ) -> Prediction | list[Prediction]:
        """Predict the output of one input, or of several inputs in their order.

        inputs        one (a text; a mapping by the inputs' names; an image, video or audio), or several: a
                      list, an array of texts, a Series, a frame, a generator
        output        the name of the output, if the model has several
        trace         False leaves out the attention
        samples       number of segmentations of each step, or trees of a sentence, to draw
                      (`trace.structures`)
        batch_rows    number of inputs computed at a time; it does not change the answers
        prefix        the beginning of every output
        ensemble      additional models of the ensemble
        look          an override of the attention, for one input: a text, or a list of edits (`regard.model.edits`);
                      for several inputs, a list of edits for each
        record        what a trace holds beside the attention: "states" (gates and states of recurrent cells),
                      "beam" (the tree of the search), "times"; or a part of it, see `regard.model.recording`
        search        how a text is searched: `method`, `beam`, `length_penalty`, `n_best`, `min_length`,
                      `max_length`, `temperature`, `top_k`, `top_p`, `replace_unknown`, `constraint`, and the options
                      of your own search, as in the spec's `search`; default: from the spec. `n_best` is the number
                      of answers in `alternatives`: of the search, or the most probable labels. `max_length=None`:
                      the longest that the input's length allows. `seed` is that of all random draws; default:
                      `training.seed` of the spec. With `method="sample"`, the same input and seed give the same
                      answer, whatever else is in the call. Equal inputs in one call, and the `n_best` samples of
                      one input, are drawn independently.
        """
        several, single = one_or_several(inputs, [self.columns[name] for name in self.spec.inputs])
        default = {
            name
            for name, value in search.items()
            if value is None and name != "max_length" and self.spec.search.knows(name)
        }
        changes = {name: value for name, value in search.items() if name not in default}
        model = self.searching(**changes)
        if not several:
            return []
        edits = None
        if look is not None:
            looks = by_row(look, inputs=len(several), models=1 + len(ensemble))
            edits = self.edits(looks, output)
        with faults_named(lambda: [one.spec for one in (self, *ensemble)]):
            rows = self._encoded_inputs(several, edits, output)
            others = [(other, other._encoded([other.row(value) for value in several])) for other in ensemble]
            draws = model.spec.search.method.part.draws
            keys = sample_keys(rows.raw(number) for number in range(len(several))) if draws else []
            recording = _recording(record, trace=trace, models=1 + len(ensemble))
            found = []
            for batch in rows.batches(batch_rows if recording is None else 1):
                answers = model.answer(
                    batch,
                    output=output,
                    trace=trace,
                    samples=samples,
                    prefix=prefix,
                    ensemble=[(other, data.batch(batch.rows)) for other, data in others],
                    edits=None if edits is None else [edits[row] for row in batch.rows],
                    keys=[keys[row] for row in batch.rows] if keys else None,
                    recording=recording,
                )
                found.append((batch.rows, answers))
        answers = in_order(found)
        if edits is not None:
            for one, answer, given in zip(edits, answers, looks, strict=True):
                check_reached(one, answer, given)
        if samples and trace and not ensemble:
            check_sampled(answers[0])
        if (search.get("n_best") or 1) > 1:
            check_several(answers, self.output_name(output))
        if trace and not ensemble:
            options = {"output": output, "prefix": prefix, **search}
            answers = [
                replace(answer, again=Again(self, value, options))
                for answer, value in zip(answers, several, strict=True)
            ]
        return answers[0] if single else answers

    @overload
    def score(  # type: ignore[overload-overlap]
        self, inputs: Input, targets: Target, *, output: str | None = None, samples: int = 0,
        look: Overrides | None = None, record: str | Sequence[str] = (),
    ) -> Prediction: ...  # fmt: skip

    @overload
    def score(
        self, inputs: Iterable[Input], targets: Iterable[Target], *, output: str | None = None,
        samples: int = 0, look: Overrides | None = None, record: str | Sequence[str] = (),
    ) -> list[Prediction]: ...  # fmt: skip

    def score(
        self,
        inputs: Any,
        targets: Any,
        *,
        output: str | None = None,
        samples: int = 0,
        look: Overrides | None = None,
        record: str | Sequence[str] = (),
    ) -> Prediction | list[Prediction]:
        """Given outputs as predictions: their log-probabilities, and the attention of the model.

        output        the name of the output, if the model has several
        samples       as in `predict`
        look          as in `predict`, for one pair
        record        as in `predict`; nothing is searched, so there is no "beam"
        """
        several, single = one_or_several(inputs, [self.columns[name] for name in self.spec.inputs])
        alone = isinstance(targets, str | int | float | np.generic)
        wanted = [targets] if alone else values_of(targets, "targets")
        if alone != single or len(several) != len(wanted):
            raise RegardError(
                f"inputs: {len(several)}, targets: {len(wanted)}; "
                f"score takes one of each, or two lists of the same length."
            )
        if not several:
            return []
        edits = None
        if look is not None:
            edits = self.edits(by_row(look, inputs=len(several)), output)
        name = self.output_name(output)
        column = self.columns[name]
        with faults_named(lambda: self.spec):
            rows = [
                Row({**self.row(value), column.field: column.written(target)}, file="pair", line=number)
                for number, (value, target) in enumerate(zip(several, wanted, strict=True), 1)
            ]
            recording = _recording(record)
            answers = in_order(
                (
                    batch.rows,
                    self.score_batch(
                        batch,
                        name,
                        structures=True,
                        samples=samples,
                        edits=None if edits is None else [edits[row] for row in batch.rows],
                        recording=recording,
                    ),
                )
                for batch in self._encoded(rows, [name]).batches(1 if recording else PREDICT_ROWS)
            )
        return answers[0] if single else answers

    @torch.inference_mode()
    def score_batch(
        self,
        batch: Batch,
        output: str,
        *,
        structures: bool = False,
        samples: int = 0,
        ensemble: Sequence[tuple[Model, Batch]] = (),
        edits: Sequence[Sequence[Edit]] | None = None,
        recording: TraceRecording | None = None,
    ) -> list[Prediction]:
        """As `score`, for a batch with targets; `structures`: add structures and inputs to the traces;
        `edits`: those of each row; `recording`: for a batch of one row."""
        with answering(self, *(other for other, _ in ensemble)):
            inference = self.inference(batch, output, edits)
            recorder = _recorder(inference, recording)
            found = inference.given([other.inference(part, output) for other, part in ensemble])
            answers = inference.answers(found, given=True)
            if not structures:
                return answers
            answers = inference.seen(answers)
            if recorder is not None:
                return recorder.structured(answers, found, samples)
            return inference.structured(answers, found, samples)

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
        edits: Sequence[Sequence[Edit]] | None = None,
        keys: Sequence[int] | None = None,
        recording: TraceRecording | None = None,
    ) -> list[Prediction]:
        """Predictions for the rows of a batch.

        edits      the edits of each row (`edits` reads them)
        keys       a number for each row that, with the seed, determines its samples; default: the row's number in
                   the data
        recording  what to record of a batch of one row
        """
        name = self.output_name(output)
        with answering(self, *(other for other, _ in ensemble)):
            inference = self.inference(batch, name, edits)
            recorder = _recorder(inference, recording)
            others = [other.inference(part, name) for other, part in ensemble]
            find = inference.find if recorder is None else recorder.find
            found = find(prefix, others, keys)
            answers = inference.answers(found, trace=trace)
            count = self.spec.search.n_best
            if count > 1 and not self.network.decoders[name].stepwise:
                answers = [one.with_likely(count) if one.probabilities else one for one in answers]
            if not trace:
                return answers
            answers = inference.seen(answers)
            if recorder is not None:
                return recorder.structured(answers, found, samples)
            return answers if ensemble else inference.structured(answers, found, samples)

    def inference(
        self, batch: Batch, output: str, edits: Sequence[Sequence[Edit]] | None = None
    ) -> BatchInference:
        """Inference on a batch for one output; `edits`: those of each row."""
        return BatchInference(
            self.spec, self.columns, self.network, batch.to(self.network.device), output, edits
        )

    def edits(self, looks: Sequence[Override | None], output: str | None = None) -> list[list[Edit]]:
        """The overrides of several rows as edits, for `answer` and `score_batch`."""
        from regard.model.edits import read_edits

        decoder = self.network.decoders[self.output_name(output)]
        return [[] if look is None else read_edits(look, decoder) for look in looks]

    def _encoded_inputs(
        self, several: Sequence[Input], edits: Sequence[Sequence[Edit]] | None, output: str | None
    ) -> EncodedRows:
        """Inputs encoded in memory; with the truth beside them, if an edit asks for it."""
        rows = [self.row(value, number) for number, value in enumerate(several, 1)]
        if edits is None or not any(one.kind == "truth" for row in edits for one in row):
            return self._encoded(rows)
        from regard.model.edits.truth import with_truth

        wanted = self.network.truths[self.output_name(output)].values()
        beside = {name for column in wanted for name in (column, *self.columns[column].of)} - {
            *self.spec.inputs
        }
        return self._encoded(
            *with_truth(rows, several, {name: self.columns[name] for name in sorted(beside)})
        )

    def searching(self, **changes: Any) -> Self:
        """The same model with other search options."""
        return type(self)(self.spec.searching(changes), self.columns, self.network) if changes else self

    def output_name(self, output: str | None, how: str = "") -> str:
        """The asked output, or the only one; `how` a user names one, for the message, if not as an argument."""
        names = list(self.spec.outputs)
        if output is None and len(names) == 1:
            return names[0]
        if output not in names:
            asked = (
                "this model has several outputs" if output is None else f"this model has no output {output!r}"
            )
            raise RegardError(
                f"{asked}. The outputs are {', '.join(names)}.",
                fix=how.format(names[0]) if how else Message("Use ", Option("of", names[0])),
            )
        return output

    def row(self, value: Input, number: int = 0) -> Row:
        """An input as a row of the data."""
        return input_row(value, {name: self.columns[name] for name in self.spec.inputs}, number)

    def dataset(self, rows: Sequence[Row], outputs: Sequence[str] = ()) -> Dataset:
        """Rows encoded in memory, with the columns of the inputs and of some outputs."""
        return Dataset.build(rows, self._columns(outputs), remedy=INPUT_REMEDY)

    def _encoded(self, rows: Sequence[Row], outputs: Sequence[str] = ()) -> EncodedRows:
        return encode_rows(rows, self._columns(outputs), remedy=INPUT_REMEDY)

    def _columns(self, outputs: Sequence[str]) -> list[Column]:
        return [self.columns[name] for name in (*self.spec.inputs, *outputs)]

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
            batch_rows, batch_tokens = training.batch_rows, _known_cost(training)
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

    def training_batches(
        self, train: Dataset, *, world_size: int = 1, draw: Callable[..., Any] | None = None
    ) -> Batches:
        options = self.training_options
        return Batches(
            train,
            rows=options.batch_rows,
            cost=None if options.batch_rows else _known_cost(options) or DEFAULT_BATCH_COST,
            seed=options.seed,
            window=options.bucket,
            world_size=world_size,
            vary=True,
            workers=options.workers,
            draw=draw,
        )

    def example(self) -> list[str]:
        names = (f'{json.dumps(printable(name))}: "…"' for name in self.spec.inputs)
        given = '"…"' if len(self.spec.inputs) == 1 else f"{{{', '.join(names)}}}"
        return [
            f"prediction = model.predict({given})",
            "prediction.text, prediction.score  # the answer and its log-probability",
            "prediction.trace.print()  # the attention",
        ]

    def monitored(self) -> Self:
        quickest = self.spec.with_options("search", {"method": QUICKEST, "n_best": 1})
        return type(self)(quickest, self.columns, self.network)

    @classmethod
    def other_kind(cls, spec: Spec, call: str, where: str) -> RegardError:
        instead = ShellCommand(
            "generate", (where or "RUN",), {"prompt": "TEXT"}, python=f"regard.LanguageModel.{call}"
        )
        return RegardError(
            "this model reads no input: it continues a text.", where=where, fix=Message("Use  ", instead)
        )


def _recording(record: str | Sequence[str], *, trace: bool = True, models: int = 1) -> TraceRecording | None:
    """What to record; None: nothing."""
    if not record:
        return None
    if not trace or models > 1:
        raise RegardError(
            f"record works with a trace and no ensemble; received trace={trace} and {models} models.",
            where="record",
        )
    from regard.model.recording import read_recording

    return read_recording(record)


def _recorder(inference: BatchInference, recording: TraceRecording | None) -> TraceRecorder | None:
    if recording is None:
        return None
    from regard.model.recording import TraceRecorder

    return TraceRecorder(inference, recording)


def class_of(spec: Spec) -> type[AnyModel]:
    """The class of a spec's model."""
    return LanguageModel if is_stream(spec) else Model


def build(
    spec: Spec,
    columns: Mapping[str, Column] | None = None,
    *,
    rows: Iterable[Mapping[str, Any]] | None = None,
    read_files: bool = True,
) -> Model | Any:
    """As `Model.build`, for any spec: a `Model`, or a `LanguageModel` if the output is a text stream."""
    return class_of(spec).build(spec, columns, rows=rows, read_files=read_files)


def load(folder: str | Path, *, device: str | None = None, overrides: Sequence[Change] = ()) -> Model | Any:
    """Load a trained model from its folder, or from the Hugging Face Hub: `regard.load("hf:owner/name")`.

    Returns a `Model`, or a `LanguageModel` if it continues a text. For type checkers, `Model.load` and
    `LanguageModel.load` return one class, and refuse the other.
    """
    folder = fetched(folder)
    spec = read_spec(folder, overrides)
    with naming_changes(overrides):
        return class_of(spec).of_folder(folder, spec, device=device)
