"""Load the models of a command: one, or several as an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from regard.cli.command import Loading
from regard.errors import Message, RegardError, Setting, Words
from regard.model import AnyModel, Model
from regard.model import load as open_model

Kind = TypeVar("Kind", bound=AnyModel)


def load(run: Path, how: Loading, kind: type[Kind]) -> Kind:
    """The model of a run, which must be of this class."""
    model = kind.load(run, device=how.device, overrides=how.changes)
    _check_search(model, run, how)
    return model


def load_any(run: Path, how: Loading) -> Model | Any:
    """The model of a run, a `Model` or a `LanguageModel`."""
    model = open_model(run, device=how.device, overrides=how.changes)
    _check_search(model, run, how)
    return model


def _check_search(model: AnyModel, run: Path, how: Loading) -> None:
    """Refuse changes of the search of a model that does not search."""
    searched = [change for change in how.changes if change.startswith("search.")]
    if searched and not any(decoder.stepwise for decoder in model.network.decoders.values()):
        constraint = searched[0].startswith("search.constraint=")
        typed: Words = Setting("search.constraint", typed=searched[0]) if constraint else searched[0]
        raise RegardError(
            Message(typed, " has no effect: this model answers without a search."),
            where=str(run),
            fix="Leave it out." if constraint else "Leave out --beam and --set search.…",
        )


def load_together(run: Path, others: Sequence[Path], how: Loading) -> tuple[Model, list[Model]]:
    """The model, and the additional models of the ensemble."""
    model = load(run, how, Model)
    ensemble = [load(other, how, Model) for other in others]
    check_together(model, ensemble, [run, *others])
    return model, ensemble


def check_together(model: AnyModel, others: Sequence[AnyModel], names: Sequence[Path]) -> None:
    """Check that the models of an ensemble have the same inputs and outputs."""
    for other, name in zip(others, names[1:], strict=True):
        for role in ("inputs", "outputs"):
            mine, theirs = list(getattr(model.spec, role)), list(getattr(other.spec, role))
            if mine != theirs:
                verb = "reads" if role == "inputs" else "writes"
                raise RegardError(
                    f"{names[0]} {verb} {', '.join(mine)}, but {name} {verb} {', '.join(theirs)}.",
                    where="--with",
                    fix="An ensemble needs models that were trained on the same columns.",
                )
