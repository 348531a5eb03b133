"""Checks of columns, encoders and decoders, each in a small model."""

from __future__ import annotations

import copy
import json
import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data import Dataset, Row, column_from_state
from regard.describe import answers
from regard.model import Model
from regard.model.columns import fit_columns, make_columns
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.prediction import Prediction
from regard.spec import Spec
from regard.testing.lettering import check_lines
from regard.testing.report import PartReport, Stop

SECTIONS = ("encoder", "decoder", "loss")


class Small:
    """A small model with the part in it, and a batch of all rows that it can read."""

    def __init__(self, report: PartReport, document: dict[str, Any], rows: Sequence[Row]) -> None:
        with report.calling("Options", "a spec that accepts it"):
            self.spec = Spec.parse(copy.deepcopy(document))
        with report.calling("learn", "a column that is fitted to the rows"):
            columns = make_columns(self.spec)
            fit_columns(columns, self.spec, lambda: rows)
        with report.calling("encode", "the encoding of every row"):
            self.dataset = Dataset.build(rows, columns.values(), on_bad="skip")
        with report.calling("collate", "a batch"):
            self.batch = self.dataset.batch(range(len(self.dataset)))
        with report.calling("build", "a model"):
            self.model = Model.build(self.spec, columns)
        self.network = self.model.network

    def losses(self, network: Any = None) -> Tensor:
        """() the sum of the mean losses of all outputs."""
        found = (network or self.network)(self.batch)
        return torch.stack([loss.weight * loss.mean for loss in found.values()]).sum()


def check_encoder(report: PartReport, small: Small, name: str) -> None:
    encoder = small.network.reader(name)
    with report.calling("forward", "a Memory"), torch.no_grad():
        small.network.eval()
        memory = small.network.encode(small.batch)[name]
    rows = len(small.dataset)
    if not isinstance(memory, Memory):
        report.add("forward", "a Memory", type(memory).__name__)
        raise Stop
    positions = memory.mask.shape[1]
    report.shape("forward", memory.values, (rows, positions, encoder.value_size), "values (B, S, value_size)")
    report.shape("forward", memory.summary, (rows, encoder.summary_size), "summary (B, summary_size)")
    report.is_true("forward", memory.mask.dtype == torch.bool, "a mask of bool", memory.mask.dtype)
    with report.calling("forward", "a batch of one row"), torch.no_grad():
        for row in range(rows):
            alone = small.network.encode(small.dataset.batch([row]))[name]
            kept = int(alone.mask.shape[1])
            same = torch.equal(alone.mask[0], memory.mask[row, :kept]) and not memory.mask[row, kept:].any()
            report.is_true("forward", same, "a mask that is False where a row is padded", "another mask")
            mask = alone.mask[0].unsqueeze(-1)
            expected = "values that do not depend on the padding"
            report.same("forward", alone.values[0] * mask, memory.values[row, :kept] * mask, expected)
            expected = "a summary that does not depend on the padding"
            if not report.same("forward", alone.summary[0], memory.summary[row], expected):
                break
    _check_trained(report, small, encoder, "forward", lambda network: _memory_sum(network, small, name))
    _check_board(report, small, "board")


def _memory_sum(network: Any, small: Small, name: str) -> Tensor:
    """() a sum of all numbers in a memory, of which decoders may read only some."""
    memory = network.encode(small.batch)[name]
    mask = memory.mask.unsqueeze(-1)
    tensors = [memory.values * mask, memory.summary, *([] if memory.keys is None else [memory.keys * mask])]
    found: Tensor = torch.stack(
        [(one * torch.linspace(0.5, 1.5, one.shape[-1])).sum() for one in tensors]
    ).sum()
    return found


def check_decoder(report: PartReport, small: Small, name: str) -> None:
    decoder = small.network.decoders[name]
    with report.calling("loss", "a Loss"):
        loss = small.network.eval()(small.batch)[name]
    if not isinstance(loss, Loss):
        report.add("loss", "a Loss", type(loss).__name__)
        raise Stop
    report.shape("loss", loss.total, (), "total ()")
    report.is_true("loss", bool(loss.total.isfinite()), "a finite total", float(loss.total.detach()))
    report.is_true("loss", float(loss.count) > 0, "a count of 1 or more", float(loss.count))
    _check_trained(report, small, decoder, "loss")
    _check_board(report, small, "board", "board_loss")
    if small.spec.inputs:
        _check_answers(report, small, name)


def _check_answers(report: PartReport, small: Small, name: str) -> None:
    rows = len(small.dataset)
    with report.calling("predict", "one prediction for each row"):
        found = small.model.answer(small.batch, output=name)
    if not isinstance(found, list) or not all(isinstance(one, Prediction) for one in found):
        report.add("predictions", "a list of Prediction", type(found).__name__)
        raise Stop
    report.is_true("predictions", len(found) == rows, f"{rows} predictions, one for each row", len(found))
    for one in found[:1]:
        report.is_true(
            "predictions", isinstance(one.text, str), "a text of every prediction", type(one.text).__name__
        )
        score = float(one.score) if one.score is not None else 0.0
        report.is_true("predictions", score == score, "a score that is not NaN", score)
        trace = one.trace
        for source, weights in () if trace is None else trace.attention.items():
            wanted = len(trace.input[source]) if trace is not None else 0
            holds = np.asarray(weights).shape[-1] == wanted
            report.is_true("predictions", holds, f"attention over {wanted} pieces", np.asarray(weights).shape)


def _check_trained(
    report: PartReport, small: Small, module: Any, method: str, result: Callable[[Any], Tensor] | None = None
) -> None:
    """Gradients, NaN, copies, and the same training after saving and loading.

    result   what must depend on every weight of the module; default: the loss
    """
    result = result or small.losses
    if any(one.requires_grad for one in module.parameters()):
        small.network.train()
        with report.calling(method, "a gradient"):
            torch.manual_seed(1)
            small.network.zero_grad()
            result(small.network).backward()
    none = [name for name, one in module.named_parameters() if one.requires_grad and one.grad is None]
    report.is_true(method, not none, "a gradient for every parameter", f"none for {', '.join(none)}")
    small.network.eval()
    with torch.no_grad():
        before = small.losses()
        for what, copied in (
            ("copy.deepcopy", copy.deepcopy),
            ("pickle", lambda one: pickle.loads(pickle.dumps(one))),
        ):
            with report.calling(what, "a copy of the model"):
                report.same(what, small.losses(copied(small.network)), before, "a copy with the same loss")
        for name, one in module.named_parameters():
            kept = one.clone()
            one.fill_(float("nan"))
            try:
                poisoned = result(small.network)
            except (ValueError, RuntimeError):  # refused, as torch.distributions does
                poisoned = torch.tensor(float("nan"))
            one.copy_(kept)
            if poisoned.isfinite():
                report.add(method, f"NaN in {name} to reach the result", f"{float(poisoned):.4g}")
                break
    _check_saved(report, small, before)


def _check_saved(report: PartReport, small: Small, before: Tensor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with report.calling("save", "a folder that can be loaded"):
            small.model.save(Path(folder) / "model")
            again = Model.load(Path(folder) / "model", device="cpu")  # where the batch is
        with torch.no_grad():
            loss = small.losses(again.network.eval())
        if not report.same("save", loss, before, "a loaded model with the same loss"):
            return
    for network in (small.network, again.network):
        weights = [one for one in network.parameters() if one.requires_grad]
        optimizer = torch.optim.SGD(weights, lr=0.01)
        optimizer.zero_grad()
        small.losses(network).backward()
        optimizer.step()
    with torch.no_grad():
        expected = "a resumed training to give the same loss"
        report.same("save", small.losses(again.network), small.losses(), expected)


def _check_board(report: PartReport, small: Small, *methods: str) -> None:
    with report.calling(methods[0], "the equations of the model"):
        found = answers(small.spec)
    for section in SECTIONS:
        method = methods[-1] if section == "loss" else methods[0]
        check_lines(report, method, [line for line in found.get(section, ()) if line.strip()])


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
    with report.calling("state", "the state of the column as JSON"):
        state = json.loads(json.dumps(column.state()))
        again = column_from_state(state)
    if column.cached:
        with report.calling("relearn", "a column that encodes as before"):
            pairs = [(np.asarray(again.encode(value)), np.asarray(column.encode(value))) for value in values]
        same = all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for one, other in pairs)
        report.is_true("relearn", same, "the same encodings after saving and loading", "other encodings")
    with report.calling("reference", "the value for metrics"):
        column.reference(values[0])
    for what, copied in (
        ("copy.deepcopy", copy.deepcopy),
        ("pickle", lambda one: pickle.loads(pickle.dumps(one))),
    ):
        with report.calling(what, "a copy"):
            copied(column)
    reader = small.network.reader(name) if name in small.spec.encoder else None
    if reader is not None and reader.position_names(small.batch[name]) is None:
        with report.calling("readable", "the pieces of each row"):
            shown = column.readable(small.batch[name])
        holds = len(shown) == len(values)
        report.is_true("readable", holds, f"the pieces of {len(values)} rows", len(shown))
    _check_trained_column(report, small)


def _check_trained_column(report: PartReport, small: Small) -> None:
    small.network.eval()
    with report.calling("collate", "a batch that the model can read"), torch.no_grad():
        before = small.losses()
    report.is_true("collate", bool(before.isfinite()), "a finite loss", float(before))
    _check_saved(report, small, before)
