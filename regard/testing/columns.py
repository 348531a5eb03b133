"""Checks of columns, each in a small model."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Sequence

import numpy as np
import torch

from regard.data import Column, column_from_state
from regard.testing.models import Small, check_saved
from regard.testing.report import PartReport


def check_column(report: PartReport, small: Small, name: str) -> None:
    column = small.model.columns[name]
    values = [small.dataset.raw(row)[name] for row in range(len(small.dataset))]
    for value in values:
        with report.calling("encode", "an array"):
            encoded = np.asarray(column.encode(value))
        if column.cached:
            holds = encoded.ndim == 0 if column.scalar else encoded.ndim > 0
            words = (
                "a number of shape ()"
                if column.scalar
                else "a sequence; set scalar = True for single numbers"
            )
            report.is_true("encode", holds, words, f"an array of shape {encoded.shape}")
            same = np.can_cast(encoded.dtype, np.dtype(column.dtype), casting="same_kind")
            report.is_true("encode", same, f"numbers of type {np.dtype(column.dtype)}", encoded.dtype)
        with report.calling("tokens", "a list of texts"):
            pieces = column.tokens(value)
        holds = isinstance(pieces, list) and all(isinstance(one, str) for one in pieces)
        report.is_true("tokens", holds, "a list of texts", type(pieces).__name__)
    with report.calling("check_value", "a reason, or None"):
        reason = column.check_value(None)
    holds = isinstance(reason, str) or "truth" in column.roles
    report.is_true("check_value", holds, "a reason why a missing value cannot be used", reason)
    with report.apart():
        _check_learned(report, column, values)
    with report.calling("reference", "the value for metrics"):
        column.reference(values[0])
    for what, copied in (
        ("copy.deepcopy", copy.deepcopy),
        ("pickle", lambda one: pickle.loads(pickle.dumps(one))),
    ):
        with report.apart(), report.calling(what, "a copy"):
            copied(column)
    reader = small.network.reader(name) if name in small.spec.encoder else None
    named = reader is not None and reader.names_positions and reader.position_names(small.batch[name])
    if reader is not None and not named:
        with report.apart(), report.calling("readable", "the pieces of each row"):
            shown = column.readable(small.batch[name])
            holds = len(shown) == len(values)
            report.is_true("readable", holds, f"the pieces of {len(values)} rows", len(shown))
    _check_trained_column(report, small)


def _check_learned(report: PartReport, column: Column, values: Sequence[str]) -> None:
    with report.calling("learned", "plain data for JSON"):
        state = json.loads(json.dumps(column.state()))
    with report.calling("learned, relearn", "relearn to accept what learned returned"):
        again = column_from_state(state)
    if column.cached:
        with report.calling("learned, relearn", "a column that encodes as before"):
            pairs = [(np.asarray(again.encode(value)), np.asarray(column.encode(value))) for value in values]
        same = all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for one, other in pairs)
        expected = "relearn to restore from learned what encodes the same after saving and loading"
        report.is_true("learned, relearn", same, expected, "other encodings")


def _check_trained_column(report: PartReport, small: Small) -> None:
    small.network.eval()
    with report.calling("collate", "a batch that the model can read"), torch.no_grad():
        before = small.losses()
    report.is_true("collate", bool(before.isfinite()), "a finite loss", float(before))
    check_saved(report, small, before)
