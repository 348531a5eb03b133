"""Options that several commands share, declared once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer

MAX_SEED = 2**63 - 1


def a_number(value: Optional[float]) -> Optional[float]:  # noqa: UP045
    """Refuse nan, which no range excludes."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number.")
    return value


def _checked_seed(seed: int | None) -> int | None:
    """Refuse a seed here rather than by a range of the option, which would fill half of every help page."""
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise typer.BadParameter(f"{seed} is not in the range 0 to {MAX_SEED}.")
    return seed


Overrides = Annotated[
    Optional[list[str]],  # noqa: UP045  (typer reads this form on every supported Python)
    typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change one value of the spec. Can be repeated."),
]
Device = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 or mps. Default: a GPU if there is one."
    ),
]
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--seed",
        metavar="N",
        callback=_checked_seed,
        help="Seed of all random numbers. Default: from the spec.",
    ),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained model.", show_default=False)]
Output = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("-o", "--output", metavar="FILE", help="Write here instead of to the terminal."),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Also replace files that regard did not write, or that were changed since.",
    ),
]
Beam = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--beam", min=1, metavar="N", help="Beam search of this size; 1 is greedy. Default: from the spec."
    ),
]
With = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option("--with", metavar="RUN", help="Additional model of the ensemble. Can be repeated."),
]
DataRow = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--row",
        metavar="N",
        help="Row N of the spec's data, from 0, with its truth; instead of a text.",
    ),
]
Of = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--of", metavar="OUTPUT", help="The output to use, if the model has several."),
]
HOW_OF = "Use --of {}"
"""How the command line names an output."""
BadRows = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--bad-rows",
        metavar="stop|skip",
        help="What to do with a row that cannot be used: stop, or skip it and list it in rejected.tsv. "
        "Default: from the spec.",
    ),
]


@dataclass(frozen=True)
class Loading:
    """How a command loads models.

    changes   overrides of their specs, as `key.path=value`
    device    default: the best available
    """

    changes: tuple[str, ...] = ()
    device: str | None = None


def spec_changes(
    overrides: list[str] | None,
    *,
    beam: int | None = None,
    seed: int | None = None,
    bad_rows: str | None = None,
    epochs: int | None = None,
    lr: float | None = None,
    batch: int | None = None,
    model: str | None = None,
) -> tuple[str, ...]:
    """The options above as `key.path=value`; --set comes last."""
    changes = []
    if beam is not None:
        changes += ["search.method=greedy"] if beam == 1 else ["search.method=beam", f"search.beam={beam}"]
    if seed is not None:
        changes.append(f"training.seed={seed}")
    if bad_rows is not None:
        changes.append(f"data.bad_rows={bad_rows}")
    given = {"model": model, "training.epochs": epochs, "training.lr": lr, "training.batch_rows": batch}
    changes += [f"{path}={value}" for path, value in given.items() if value is not None]
    return (*changes, *(overrides or []))
