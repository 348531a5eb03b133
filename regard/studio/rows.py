"""Rows of a run's data, in their order or the strangest first."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.live.answer import shown
from regard.studio.jobs import Progress
from regard.studio.requests import RowsRequest
from regard.studio.runs import Run

if TYPE_CHECKING:
    from regard.data import Dataset

MOST_RANKED = 400
"""Rows that are predicted to find the strangest."""
LONGEST = 2_000
SIDE = 64
"""Pixels of the longer side of a small image."""


def rows_json(run: Run, asked: RowsRequest) -> dict[str, Any]:
    """Some rows in their order, with what the model writes for each."""
    dataset = run.dataset(asked.split)
    numbers = list(range(asked.start, min(asked.start + asked.count, len(dataset))))
    return {"rows": _rows(run, dataset, numbers), "total": len(dataset)}


def is_ranked(run: Run, asked: RowsRequest) -> bool:
    return _key(run, asked) in run.kept


def rank(run: Run, asked: RowsRequest, progress: Progress) -> dict[str, Any]:
    """Find the strangest rows; asked again, they are there at once."""
    from regard.questions import strangeness

    dataset = run.dataset(asked.split)
    output = next(iter(run.model.spec.outputs))
    ranked = strangeness(run.model, dataset, output=output, most=MOST_RANKED, progress=progress)
    run.kept[_key(run, asked)] = [(one.row, list(one.reasons), one.prediction.text) for one in ranked]
    return ranked_json(run, asked)


def ranked_json(run: Run, asked: RowsRequest) -> dict[str, Any]:
    """Some of the strangest rows, with the reasons."""
    ranked = run.kept[_key(run, asked)]
    part = ranked[asked.start : asked.start + asked.count]
    rows = _rows(run, run.dataset(asked.split), [row for row, _, _ in part], predicted=False)
    for one, (_, reasons, text) in zip(rows, part, strict=True):
        one["reasons"], one["prediction"] = [shown(reason) for reason in reasons], shown(text)
    return {"rows": rows, "total": len(ranked)}


def _key(run: Run, asked: RowsRequest) -> tuple[str, str]:
    return "strange", asked.split or run.usual_split


def _rows(
    run: Run, dataset: Dataset, numbers: Sequence[int], *, predicted: bool = True
) -> list[dict[str, Any]]:
    model = run.model
    if not numbers:
        return []
    if model.continues:
        return [
            {"row": row, "inputs": {name: shown(text[:LONGEST]) for name, text in dataset.raw(row).items()}}
            for row in numbers
        ]
    output = next(iter(model.spec.outputs))
    batch = dataset.batch(numbers)
    answers = model.answer(batch, output=output, trace=False) if predicted else []
    found = []
    for place, row in enumerate(numbers):
        raw = dataset.raw(row)
        one: dict[str, Any] = {
            "row": row,
            "inputs": {name: _told(model.columns[name], raw[name]) for name in model.spec.inputs},
            "target": [shown(text[:LONGEST]) for text in dataset.references(row, output)],
        }
        images = {name: small for name in model.spec.inputs if (small := _small(model, batch, name, place))}
        if images:
            one["images"] = images
        if answers:
            one["prediction"] = shown(answers[place].text)
        found.append(one)
    return found


def _told(column: Any, value: str) -> str:
    """An input in words; the content of a file is not one."""
    if column.names_files:
        return "" if value.startswith("data:") else shown(value.rpartition("/")[2][:LONGEST])
    return shown(value[:LONGEST])


def _small(model: Any, batch: Any, name: str, place: int) -> str:
    """A small image of an input that is one, as a data URL; empty if it is not."""
    column = model.columns[name]
    pixels = getattr(column.seen(batch[name], place), "pixels", None) if column.drawn else None
    if pixels is None:
        return ""
    import numpy as np
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(pixels))
    picture.thumbnail((SIDE, SIDE))
    content = io.BytesIO()
    picture.save(content, "PNG")
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode("ascii")
