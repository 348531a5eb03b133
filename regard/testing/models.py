"""Checks of encoders and decoders, each in a small model."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data import Dataset, Row
from regard.describe import answers
from regard.describe.graph import graph
from regard.model import Model, build, load
from regard.model.building import fit_columns, make_columns
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.notation.walking import written_symbol
from regard.spec import Spec
from regard.testing.lettering import check_lines
from regard.testing.report import PartReport, Stop
from regard.trace.prediction import Prediction

SECTIONS = ("encoder", "decoder", "loss")


class Small:
    """A small model with the part in it, and a batch of all rows that it can read."""

    def __init__(self, report: PartReport, document: dict[str, Any] | Spec, rows: Sequence[Row]) -> None:
        with report.calling("Options", "a spec that accepts it"):
            self.spec = document if isinstance(document, Spec) else Spec.parse(copy.deepcopy(document))
        with report.calling("learn", "a column that is fitted to the rows"):
            columns = make_columns(self.spec)
            fit_columns(columns, self.spec, lambda: rows)
        with report.calling("encode", "the encoding of every row"):
            self.dataset = Dataset.build(rows, columns.values(), on_bad="skip")
        if not len(self.dataset):
            report.add("check_value", "rows that its columns can read", f"{len(rows)} rows, none of them")
            raise Stop
        with report.calling("collate", "a batch"):
            self.batch = self.dataset.batch(range(len(self.dataset)))
        with report.calling("build", "a model"):
            self.model = build(self.spec, columns)
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
    if not isinstance(memory, Memory):
        report.add("forward", "a Memory", type(memory).__name__)
        raise Stop
    with report.apart():
        _check_memory(report, small, name, memory)
    with report.apart():
        _check_trained(report, small, encoder, "forward", lambda network: _memory_sum(network, small, name))
    _check_board(report, small, "board")


def _check_memory(report: PartReport, small: Small, name: str, memory: Memory) -> None:
    encoder, rows, positions = small.network.reader(name), len(small.dataset), memory.mask.shape[1]
    mask = memory.mask.unsqueeze(-1)
    with report.apart():
        shape = (rows, positions, encoder.value_size)
        inside = memory.values * mask if memory.values.shape[:2] == mask.shape[:2] else memory.values
        report.shape("forward", inside, shape, "values (B, S, value_size)")
    report.shape("forward", memory.summary, (rows, encoder.summary_size), "summary (B, summary_size)")
    report.is_true("forward", memory.mask.dtype == torch.bool, "a mask of bool", memory.mask.dtype)
    if memory.values.shape[:2] != mask.shape[:2]:
        return
    if bool(memory.mask.all()) and positions > 1:
        small = _shortened(report, small, name)
        rows = len(small.dataset)
        with report.calling("forward", "a row that is shorter than the others"), torch.no_grad():
            memory = small.network.encode(small.batch)[name]
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


def _shortened(report: PartReport, small: Small, name: str) -> Small:
    """The model with a further row that has half the words of the first, if no row is padded."""
    columns = small.model.columns
    column, value = columns[name], small.dataset.raw(0)[name]
    if column.scalar or not column.cached or np.asarray(column.encode(value)).ndim != 1:
        return small  # an image, whose positions are always the same
    rows = [
        Row({columns[one].field: text for one, text in small.dataset.raw(row).items()}, file="rows", line=1)
        for row in (*range(len(small.dataset)), 0)
    ]
    words = str(value).split()
    rows[-1] = Row({**rows[0], column.field: " ".join(words[: len(words) // 2])}, file="rows", line=1)
    longer = copy.copy(small)
    longer.dataset = Dataset.build(rows, columns.values(), on_bad="skip")
    if len(longer.dataset) == len(small.dataset):
        if len(column.tokens(value)) != len(words):
            return small  # not a text of words, which could be shortened
        told = f"rows whose {column.field} all have one length, so that the padding cannot be checked"
        report.add("check_part", "rows= of different lengths", told)
        return small
    longer.batch = longer.dataset.batch(range(len(longer.dataset)))
    return longer


def _memory_sum(network: Any, small: Small, name: str) -> Tensor:
    """() a sum of all numbers in a memory, of which decoders may read only some."""
    memory = network.encode(small.batch)[name]
    mask = memory.mask.unsqueeze(-1)
    tensors = [memory.values * mask, memory.summary, *([] if memory.keys is None else [memory.keys * mask])]
    found: Tensor = torch.stack(
        [(one * torch.linspace(0.5, 1.5, one.shape[-1])).sum() for one in tensors]
    ).sum()
    return found


def _check_loss(report: PartReport, small: Small, name: str) -> None:
    with report.calling("loss", "a Loss"):
        loss = small.network.eval()(small.batch)[name]
    if not isinstance(loss, Loss):
        report.add("loss", "a Loss", type(loss).__name__)
        raise Stop
    report.shape("loss", loss.total, (), "total ()")
    report.is_true("loss", float(loss.count) > 0, "a count of 1 or more", float(loss.count))


def check_decoder(report: PartReport, small: Small, name: str) -> None:
    with report.apart():
        _check_loss(report, small, name)
        _check_trained(report, small, small.network.decoders[name], "loss")
    with report.apart():
        _check_board(report, small, "board", "board_loss")
    if isinstance(small.model, Model):
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
        report.is_true("predictions", trace is not None, "a trace in every prediction, as asked", "None")
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
        with report.calling(method, "a loss of the model", follows=True):
            before = small.losses()
        for what, copied in (
            ("copy.deepcopy", copy.deepcopy),
            ("pickle", lambda one: pickle.loads(pickle.dumps(one))),
        ):
            with report.apart(), report.calling(what, "a copy of the model"):
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
    check_saved(report, small, before)


def check_saved(report: PartReport, small: Small, before: Tensor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with report.calling("save", "a folder that can be loaded"):
            small.model.save(Path(folder) / "model")
            again = load(Path(folder) / "model", device="cpu")  # where the batch is
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
    with report.calling("letters", "letters of its parameters"):
        drawn = graph(small.spec)
    lost = [one for unit in drawn.units() if unit.kind == "box" for one in unit.held if one.letters]
    if lost:
        said = ", ".join(f"{written_symbol(one.letters[0])} of {one.name}" for one in lost)
        report.add("letters", "letters that stand in the equations", said)
