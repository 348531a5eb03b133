"""Metrics by name, as a spec and the command line name them."""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors import RegardError
from regard.metrics.metric import Metric, OutputMetric
from regard.parts import nearest
from regard.parts.registry import names, part


def metric(name: str) -> Metric:
    """The metric `bleu`, `top5`, …; an unknown name raises an error with the nearest one."""
    found = find_metric(name)
    if found is None:
        raise unknown_metrics([name])
    return found


def output_metric(name: str) -> OutputMetric:
    """A metric of outputs, called with predictions and references: `output_metric("per")(answers, truth)`."""
    found = metric(name)
    if not isinstance(found, OutputMetric):
        raise RegardError(
            f"{name} cannot be computed from the outputs alone.",
            fix="Evaluate a model: model.evaluate(metrics=…).",
        )
    return found


def find_metric(name: str) -> Metric | None:
    """The metric that a spec calls by this name, such as `bleu` or `group_accuracy`; None if there is none."""
    kinds: list[type[Metric]] = [part("metric", known) for known in names("metric")]
    made = (kind.named(name) for kind in kinds)
    return next((found for found in made if found is not None), None)


def metric_names() -> list[str]:
    """The names of all metrics, including the members of families that are worth suggesting."""
    return [member for known in names("metric") for member in part("metric", known).members()]


def unknown_metrics(wrong: Sequence[str], *, where: str = "") -> RegardError:
    """An error that lists all unknown names, each with the nearest metric."""
    if len(wrong) == 1:
        return RegardError(f"there is no metric {wrong[0]!r}.", where=where, fix=_instead(wrong[0]))
    told = " ".join(f"{name!r}: {_instead(name)}" for name in wrong)
    return RegardError(f"there are no metrics {', '.join(map(repr, wrong))}.", where=where, fix=told)


def _instead(name: str) -> str:
    return nearest(name, metric_names())
