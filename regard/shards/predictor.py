"""A trained model that answers parts of files, and batches of a pipeline of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import PYTHON, RegardError, said
from regard.shards.reading import InputRow
from regard.trace.prediction import Prediction

WINDOW = 1024
"""Rows that are sorted by length and answered together, as `regard predict` does it."""


class Answer(NamedTuple):
    """The predictions for a row, by output; none, and the reason, for a row that cannot be answered."""

    predictions: dict[str, Prediction]
    reason: str = ""


class BatchPredictor:
    """A trained model for `map_batches` of Ray Data, `map` of Hugging Face datasets, or any loop over batches.

        dataset.map_batches(BatchPredictor, fn_constructor_args=["runs/g2p"], concurrency=2)

    Called with a mapping from column names to lists or arrays, it returns the columns and beside them `text` (None
    where a row cannot be answered), `score` (NaN there), `rejected` (the reason there), and, if asked for,
    `alternatives` and `trace` as JSON. With several outputs each name begins with that of its output: `tag.text`.

    run         the folder of a trained model, or hf:owner/name
    columns     {input: column of the batch}; default: the field or the name of the input, or the only column
    output      one output of a model that has several; default: all
    trace       also give the attention
    n_best      how many answers `alternatives` holds
    ensemble    folders of additional models of the ensemble
    overrides   changes of the search: ("search.beam=4",)
    device      default: the best available
    threads     number of CPU threads; default: as torch is set
    """

    def __init__(
        self,
        run: str | Path,
        *,
        columns: Mapping[str, str] | None = None,
        output: str | None = None,
        trace: bool = False,
        n_best: int = 1,
        ensemble: Sequence[str | Path] = (),
        overrides: Sequence[str] = (),
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        import torch

        from regard.model import Model

        if threads is not None:
            torch.set_num_threads(threads)
        model = Model.load(run, device=device, overrides=list(overrides))
        self.outputs = list(model.spec.outputs) if output is None else [model.output_name(output)]
        self.model = model if n_best == 1 else model.searching(n_best=n_best)
        self.ensemble = [Model.load(one, device=device, overrides=list(overrides)) for one in ensemble]
        self.columns, self.trace, self.n_best = dict(columns or {}), trace, n_best

    def answers(self, rows: Sequence[InputRow]) -> list[Answer]:
        """The answers to some rows, in their order."""
        found: list[Answer] = []
        for start in range(0, len(rows), WINDOW):
            found += self._window(rows[start : start + WINDOW])
        return found

    def _window(self, rows: Sequence[InputRow]) -> list[Answer]:
        from regard.model.inputs import INPUT_REMEDY

        reasons = {number: row.reason for number, row in enumerate(rows) if row.values is None}
        usable = [number for number in range(len(rows)) if number not in reasons]
        try:
            predicted = self._predicted([rows[number] for number in usable])
        except RegardError as error:
            if error.fix != INPUT_REMEDY:
                raise
            reasons |= {number: why for number in usable if (why := self._problem(rows[number]))}
            usable = [number for number in usable if number not in reasons]
            predicted = self._predicted([rows[number] for number in usable])
        found = {number: Answer(one) for number, one in zip(usable, predicted, strict=True)}
        return [found.get(number) or Answer({}, reasons[number]) for number in range(len(rows))]

    def _predicted(self, rows: Sequence[InputRow]) -> list[dict[str, Prediction]]:
        from regard.model.model import check_several

        found: list[dict[str, Prediction]] = [{} for _ in rows]
        given = [row.row() for row in rows]
        for name in self.outputs if given else ():
            answers = self.model.predict(given, output=name, trace=self.trace, ensemble=self.ensemble)
            if self.n_best > 1 and len(self.outputs) == 1:
                check_several(answers, name)
            for one, answer in zip(found, answers, strict=True):
                one[name] = answer
        return found

    def _problem(self, row: InputRow) -> str:
        """Why a row cannot be encoded; "" if it can."""
        try:
            self.model.dataset([self.model.row(row.row())])
        except RegardError as error:
            return said(error.what, PYTHON)
        return ""

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        answers = self.answers(self._rows(batch))
        return {**batch, **self._columns_of(answers)}

    def _rows(self, batch: Mapping[str, Any]) -> list[InputRow]:
        names = {name: self._column(name, batch) for name in self.model.spec.inputs}
        columns = {name: list(batch[column]) for name, column in names.items()}
        rows = []
        for number, values in enumerate(zip(*columns.values(), strict=True), 1):
            given = {name: _text(value) for name, value in zip(columns, values, strict=True)}
            lacking = next((names[name] for name, value in given.items() if value is None), None)
            whole = {name: value for name, value in given.items() if value is not None}
            reason = f"{lacking} is missing." if lacking is not None else ""
            rows.append(InputRow(None if reason else whole, "the batch", number, reason=reason))
        return rows

    def _column(self, name: str, batch: Mapping[str, Any]) -> str:
        wanted = [self.columns[name]] if name in self.columns else [self.model.columns[name].field, name]
        found = next((one for one in wanted if one in batch), None)
        if found is None and name not in self.columns and len(batch) == len(self.model.spec.inputs) == 1:
            found = next(iter(batch))
        if found is None:
            raise RegardError(
                f"the batch has the columns {', '.join(batch)}, but no {wanted[0]}.",
                where="BatchPredictor",
                fix=f"Name it: columns={{{name!r}: COLUMN}}.",
            )
        return found

    def _columns_of(self, answers: Sequence[Answer]) -> dict[str, Any]:
        import numpy as np

        made: dict[str, Any] = {}
        for output in self.outputs:
            start = f"{output}." if len(self.outputs) > 1 else ""
            found = [answer.predictions.get(output) for answer in answers]
            made[f"{start}text"] = _objects([None if one is None else one.text for one in found])
            scores = [float("nan") if one is None or one.score is None else one.score for one in found]
            made[f"{start}score"] = np.asarray(scores, dtype=np.float64)
            if self.n_best > 1:
                made[f"{start}alternatives"] = _objects([_json(one, "alternatives") for one in found])
            if self.trace:
                made[f"{start}trace"] = _objects([_json(one, "trace") for one in found])
        made["rejected"] = _objects([answer.reason or None for answer in answers])
        return made


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and value != value):
        return None
    return value if isinstance(value, str) else str(value)


def _objects(values: Sequence[Any]) -> Any:
    import numpy as np

    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _json(found: Prediction | None, key: str) -> str | None:
    value = None if found is None else found.to_dict().get(key)
    return None if value is None else json.dumps(value, ensure_ascii=False)
