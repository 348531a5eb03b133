"""The trees a model's encoders found for themselves, against the true ones; and what one gets for nothing."""

from __future__ import annotations

import torch

from regard.data import Batches, Dataset
from regard.data.columns import TreeColumn
from regard.metrics import Score, branching_baselines, latent_uas
from regard.model import Model

LATENT = ("latent_uas",)
"""Metrics of soft parents: they need a tree column of the same input, in `truth`."""
BATCH_COST = 8000


def measure_latent(model: Model, dataset: Dataset) -> Score | None:
    """UAS of the best trees of all inputs together; None where no tree is known, or no parents are sought."""
    found: list[list[int]] = []
    truth: list[list[int]] = []
    known = known_trees(model, dataset)
    for batch in Batches(dataset, cost=BATCH_COST, shuffle=False) if known else ():
        with torch.inference_mode():
            memories = model.network.encode(batch.to(model.device))
        for name, column in known.items():
            found_heads = memories[name].heads
            if found_heads is None:
                continue
            trees = batch[column]
            for heads, true, length in zip(
                found_heads.heads().tolist(), trees.heads.tolist(), trees.lengths.tolist(), strict=True
            ):
                found.append(heads[:length])
                truth.append(true[:length])
    return latent_uas(found, truth) if truth else None


def latent_baselines(model: Model, dataset: Dataset) -> dict[str, Score]:
    """{"latent_uas": the best of left-branching, right-branching and random heads}, all three in its signature."""
    truth: list[list[int]] = []
    for column in known_trees(model, dataset).values():
        batch = dataset.batch(range(len(dataset)))
        lengths = batch[column].lengths.tolist()
        truth += [heads[:length] for heads, length in zip(batch[column].heads.tolist(), lengths, strict=True)]
    if not truth:
        return {}
    reached = branching_baselines(truth)
    best = max(score.value for score in reached.values())
    told = ", ".join(f"{name} {score.value:.3f}" for name, score in reached.items())
    return {"latent_uas": Score("latent_uas", best, len(truth), True, f"the best of {told}")}


def known_trees(model: Model, dataset: Dataset) -> dict[str, str]:
    """{input: tree column} where the rows hold the true tree of what an encoder reads."""
    return {
        column.of[0]: name
        for name, column in dataset.columns.items()
        if isinstance(column, TreeColumn)
        and column.of[0] in model.network.readers
        and name not in model.spec.outputs
    }
