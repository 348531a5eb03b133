"""Evaluation: the metrics of each output; answers against the references, attention against the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from torch import distributed

from regard.data import Dataset
from regard.errors import Option, RegardError
from regard.evaluation.evaluation import Evaluation
from regard.evaluation.inference import Ensemble, ModelInference, output_info, references
from regard.evaluation.sharing import ALONE, Sharing
from regard.evaluation.streaming import StreamInference
from regard.metrics import (
    Metric,
    OutputInfo,
    OutputMetric,
    RowMetric,
    classification,
    find_metric,
    metric,
    metric_names,
    unknown_metrics,
)
from regard.nn.network import answering, faults_named

if TYPE_CHECKING:
    from regard.model import AnyModel, LanguageModel, Model

LOSS = "loss"


def evaluate(
    model: AnyModel,
    dataset: Dataset,
    names: Sequence[str] = (),
    *,
    ensemble: Sequence[tuple[AnyModel, Dataset]] = (),
    dev: Callable[[AnyModel], Dataset] | None = None,
    streams: int = 1,
    shared: bool = False,
) -> Evaluation:
    """Evaluate a model on rows with inputs, outputs and, if known, the truth.

    ensemble   additional models of the ensemble, each with the same rows in its own encoding
    dev        returns other rows in a model's encoding, on which metrics choose their threshold; called only
               if needed
    streams    number of parts of a running text that are read in parallel, which is faster; each part starts
               without context, and fewer than `streams` tokens at the end are left out
    shared     with several connected processes, each of which calls this: divide the batches among them. Every
               process gets the evaluation that a single one would compute. A running text is read by each
    """
    chosen = wanted_metrics(model, names)
    if ensemble:
        chosen = {output: _of_ensembles(metrics, asked=bool(names)) for output, metrics in chosen.items()}
    with (
        faults_named(lambda: [model.spec, *(other.spec for other, _ in ensemble)]),
        answering(model, *(other for other, _ in ensemble)),
    ):
        if model.continues:
            return _measured_stream(
                cast("LanguageModel", model), dataset, chosen, streams, alone=not ensemble
            )
        rows = cast("Model", model), dataset, chosen
        sharing = Sharing.of_all() if shared and distributed.is_initialized() else ALONE
        return _measured_rows(
            *rows, ensemble=cast(Ensemble, ensemble), dev=dev, asked=bool(names), sharing=sharing
        )


def _measured_stream(
    model: LanguageModel,
    dataset: Dataset,
    chosen: Mapping[str, Sequence[Metric]],
    streams: int,
    *,
    alone: bool,
) -> Evaluation:
    """Evaluate a running text, which has no rows to compare, only a likelihood; `alone`: without an ensemble."""
    if not alone:
        raise RegardError(
            "language models cannot be evaluated as an ensemble.",
            where=Option("with"),
            fix="Evaluate each by itself.",
        )
    ((output, metrics),) = chosen.items()
    evaluation = Evaluation(remarks=[*dataset.remarks()], tokens=len(dataset.stream(output)))
    inference = StreamInference(model, dataset, output, streams)
    for one in metrics:
        score = one.measure(inference)
        if score is not None:
            evaluation.scores[one.name] = score
    return evaluation


def _measured_rows(
    model: Model,
    dataset: Dataset,
    chosen: Mapping[str, Sequence[Metric]],
    *,
    ensemble: Ensemble,
    dev: Callable[[AnyModel], Dataset] | None,
    asked: bool,
    sharing: Sharing = ALONE,
) -> Evaluation:
    """Evaluate answers to rows; `asked`: whether the metrics were requested by name."""
    present = {output: rows_with(dataset, output) for output in chosen}
    if any(rows is not None for rows in present.values()):
        return _measured_apart(
            model, dataset, chosen, present, ensemble=ensemble, dev=dev, asked=asked, sharing=sharing
        )
    evaluation = Evaluation(
        inputs=[dataset.raw(row) for row in range(len(dataset))],
        fields={name: model.columns[name].field for name in model.spec.inputs},
        lengths=[int(length) for length in _lengths(model, dataset)],
        lengths_of={name: [int(one) for one in dataset.lengths(name)] for name in model.spec.encoder},
        remarks=[*dataset.remarks()],
    )
    inferences = {
        output: ModelInference(model, dataset, output, ensemble=ensemble, dev=dev, sharing=sharing)
        for output in chosen
    }
    if asked:
        _check_rows(chosen, inferences)
    for output, inference in inferences.items():
        prefix = f"{output}." if len(chosen) > 1 else ""
        for one in chosen[output]:
            score = one.measure(inference)
            if score is not None:
                evaluation.scores[prefix + one.name] = score
                baseline = one.baseline(inference)
                evaluation.chance |= {} if baseline is None else {prefix + one.name: baseline}
                if isinstance(one, RowMetric) and not isinstance(one, OutputMetric):
                    lines = one.lines(inference)
                    evaluation.lines |= {} if lines is None else {prefix + one.name: lines}
        if inference.predicted:
            _keep(inference, evaluation)
    return evaluation


def rows_with(dataset: Dataset, output: str) -> list[int] | None:
    """The rows that have a value of an output that is optional; None if all have it."""
    if not dataset.columns[output].may_lack:
        return None
    found = [row for row in range(len(dataset)) if dataset.text(row, output).strip()]
    return None if len(found) == len(dataset) else found


def _measured_apart(
    model: Model,
    dataset: Dataset,
    chosen: Mapping[str, Sequence[Metric]],
    present: Mapping[str, list[int] | None],
    *,
    ensemble: Ensemble,
    **how: Any,
) -> Evaluation:
    """Evaluate each output on the rows that have it; rows and answers are those of the first output."""
    found: Evaluation | None = None
    for output, metrics in chosen.items():
        rows = present[output]
        if rows is not None and not rows:
            continue
        mine = dataset if rows is None else dataset.subset(rows)
        others = [(other, data if rows is None else data.subset(rows)) for other, data in ensemble]
        one = _measured_rows(model, mine, {output: metrics}, ensemble=others, **how)
        prefix = f"{output}." if len(chosen) > 1 else ""
        one.scores = {prefix + name: score for name, score in one.scores.items()}
        one.chance = {prefix + name: score for name, score in one.chance.items()}
        if found is None:
            found = one
        else:
            found.scores |= one.scores
            found.chance |= one.chance
    if found is None:
        raise RegardError("no row has a value of any output.", where="evaluate")
    return found


def _check_rows(chosen: Mapping[str, Sequence[Metric]], inferences: Mapping[str, ModelInference]) -> None:
    """Refuse a requested metric for which these rows have no truth, for any output."""
    reasons: dict[str, list[str | None]] = {}
    for output, metrics in chosen.items():
        for one in metrics:
            reasons.setdefault(one.name, []).append(one.refuses(inferences[output].output))
    for found in reasons.values():
        if None not in found:
            raise RegardError(
                f"{found[0]}, which these rows lack.", where="metrics", fix="Add it to the rows."
            )


def _keep(inference: ModelInference, evaluation: Evaluation) -> None:
    """Keep predictions and references, and for labels the confusion matrix."""
    output, column = inference.output.name, inference.output.column
    values = [answer.value for answer in inference.predictions]
    evaluation.predictions[output] = [answer.text for answer in inference.predictions]
    evaluation.references[output] = references(inference.dataset, output)
    evaluation.values[output] = (values, inference.references)
    if column.can_be("text"):
        evaluation.pieces[output] = column.pieces
    if column.scalar and hasattr(column, "classes"):
        evaluation.labels[output] = classification(values, [true[0] for true in inference.references])


def _of_ensembles(metrics: Sequence[Metric], *, asked: bool) -> list[Metric]:
    """The metrics of an ensemble, without those that are defined only for a single model."""
    alone = [one for one in metrics if not one.ensembles]
    if alone and asked:
        raise RegardError(
            f"{alone[0].name} cannot be computed for an ensemble, only for a single model.",
            fix="Evaluate each model by itself.",
        )
    return [one for one in metrics if one.ensembles]


def _lengths(model: Model, dataset: Dataset) -> Any:
    lengths = dataset.lengths(next(iter(model.spec.encoder)))
    for name in model.spec.encoder:
        lengths = lengths.clip(min=dataset.lengths(name))
    return lengths


def wanted_metrics(
    model: AnyModel, names: Sequence[str] = (), *, where: str = "metrics"
) -> dict[str, list[Metric]]:
    """{output: metrics}. `output.metric` is for one output, `metric` for all outputs that it suits.

    Unknown metrics, and metrics that suit none of their outputs, are refused. If none are requested, an
    output without a metric in the spec gets the usual ones of its column, and every output also gets those of
    its truth columns (for example whether a model points at known regions).
    """
    outputs = {name: output_info(model, name) for name in model.spec.outputs}
    asked = list(names or model.spec.metrics)
    _check_names(asked, list(outputs), where)
    chosen: dict[str, dict[str, Metric]] = {name: {} for name in outputs}
    for name in asked:
        output, _, wanted = name.rpartition(".")
        found = metric(wanted)
        for suited in _suited(found, [outputs[output]] if output else list(outputs.values()), where):
            chosen[suited.name][found.name] = found
    if not names:
        for name, output_chosen in chosen.items():
            output_chosen.update(_usual(outputs[name], among=output_chosen))
        for name, found in _deciding(model, outputs).items():
            chosen[name].setdefault(found.name, found)
    return {name: list(metrics.values()) for name, metrics in chosen.items()}


def _deciding(model: AnyModel, outputs: Mapping[str, OutputInfo]) -> dict[str, Metric]:
    """{output: metric} of the metric that chose the weights, which belongs to every evaluation. The loss does only if
    the spec names it."""
    training = model.spec.training
    output, _, wanted = training.metric.rpartition(".")
    found = find_metric(wanted)
    if found is None or (wanted == LOSS and "metric" not in training.model_fields_set):
        return {}
    among = [outputs[output]] if output in outputs else list(outputs.values())
    return {one.name: found for one in among if found.refuses(one) is None}


def check_metrics(model: AnyModel) -> None:
    """Refuse, before training, metrics of the spec that cannot be computed; names all wrong ones at once."""
    deciding = model.spec.training.metric
    outputs = list(model.spec.outputs)
    unknown = find_metric(deciding.rpartition(".")[2]) is None
    alone = unknown and all(find_metric(name.rpartition(".")[2]) for name in model.spec.metrics)
    _check_names([*model.spec.metrics, deciding], outputs, "training.metric" if alone else "metrics")
    wanted_metrics(model)
    if deciding == LOSS:
        return
    chosen = wanted_metrics(model, [deciding], where="training.metric")
    if len(outputs) > 1 and "." not in deciding:
        first = next(name for name, metrics in chosen.items() if metrics)
        raise RegardError(
            f"there are several outputs, and {deciding} does not name one.",
            where="training.metric",
            fix=f"Write {first}.{deciding}.",
        )


def _check_names(asked: Sequence[str], outputs: Sequence[str], where: str) -> None:
    wrong = [name for name in dict.fromkeys(asked) if find_metric(name.rpartition(".")[2]) is None]
    if wrong:
        raise unknown_metrics([name.rpartition(".")[2] for name in wrong], where=where)
    for name in asked:
        output, dot, _ = name.rpartition(".")
        if dot and output not in outputs:
            raise RegardError(
                f"{name} names the output {output!r}, which this model does not have.",
                where=where,
                fix=f"The outputs are {', '.join(outputs)}.",
            )


def _suited(found: Metric, outputs: Sequence[OutputInfo], where: str) -> list[OutputInfo]:
    """The outputs for which a metric can be computed; raises an error if there are none."""
    reasons = {output.name: found.refuses(output) for output in outputs}
    suited = [output for output in outputs if reasons[output.name] is None]
    if not suited:
        told = "; ".join(dict.fromkeys(reason for reason in reasons.values() if reason))
        fitting = [
            f"{output.name}: {', '.join(name for name in metric_names() if metric(name).refuses(output) is None)}"
            for output in outputs
        ]
        raise RegardError(
            f"{told}.", where=where, fix=f"These metrics can be computed: {'; '.join(fitting)}."
        )
    return suited


def _usual(output: OutputInfo, *, among: dict[str, Metric]) -> dict[str, Metric]:
    """The usual metrics of an output and of its truth, without those already chosen."""
    names = () if among else output.column.usual or (LOSS,)
    known = [output.columns[column] for column in output.truth.values() if column in output.columns]
    found = {name: metric(name) for name in names}
    for name in (name for column in known for name in column.usual):
        if name not in among and metric(name).refuses(output) is None:
            found[name] = metric(name)
    return found
