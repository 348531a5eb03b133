"""Load the models of a command: one, or several as an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.cli.options import Loading
from regard.errors import RegardError
from regard.model import Model


def load(run: Path, how: Loading) -> Model:
    model = Model.load(run, device=how.device, overrides=how.changes)
    searched = [change for change in how.changes if change.startswith("search.")]
    if searched and not any(decoder.stepwise for decoder in model.network.decoders.values()):
        raise RegardError(
            f"{searched[0]} has no effect: this model answers without a search.",
            where=str(run),
            fix="Leave out --beam and --set search.…",
        )
    return model


def load_together(run: Path, others: Sequence[Path], how: Loading) -> tuple[Model, list[Model]]:
    """The model, and the additional models of the ensemble."""
    model = load(run, how)
    refuse_stream(model, run)
    ensemble = [load(other, how) for other in others]
    check_together(model, ensemble, [run, *others])
    return model, ensemble


def refuse_stream(model: Model, run: Path) -> None:
    """Refuse a language model, which does not answer inputs."""
    if not model.spec.inputs:
        raise RegardError(
            "this model reads no input: it continues a text.",
            where=str(run),
            fix=f"Use  regard generate {run} --prompt TEXT",
        )


def check_together(model: Model, others: Sequence[Model], names: Sequence[Path]) -> None:
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
