"""Whether a model looks at what it names, where the places of these things are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from regard.data import Dataset
from regard.data.columns import Column, PlacesColumn
from regard.evaluation.together import Ensemble, batches
from regard.metrics import Score, centre_pointing, pointing
from regard.model import Model

POINTING = "pointing"


@dataclass
class Pointed:
    """weights and truth (T, S) of each row, and the shape its S positions have."""

    weights: list[Any] = field(default_factory=list)
    truth: list[Any] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def score(self) -> Score:
        return pointing(self.weights, self.truth)

    def by_chance(self) -> Score:
        return centre_pointing(self.truth, self.shapes)


def pointed(model: Model, dataset: Dataset, output: str, ensemble: Ensemble = ()) -> Pointed | None:
    """Where the model looks while it writes the true outputs; None where no places are known or nothing looks."""
    known = places_of(model, dataset.columns, output)
    found = Pointed()
    written = model.network.decoders[output].stepwise
    for batch, beside in batches(dataset, ensemble) if known else ():
        answers = (
            model.score_batch(batch, output, ensemble=beside)
            if written
            else model.answer(batch, output=output, ensemble=beside)
        )
        for answer in answers:
            trace = answer.trace
            for name in known:
                if trace is not None and name in trace.truth and name in trace.attention:
                    found.weights.append(trace.attention[name])
                    found.truth.append(trace.truth[name])
                    grid = getattr(model.network.reader(name), "grid", None)
                    found.shapes.append(grid or (trace.attention[name].shape[1],))
    return found if found.weights else None


def places_of(model: Model, columns: Any, output: str) -> list[str]:
    """The inputs in which the places of what this output names are known, and which its decoder looks at."""
    reading = getattr(model.network.decoders[output], "reading", None)
    attended = () if reading is None else reading.names
    return [
        name
        for name, column in model.network.truths[output].items()
        if name in attended and _is_places(columns.get(column))
    ]


def _is_places(column: Column | None) -> bool:
    return isinstance(column, PlacesColumn)
