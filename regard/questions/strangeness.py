"""Which answers of a model are strange, and why: each is compared with the other answers to the same data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from regard.data import Batches, Dataset
from regard.errors import RegardError
from regard.evaluation import open_dataset
from regard.evaluation.inference import reference_values, references
from regard.model import AnyModel, Model
from regard.model.inputs import given_rows
from regard.questions.signs import SIGNS, Answered, Reason, Sign
from regard.trace.prediction import Prediction

FAR, FARTHEST = 2.0, 8.0
"""A sign counts from FAR widths away from what is usual, and never more than FARTHEST."""
BATCH_COST = 4000
Rows = Dataset | str | Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Strange:
    """An answer, and how strange it is.

    row          its number in the rows, from 0
    strangeness  the sum of how far its signs are from what is usual; 0 if none is far
    reasons      what is strange about it, the strangest first; empty if nothing is
    signs        {sign: how many widths of the middle of the rows it is from their median}
    inputs       each column of the row as written
    prediction   the answer, without its trace
    references   the true answers, as texts; empty if they are not known
    right        whether the answer is one of them; None if they are not known
    """

    row: int
    strangeness: float
    reasons: tuple[str, ...]
    signs: Mapping[str, float]
    inputs: Mapping[str, str]
    prediction: Prediction
    references: tuple[str, ...] = ()
    right: bool | None = None

    def __str__(self) -> str:
        return f"row {self.row + 1}: {'; '.join(self.reasons) or 'nothing strange'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "row": self.row,
            "strangeness": self.strangeness,
            "reasons": list(self.reasons),
            "signs": dict(self.signs),
            "inputs": dict(self.inputs),
            "prediction": self.prediction.text,
            "references": list(self.references),
            "right": self.right,
        }


@dataclass(frozen=True)
class Usual:
    """What is usual for a sign: the median, and the width of the middle of the rows."""

    center: float
    width: float
    both: bool = False

    @classmethod
    def of(cls, sign: Sign, values: Sequence[float]) -> Usual | None:
        """None if all rows are alike, or too few."""
        numbers = np.asarray(values, dtype=np.float64)
        if len(numbers) < 3:
            return None
        center = float(np.median(numbers))
        width = 1.4826 * float(np.median(np.abs(numbers - center)))
        # most rows have the same number, as where nothing is repeated: the mean square tells what is rare
        width = width or float(np.sqrt(np.mean((numbers - center) ** 2)))
        return cls(center, max(width, sign.least / FAR), sign.both) if width else None

    def distance(self, value: float) -> float:
        """How many widths a number is from the usual one."""
        found = (value - self.center) / self.width
        return abs(found) if self.both else found


def strangeness(
    model: AnyModel,
    rows: Rows,
    *,
    output: str | None = None,
    signs: Sequence[Sign] = SIGNS,
    most: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Strange]:
    """All rows, the strangest first; equally strange rows in the order of the data.

    rows       a split of the model's data by its name, a `Dataset` with the model's columns, or rows as in
               `model.evaluate`; they may lack the outputs
    output     the name of the output, if the model has several
    signs      what to look for; default: all of `regard.questions.signs`
    most       read only so many rows
    progress   called with the number of rows that are done, and of all; what it raises stops the work
    """
    if model.continues:
        raise RegardError(
            "a model that continues a text has no answers to compare.", fix="Use `regard score`."
        )
    model = cast(Model, model)
    name = model.output_name(output)
    dataset = _dataset(model, rows)
    if most is not None and most < len(dataset):
        dataset = dataset.subset(range(most))
    answered, found = _answered(model, dataset, name, signs, progress)
    usual = {
        sign.name: Usual.of(sign, [row[sign.name].value for row in found if sign.name in row])
        for sign in signs
    }
    told = [_strange(row, one, found[row], usual, dataset.raw(row)) for row, one in enumerate(answered)]
    return sorted(told, key=lambda one: (-one.strangeness, one.row))


def _dataset(model: Model, rows: Rows) -> Dataset:
    """The rows with the model's columns; without the outputs if the rows lack them."""
    if isinstance(rows, Dataset):
        return rows
    if isinstance(rows, str):
        return open_dataset(model, (), [rows])
    given = list(rows)
    if given and any(model.columns[name].field not in given[0] for name in model.spec.outputs):
        return model.dataset([model.row(dict(row), number) for number, row in enumerate(given, 1)])
    return open_dataset(model, (), (), rows=given_rows(given, None, model.spec, model.columns))


def _answered(
    model: Model,
    dataset: Dataset,
    output: str,
    signs: Sequence[Sign],
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Answered], list[dict[str, Reason]]]:
    """The answers without their traces, and what the signs found, both in the order of the rows."""
    known = output in dataset.columns
    true = reference_values(dataset, output) if known else []
    texts = references(dataset, output) if known else []
    answered: dict[int, Answered] = {}
    found: dict[int, dict[str, Reason]] = {}
    for batch in Batches(dataset, cost=BATCH_COST, shuffle=False):
        for row, answer in zip(batch.rows, model.answer(batch, output=output), strict=True):
            right = answer.value in true[row] if known else None
            one = Answered(answer, tuple(texts[row]) if known else (), right)
            found[row] = {sign.name: finding for sign in signs if (finding := sign.of(one)) is not None}
            answered[row] = replace(one, prediction=replace(answer, trace=None))
        if progress is not None:
            progress(len(answered), len(dataset))
    rows = [answered[row] for row in range(len(dataset))]
    for sign in signs:
        for row, finding in enumerate(sign.among(rows)):
            if finding is not None:
                found[row][sign.name] = finding
    return rows, [found[row] for row in range(len(dataset))]


def _strange(
    row: int,
    answered: Answered,
    found: Mapping[str, Reason],
    usual: Mapping[str, Usual | None],
    inputs: Mapping[str, str],
) -> Strange:
    known = {name: ordinary for name in found if (ordinary := usual[name]) is not None}
    far = {name: ordinary.distance(found[name].value) for name, ordinary in known.items()}
    strange = sorted(
        (name for name in far if far[name] >= FAR and found[name].counts), key=lambda name: -far[name]
    )
    return Strange(
        row,
        sum(min(far[name], FARTHEST) for name in strange),
        tuple(found[name].reason(known[name].center) for name in strange),
        far,
        inputs,
        answered.prediction,
        answered.references,
        answered.right,
    )
