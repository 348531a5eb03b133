"""Where a model looks while it writes the true outputs, against where it should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from regard.data import Dataset
from regard.data.columns import AlignmentColumn
from regard.evaluation.together import Ensemble, batches
from regard.metrics import Score, attention_error_rate, best_threshold, parse_links, segment_f1
from regard.model import Model

LOOKING = ("aer", "segment_f1")
"""Metrics of where a model looks: they need a true alignment, and exist for every selection."""


@dataclass
class Looks:
    """weights (T, S) of each row, and the true links (source, target) beside them."""

    weights: list[Any] = field(default_factory=list)
    links: list[set[tuple[int, int]]] = field(default_factory=list)


def looks(model: Model, dataset: Dataset, output: str, ensemble: Ensemble = ()) -> Looks | None:
    """Those over every input whose alignment with this output is known; None where there is none."""
    truths = model.network.truths[output]
    known = {
        name: column
        for name, column in truths.items()
        if isinstance(dataset.columns.get(column), AlignmentColumn)
    }
    found = Looks()
    for batch, beside in batches(dataset, ensemble) if known else ():
        answers = model.score_batch(batch, output, ensemble=beside)
        for row, answer in zip(batch.rows, answers, strict=True):
            for name, column in known.items():
                if answer.trace is not None and name in answer.trace.attention:
                    found.weights.append(answer.trace.attention[name])
                    found.links.append(parse_links(dataset.raw(row)[column]))
    return found if found.weights else None


def measure_looks(name: str, seen: Looks, tuned_on: Callable[[], Looks | None] | None) -> Score:
    """One of `LOOKING`; a threshold is chosen on `tuned_on` (dev), on the rows themselves where there is none."""
    if name == "aer":
        return attention_error_rate(seen.weights, seen.links)
    dev = None if tuned_on is None else tuned_on()
    if dev is None:
        threshold = best_threshold(seen.weights, seen.links)
    else:
        threshold = best_threshold(dev.weights, dev.links, chosen_on="dev")
    return segment_f1(seen.weights, seen.links, threshold)
