"""Checks of metrics, on the answers of a small untrained model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from regard.data import Row
from regard.evaluation.inference import ModelInference, output_info
from regard.metrics import Metric, OutputMetric, RowMetric, Score
from regard.parts import find, names
from regard.spec import Spec
from regard.testing.models import Small
from regard.testing.report import PartReport, Stop
from regard.testing.specs import SPECS, accepted, document, own_column

MOST = 3
"""Specs in which a metric may find nothing to measure."""


def check_metric(report: PartReport, made: type[Metric], rows: Sequence[Row], spec: Spec | None) -> None:
    unknown = [one for one in made.suits if one not in names("column")]
    report.is_true("suits", not unknown, "types of columns", f"{unknown[:1]}, which is not registered")
    with report.calling("members", "the names of the metric"):
        name = next(iter(made.members()))
        metric = made.named(name)
    if not isinstance(metric, Metric):
        report.add("named", f"the metric {name!r}", type(metric).__name__)
        raise Stop
    report.is_true("name", metric.name == name, repr(name), repr(metric.name))
    report.is_true("family", made.has_name(name), f"an expression that matches {name!r}", repr(made.family))
    tried = 0
    for small, output in _models(report, metric, rows, spec):
        tried += 1
        inference, measured = ModelInference(small.model, small.dataset, output), False
        with report.apart():
            measured = _measured(report, metric, inference)
            if isinstance(metric, RowMetric) and not isinstance(metric, OutputMetric) and measured:
                with report.calling("lines", "a line of numbers for each row"):
                    _check_table(report, "lines", metric, metric.lines(inference), None)
        with report.apart():
            if isinstance(metric, OutputMetric):
                check_statistics(report, metric, inference.references)
        if report.told or measured or tried == MOST:
            return
    if not tried:
        suits = " or ".join(metric.suits) or "that it suits"
        told = f"none; pass spec= with an output of type {suits}, and rows="
        report.add("check_part", "a spec and rows that it can be tried with", told)


def _measured(report: PartReport, metric: Metric, inference: ModelInference) -> bool:
    """Whether the metric found something to measure."""
    with report.calling("measure", "a Score, or None if the rows lack something"):
        found = metric.measure(inference)
    if isinstance(found, Score):
        _check_score(report, metric, found)
    elif found is not None:
        report.add("measure", "a Score, or None", type(found).__name__)
        raise Stop
    return found is not None


def _models(
    report: PartReport, metric: Metric, rows: Sequence[Row], spec: Spec | None
) -> Iterator[tuple[Small, str]]:
    """Small models with an output that the metric does not refuse."""
    if spec is not None:
        yield from _outputs(Small(report, spec, rows), metric)
        return
    documents = [document(name) for name in SPECS]
    own = [one for one in metric.suits if one in names("column")]
    documents += [made for one in own if (made := own_column(one, "outputs", rows)) is not None]
    for made in documents:
        types = {options["type"] for options in made["outputs"].values()}
        usual = any(metric.name in find("column", one).usual for one in types)
        if metric.suits and not types & set(metric.suits) and not usual:
            continue
        if not made["inputs"] and not metric.suits:  # a language model, which answers no rows
            continue
        if not accepted(made):
            continue
        yield from _outputs(Small(PartReport("model", "small"), made, rows), metric)


def _outputs(small: Small, metric: Metric) -> Iterator[tuple[Small, str]]:
    for output in small.spec.outputs:
        if metric.refuses(output_info(small.model, output, small.dataset.columns)) is None:
            yield small, output


def _check_score(report: PartReport, metric: Metric, found: Score) -> None:
    report.is_true("measure", found.name == metric.name, f"a Score of {metric.name}", found.name)
    report.is_true("measure", not math.isnan(found.value), "a value that is not NaN", found.value)
    report.is_true("measure", bool(found.signature), "a signature that says how it is computed", "none")


def check_statistics(report: PartReport, metric: OutputMetric, references: list[list[Any]]) -> None:
    """The contract of a metric of outputs: a function of sums over rows."""
    truth = [row[0] for row in references]
    shifted = [*truth[1:], truth[0]]
    with report.calling("statistics", "(n, k): a line of numbers for each row"):
        table = metric.statistics(shifted, references)
        _check_table(report, "statistics", metric, table, len(truth))
        perfect = metric.statistics(truth, references)
    with report.calling("value", "a number"):
        right, wrong = (metric.checked_value(one.sum(axis=0)) for one in (perfect, table))
    better = right >= wrong if metric.higher_is_better else right <= wrong
    words = f"the truth to be no worse than wrong answers (higher_is_better: {metric.higher_is_better})"
    report.is_true("value", better, words, f"{right:.4g} for the truth and {wrong:.4g}")
    with report.calling("describe", "a text"):
        told = metric.describe("1")
    report.is_true("describe", isinstance(told, str) and bool(told), "a text", repr(told))


def _check_table(report: PartReport, method: str, metric: RowMetric, table: Any, rows: int | None) -> None:
    if table is None and rows is None:
        return
    shape = np.shape(table)
    if len(shape) != 2 or (rows is not None and shape[0] != rows):
        report.add(method, f"(n, k) = ({'n' if rows is None else rows}, k)", str(shape))
        raise Stop
    report.is_true(method, bool(np.isfinite(table).all()), "finite numbers", "others")
    with report.calling("value", "2 columns, whose ratio is the value, or a method value of its own"):
        metric.checked_value(np.asarray(table).sum(axis=0))
