"""The facts a model's answers stand on, against those that lead to the answers; and what one gets for nothing."""

from __future__ import annotations

from regard.data import Batches, Dataset
from regard.data.columns import FactsColumn, LabelColumn, StoryColumn
from regard.metrics import Score, fact_accuracy, fact_set_accuracy, majority, random_facts
from regard.model import Model
from regard.trace import Hops

SUPPORTING = {"fact_accuracy": fact_accuracy, "fact_set_accuracy": fact_set_accuracy}
"""Metrics of the supporting facts: they need a truth column of type facts."""
BATCH_COST = 8000


def measure_facts(name: str, model: Model, dataset: Dataset, output: str) -> Score | None:
    """One of `SUPPORTING`; None where no facts are known, or the model chooses none."""
    chosen, truth = [], []
    for story, column in _known(model, dataset, output).items():
        for batch in Batches(dataset, cost=BATCH_COST, shuffle=False):
            for row, answer in zip(batch.rows, model.answer(batch, output=output), strict=True):
                hops = answer.trace.structures.get(story) if answer.trace is not None else None
                if isinstance(hops, Hops) and hops.best is not None:
                    chosen.append(hops.best.tolist())
                    truth.append(_facts(dataset, row, column))
    return SUPPORTING[name](chosen, truth) if truth else None


def baselines(model: Model, dataset: Dataset, output: str) -> dict[str, Score]:
    """{metric: what it is by chance}: of an answer always the commonest class, of facts sentences at random."""
    found: dict[str, Score] = {}
    column = model.columns[output]
    if isinstance(column, LabelColumn) and column.counts:
        commonest = column.classes[column.counts.index(max(column.counts))]
        labels = [dataset.raw(row)[output].strip() for row in range(len(dataset))]
        found["accuracy"] = majority(labels, training=[commonest])
    for story, facts in _known(model, dataset, output).items():
        there = dataset.columns[story]
        assert isinstance(there, StoryColumn)
        rows = range(len(dataset))
        truth = [_facts(dataset, row, facts) for row in rows]
        found["fact_accuracy"] = random_facts(
            truth, [len(there.sentences(dataset.raw(row)[story])) for row in rows]
        )
    return found


def _known(model: Model, dataset: Dataset, output: str) -> dict[str, str]:
    """{story: facts column} of this output, where the rows hold them."""
    return {
        story: column
        for story, column in model.network.truths[output].items()
        if isinstance(dataset.columns.get(column), FactsColumn)
    }


def _facts(dataset: Dataset, row: int, column: str) -> list[int]:
    return [int(place) for place in dataset.raw(row)[column].split()]
