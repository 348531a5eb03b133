"""What one gets for nothing where the output is tags or a tree."""

from __future__ import annotations

from regard.data import Dataset
from regard.data.columns import TagsColumn, TreeColumn
from regard.metrics import Score, branching_baselines, tag_accuracy
from regard.model import Model


def guesses(model: Model, dataset: Dataset, output: str) -> dict[str, Score]:
    """{metric: what it is by chance}: always the commonest tag; heads by a rule, or at random."""
    column = model.columns[output]
    if isinstance(column, TagsColumn) and column.counts:
        return {"tag_accuracy": _commonest_tag(column, dataset, output)}
    if isinstance(column, TreeColumn):
        return {"uas": _best_rule(dataset, output)}
    return {}


def _commonest_tag(column: TagsColumn, dataset: Dataset, output: str) -> Score:
    tag = column.classes[column.counts.index(max(column.counts))]
    truth = [column.normalize(dataset.raw(row)[output]) for row in range(len(dataset))]
    said = [" ".join([tag] * len(tags.split())) for tags in truth]
    share = tag_accuracy(said, truth).value
    return Score("tag_accuracy", share, len(truth), True, f"accuracy of always {tag!r}")


def _best_rule(dataset: Dataset, output: str) -> Score:
    """The best of left-branching, right-branching and random heads, all three in its signature."""
    trees = (dataset.raw(row)[output] for row in range(len(dataset)))
    truth = [[int(arc.partition(":")[0]) for arc in tree.split()] for tree in trees]
    reached = branching_baselines(truth)
    told = ", ".join(f"{name} {score.value:.3f}" for name, score in reached.items())
    best = max(score.value for score in reached.values())
    return Score("uas", best, len(truth), True, f"the best of {told}")
