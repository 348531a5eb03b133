"""Distillation: a new model learns from the distributions of trained models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.data.columns import Column
from regard.errors import RegardError
from regard.model import AnyModel, Model
from regard.model.loading import read_columns, read_spec
from regard.model.saving import COLUMNS
from regard.nn.network import Distillation
from regard.spec.sections import DistillOptions


def columns_from(columns: Mapping[str, Column], options: DistillOptions) -> bool:
    """Copy the fitted state of the first trained model's columns, since the new model may have more data.

    Returns False if its columns have other options; `load_distillation` reports the difference.
    """
    folder = Path(options.from_[0])
    read_spec(folder)  # raises if there is no model
    known = read_columns(folder / COLUMNS)
    for name, column in columns.items():
        if name not in known or known[name].options() != column.options():
            return False
    for name, column in columns.items():
        column.relearn(known[name].learned())
    return True


def load_distillation(model: AnyModel, options: DistillOptions) -> Distillation:
    """The trained models of the options. Their columns must be the same as those of the model."""
    if not any(decoder.part.stepwise for decoder in model.spec.decoder.values()):
        raise RegardError(
            "distillation needs an output that is written step by step, and this model has none.",
            where="training.distill",
        )
    networks = []
    for folder in options.from_:
        other = Model.load(folder, device="cpu")
        for name in (*model.spec.inputs, *model.spec.outputs):
            if name not in other.columns or other.columns[name].learned() != model.columns[name].learned():
                raise RegardError(
                    f"the column {name!r} of this model has other units or another vocabulary.",
                    where=f"training.distill.from: {folder}",
                    fix="Use the column options of its spec; all of these models must be trained on the same data.",
                )
        for name, decoder in model.network.decoders.items():
            theirs = dict(other.network.decoders.items()).get(name)
            if _source(theirs) is not None and _source(theirs) != _source(decoder):
                raise RegardError(
                    f"this model copies words of {_source(theirs)!r}, and the model to train does not.",
                    where=f"training.distill.from: {folder}",
                    fix=f"Add  copy: {_source(theirs)}  to the decoder, or distill models that do not copy.",
                )
        networks.append(other.network.requires_grad_(False))
    return Distillation(networks, options.weight)


def _source(decoder: Any) -> str | None:
    """The input from which a decoder copies words."""
    found: str | None = None if decoder is None else decoder.copies_from
    return found
