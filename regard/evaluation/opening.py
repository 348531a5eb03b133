"""A model measured on rows that are still to be opened: files, or the splits of its own data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from regard.data import Dataset, Row
from regard.errors import RegardError
from regard.evaluation.evaluate import Evaluation, evaluate
from regard.model import Model
from regard.sources import build_dataset, open_files, open_splits
from regard.spec import Spec


def measure(
    model: Model,
    metrics: Sequence[str] = (),
    *,
    files: Sequence[str] = (),
    rows: Sequence[Row] = (),
    splits: Sequence[str] = ("test",),
    ensemble: Sequence[Model] = (),
) -> Evaluation:
    """Measured on files or rows, or where there are none on splits; alone, or together with an ensemble.

    What has a threshold chooses it on dev, unless dev is what is measured.
    """
    opened = partial(open_dataset, files=files, splits=splits, data=model.spec, rows=rows)
    is_dev = not files and not rows and list(splits) == ["dev"]
    dev = None if is_dev else partial(opened, files=(), splits=["dev"], rows=())
    return evaluate(
        model, opened(model), metrics, ensemble=[(other, opened(other)) for other in ensemble], dev=dev
    )


def open_dataset(
    model: Model,
    files: Sequence[str],
    splits: Sequence[str],
    data: Spec | None = None,
    rows: Sequence[Row] = (),
) -> Dataset:
    """Rows of the data, the model's own where none are given, with the truth columns that they have."""
    spec = data or model.spec
    found: Any = rows
    if files:
        found = open_files(spec, files)
    elif not rows:
        known = open_splits(spec)
        for split in splits:
            if split not in known:
                raise RegardError(
                    f"the data of this model have no {split!r}.",
                    where="split",
                    fix=f"There are {', '.join(known)}; or name a file as data.",
                )
        found = known[splits[0]] if len(splits) == 1 else [row for split in splits for row in known[split]]
    columns = [model.columns[name] for name in (*model.spec.inputs, *model.spec.outputs)]
    first = next(iter(found), None)
    columns += [
        model.columns[name] for name in model.spec.truth if first and model.columns[name].field in first
    ]
    return build_dataset(found, spec, columns, gather=True, rejected=None)
