"""Evaluation of a model on files, or on the splits of its own data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from regard.data import Dataset, Row
from regard.data.sources import build_dataset, changes, has_test, open_files, open_splits, remarks_of
from regard.errors import OPEN, Message, Option, RegardError, Words
from regard.evaluation.evaluate import evaluate
from regard.evaluation.evaluation import Evaluation
from regard.spec import Spec

if TYPE_CHECKING:
    from regard.model import AnyModel


def measure(
    model: AnyModel,
    metrics: Sequence[str] = (),
    *,
    files: Sequence[str] = (),
    rows: Sequence[Row] = (),
    splits: Sequence[str] = (),
    ensemble: Sequence[AnyModel] = (),
) -> Evaluation:
    """Evaluate a model, or an ensemble, on files, rows or splits.

    splits   default: test, or dev if the data have no test

    Metrics with a threshold choose it on dev, unless dev is evaluated.
    """
    remarks: list[str] = []
    if not files and not rows:
        if not splits:
            splits = usual_split(model.spec)
            if splits != ["test"]:
                remarks.append(
                    "the data have no test split: measured on dev, on which the weights were chosen"
                )
        data = model.spec.data
        held_out = (not data.dev and "dev" in splits) or (data.fold is not None and "test" in splits)
        remarks += changes(model.spec, model.metrics.get("data", {}), ["train"] if held_out else splits)
    opened = partial(open_dataset, files=files, splits=splits, data=model.spec, rows=rows)
    is_dev = not files and not rows and list(splits) == ["dev"]
    dev = None if is_dev else partial(opened, files=(), splits=["dev"], rows=())
    found = evaluate(
        model, opened(model), metrics, ensemble=[(other, opened(other)) for other in ensemble], dev=dev
    )
    found.split = "" if files or rows else "+".join(splits)
    found.remarks[:0] = [*remarks, *_read_remarks(model.spec, files)]
    return found


def _read_remarks(spec: Spec, files: Sequence[str]) -> list[Words]:
    return remarks_of(open_files(spec, files, optional=_truth_fields(spec)) if files else ())


def _truth_fields(spec: Spec) -> list[str]:
    """The fields of truth, which files to be measured need not have."""
    return [column.field or name for name, column in spec.truth.items()]


def usual_split(spec: Spec) -> list[str]:
    """test, or dev if the data have no test."""
    return ["test"] if has_test(spec) else ["dev"]


def open_dataset(
    model: AnyModel,
    files: Sequence[str],
    splits: Sequence[str],
    data: Spec | None = None,
    rows: Sequence[Row] = (),
) -> Dataset:
    """Rows of the data (default: the model's data) with their truth columns."""
    spec = data or model.spec
    found: Any = rows
    if files:
        found = open_files(spec, files, optional=_truth_fields(spec))
    elif not rows:
        known = open_splits(spec)
        for split in splits:
            if split not in known:
                raise RegardError(
                    f"the data of this model have no {split!r}.",
                    where="split",
                    fix=Message(
                        f"There are {', '.join(known)}. Choose one with `", Option("split", OPEN), "`."
                    ),
                )
        found = known[splits[0]] if len(splits) == 1 else [row for split in splits for row in known[split]]
    columns = [model.columns[name] for name in (*model.spec.inputs, *model.spec.outputs)]
    first = next(iter(found), None)
    columns += [
        model.columns[name] for name in model.spec.truth if first and model.columns[name].field in first
    ]
    return build_dataset(found, spec, columns, gather=True, rejected=None)
