"""`regard.cross_validate`: from Python data to the mean score of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from regard.fitting.fitting import FitRows, Sections, fit_changes
from regard.fitting.folds import CrossValidation, Folds
from regard.runs.run import RunFolder
from regard.spec import Spec


def cross_validate(
    data: Any,
    y: Any = None,
    *,
    folds: int = 5,
    source: str | Sequence[str] | None = None,
    target: str | None = None,
    dev: Any = None,
    epochs: int | None = None,
    lr: float | None = None,
    batch: int | None = None,
    seed: int | None = None,
    spec: str | PathLike[str] | Spec | Mapping[str, Any] | None = None,
    run: str | PathLike[str] | None = None,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    device: str | None = None,
    quiet: bool = False,
    **sections: Unpack[Sections],
) -> CrossValidation:
    """Train a model for each fold of the data, and measure each on the fold that it has not seen.

        found = regard.cross_validate("reviews.csv", folds=5)
        found.scores["accuracy"].value, found.scores["accuracy"].low, found.scores["accuracy"].high
        found.folds[0].scores, found.folds[0].load()

    folds       number of folds. Labels are spread evenly, and rows of one input or group stay together
    dev         data to choose the weights of every fold; default: cut out of its training part
    run         the folder of the folds; default: runs/NAME-folds. The same call continues what was interrupted
    overwrite   train all folds anew

    The other arguments are those of `regard.fit`.
    """
    changes = fit_changes(sections, overrides, epochs=epochs, lr=lr, batch_rows=batch, seed=seed)
    rows = FitRows.of(data, y, source=source, target=target, spec=spec, dev=dev, test=None)
    named = Path("runs") / f"{sections.get('name') or rows.name()}-folds" if run is None else Path(run)
    folder = named.expanduser()
    described = rows.described(RunFolder(folder), changes)
    return Folds.of(described, folds, folder, overwrite=overwrite, device=device, quiet=quiet).run()
