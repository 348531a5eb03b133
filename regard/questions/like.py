"""Alike: the training rows whose decoder states are nearest to one step of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from regard.data import Row
from regard.data.batch import Tokens
from regard.errors import Option, RegardError
from regard.evaluation import open_dataset
from regard.model import Model
from regard.questions.probe import END_WORD, Probe
from regard.questions.states import Progress, StateIndex, states_of

MOST_ROWS = 5000
"""The number of training rows that are compared, evenly spaced if there are more."""
_indices: WeakKeyDictionary[Model, dict[tuple[str, int], StateIndex]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Neighbor:
    """A training row whose state at a step is near.

    row        its number in the data; `step`: the piece of its output
    distance   1 − cosine of the two states, from 0 to 2
    piece      what the row writes there
    output     all pieces of its output; a label has one
    inputs     its texts by name; of an image, video or audio, its name in the data
    """

    row: int
    step: int
    distance: float
    piece: str
    output: tuple[str, ...]
    inputs: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The neighbor for JSON."""
        return {
            "row": self.row,
            "step": self.step,
            "distance": self.distance,
            "piece": self.piece,
            "output": list(self.output),
            "inputs": dict(self.inputs),
        }

    def __str__(self) -> str:
        before, after = self.output[: self.step], self.output[self.step + 1 :]
        written = " ".join([*before, f"[{self.piece}]", *after])
        return f"{self.distance:.3f}  row {self.row}: {'; '.join(self.inputs.values())} → {written}"


def like(
    model: Model,
    value: Any,
    step: int = 0,
    *,
    rows: Sequence[Mapping[str, Any]] | StateIndex | None = None,
    count: int = 5,
    output: str | None = None,
    most: int = MOST_ROWS,
    progress: Progress | None = None,
) -> list[Neighbor]:
    """The training rows whose decoder states are nearest to the state in which the model writes one piece.

        regard.like(model, "knight", 0)

    value     one input, as in `model.predict`
    step      the output piece, counted from 0; a label has one
    rows      the rows to compare with, or their states (`index_of`); default: the training data of the model
    count     the number of neighbors, one for each row
    most      the largest number of rows that are read; if there are more, evenly spaced ones
    progress  called with the number of rows done and of all rows; what it raises stops the reading

    The state is what the output layer reads. The states of the training data are computed at the first call, and kept
    as long as the model.
    """
    if count < 1:
        raise RegardError(f"count must be at least 1; received {count}.", where=Option("like"))
    probe = Probe(model, value, output=output, where=Option("like"), attends=False)
    step = probe.check_step(step) if probe.stepwise else 0
    if isinstance(rows, StateIndex):
        index = rows
    else:
        index = index_of(model, probe.output, rows=rows, most=most, progress=progress)
    own = _own_states(model, probe)
    return [_neighbor(model, index, *one) for one in index.nearest(own[step], count)]


def index_of(
    model: Model,
    output: str,
    *,
    rows: Sequence[Mapping[str, Any]] | None = None,
    most: int = MOST_ROWS,
    progress: Progress | None = None,
) -> StateIndex:
    """The states of the training data, or of given rows."""
    if rows is not None:
        known = model.dataset([Row(dict(row)) for row in rows], [output])
        return StateIndex.build(model, known, output, most=most, progress=progress)
    held = _indices.setdefault(model, {})
    if (output, most) not in held:
        dataset = open_dataset(model, (), ["train"])
        held[output, most] = StateIndex.build(model, dataset, output, most=most, progress=progress)
    return held[output, most]


def _own_states(model: Model, probe: Probe) -> Any:
    """(T, D) the states of the model's own answer."""
    batch = probe.inference.batch
    if probe.stepwise:
        import torch

        ends = (getattr(probe.decoder, "end", None), 3)
        ids = [one for one in probe.ids if one not in ends]
        device = model.network.device
        written = Tokens(
            torch.tensor([ids], dtype=torch.int64, device=device), torch.tensor([len(ids)], device=device)
        )
        batch = replace(batch, columns={**batch.columns, probe.output: written})
    return states_of(model, batch, probe.output)[0]


def _neighbor(model: Model, index: StateIndex, row: int, step: int, distance: float) -> Neighbor:
    batch = index.dataset.batch([row])
    column: Any = model.columns[index.output]
    target = batch[index.output]
    if isinstance(target, Tokens):
        pieces = [str(one) for one in column.tokens(target.ids[0, : int(target.lengths[0])].tolist())]
        pieces.append(END_WORD)
    else:
        pieces = [batch.texts(index.output)[0]] if batch.texts is not None else [str(target[0])]
    texts = (
        {name: _short(batch.texts(name)[0]) for name in model.spec.inputs} if batch.texts is not None else {}
    )
    return Neighbor(row, step, distance, pieces[step], tuple(pieces), texts)


def _short(text: str) -> str:
    """A text as it is; the start of a long value such as an image in the data."""
    return text if len(text) <= 300 else f"{text[:60]}…"
