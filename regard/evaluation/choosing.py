"""The metrics of each output: requested ones, else those of the spec, else the usual ones of its column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.evaluation.inference import output_info
from regard.metrics import Metric, OutputInfo, find_metric, metric, metric_names, unknown_metrics

if TYPE_CHECKING:
    from regard.model import AnyModel

LOSS = "loss"


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
    _check_names([*model.spec.metrics, deciding], outputs, "metrics")
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
