"""The effects of a spec, step by step: its encodings, losses, gradients, answers and initial weights."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from regard.data import Dataset, Row
from regard.describe.six_answers import answers
from regard.errors import MissingExtra, RegardError
from regard.evaluation.settling import settle
from regard.model import AnyModel, build
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec
from regard.testing.rows import rows
from regard.testing.specs import Document

STEPS = 3
"""Batches in training mode, enough to see options that start or stop after the first one."""

SEEDS = 6
"""Number of random weights with which answers are compared, because two ways to decode often agree."""

STEPWISE_SEEDS = 3
"""The same for outputs written step by step, which take longer."""


class Refused(Exception):
    """The spec was refused, with a reason."""


def effects(document: Document) -> Iterator[tuple[str, Any]]:
    """(name, value) of each effect, cheap ones first."""
    try:
        spec = Spec.parse(copy.deepcopy(document))
        columns = make_columns(spec)
        fit_columns(columns, spec, lambda: _rows(spec))
    except RegardError as error:
        assert error.where, f"refused without a place: {error}"
        raise Refused(str(error)) from error
    yield "spec", None
    try:
        dataset = Dataset.build(_rows(spec), columns.values(), on_bad="skip")
    except RegardError as error:  # no rows left
        yield "rows", str(error)
        return
    yield "encodings", _encodings(dataset)
    torch.manual_seed(1)
    try:
        model = build(spec, columns)
    except MissingExtra:
        yield "board", answers(spec)
        return
    except RegardError as error:  # an unsuitable file
        assert error.where, f"refused without a place: {error}"
        raise Refused(str(error)) from error
    begun = {name: tensor.clone() for name, tensor in model.network.state_dict().items()}
    _set_weights(model.network)
    yield from _learned(model, dataset)
    if spec.inputs:
        yield from _answered(model, dataset)
    yield "first weights", {name: (tuple(tensor.shape), _digest(tensor)) for name, tensor in begun.items()}


def _rows(spec: Spec) -> tuple[Row, ...]:
    """The usual rows; for outputs that rows may lack, also one without them."""
    lacking = {
        one.field or name for name, one in spec.outputs.items() if "optional" in type(one).model_fields
    }
    if not lacking:
        return rows()
    first = rows()[0]
    rest = {name: value for name, value in first.items() if name not in lacking}
    return (*rows(), Row(rest, file="rows", line=len(rows()) + 1))


def _set_weights(network: torch.nn.Module, seed: int = 0) -> None:
    """Seed each weight by its own name, so that an unused weight does not change the others."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            generator = torch.Generator().manual_seed(zlib.crc32(name.encode()) + seed)
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))


def _figure(number: torch.Tensor) -> str:
    """Rounded, because equivalent kernels differ in the last digits."""
    return f"{number.item():.4g}"


def _digest(values: Any) -> str:
    return hashlib.sha1(np.ascontiguousarray(values).tobytes()).hexdigest()


def _encodings(dataset: Dataset) -> Any:
    found = []
    for name, column in dataset.columns.items():
        found.append((name, json.dumps(column.learned(), sort_keys=True, default=str)))
        for example in range(len(dataset)):
            encoded = dataset[example][name]
            found.append((encoded.shape, _digest(encoded)))
            if column.varies:
                for epoch in range(2):
                    varied = column.varied(
                        dataset.raw(example)[name], np.random.default_rng([epoch, example])
                    )
                    found.append((varied.shape, _digest(varied)))
    return [str(one) for one in found], [one.reason for one in dataset.rejections.kept]


def _learned(model: AnyModel, dataset: Dataset) -> Iterator[tuple[str, Any]]:
    """The loss of the first batch; then, for specs that agree so far, later losses and gradients."""
    network = model.network.train()
    batch = dataset.batch(range(len(dataset)))

    def losses(step: int) -> tuple[torch.Tensor, list[str]]:
        torch.manual_seed(2 + step)  # because other specs run in between
        found = network(batch)
        total = sum(loss.weight * loss.total / loss.count for loss in found.values())
        penalty = network.penalty()
        total = total if penalty is None else total + penalty
        return total, [_figure(total), *(_figure(loss.total) for loss in found.values())]

    yield "loss", losses(0)[1]
    later = [losses(step) for step in range(1, STEPS)]
    later[-1][0].backward()
    gradients = {
        name: None if parameter.grad is None else _figure(parameter.grad.abs().sum())
        for name, parameter in network.named_parameters()
        if parameter.requires_grad
    }
    network.zero_grad()
    kept = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    yield "later losses and gradients", ([figures for _, figures in later], kept)


def _lists(arrays: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    return {before + name: np.round(array, 4).tolist() for name, array in arrays.items()}


def _answered(model: AnyModel, dataset: Dataset) -> Iterator[tuple[str, Any]]:
    stepwise = any(decoder.stepwise for decoder in model.network.decoders.values())
    seeds = range(STEPWISE_SEEDS if stepwise else SEEDS)
    for seed, name in itertools.product(seeds, model.spec.outputs):
        _set_weights(model.network, seed)
        yield f"answers {name}", _answers(model, dataset, name)
    if settle(model, dataset):
        for name in model.spec.outputs:
            yield f"answers {name} after choices on dev", _answers(model, dataset, name)


def _answers(model: AnyModel, dataset: Dataset, output: str) -> list[Any]:
    return [
        (
            str(one.value),
            f"{one.score:.4g}",
            None if one.trace is None else _lists(one.trace.attention) | _lists(one.trace.truth, "truth of "),
        )
        for one in model.answer(dataset.batch(range(len(dataset))), output=output)
    ]
