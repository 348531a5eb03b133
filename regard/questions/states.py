"""The states of a decoder: the vectors that its output layer reads, at each step of given outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data import Batch, Dataset
from regard.data.batch import Tokens
from regard.errors import Option, RegardError
from regard.model import Model
from regard.nn.network import answering
from regard.nn.packing import forced

Progress = Callable[[int, int], None]
MOST_BYTES = 128 * 2**20
"""The largest index of states, in memory."""
BATCH = 64
"""Rows that are computed at a time."""


def states_of(model: Model, batch: Batch, output: str) -> list[Tensor]:
    """The states of each row of a batch with its outputs, (T, D) each: one for each piece and one for the end; a label
    has one."""
    decoder: Any = model.network.decoders[output]
    last = getattr(decoder, "output", None)
    if not isinstance(last, torch.nn.Module):
        raise RegardError(
            f"the states of {output!r} cannot be compared: it has no output layer.", where=Option("like")
        )
    read: list[Tensor] = []
    hook = last.register_forward_pre_hook(lambda module, given: read.append(given[0].detach()))
    try:
        with torch.no_grad(), answering(model):
            inference = model.inference(batch, output)
            target = inference.batch[output] if decoder.stepwise else None
            if target is not None:
                decoder.distribution(inference.memories, target)
            else:
                decoder.predict(inference.memories, truth=inference.truth)
    finally:
        hook.remove()
    found = read[0]
    if not decoder.stepwise and found.ndim == 2 and len(found) == len(batch):
        return list(found.split(1))
    if decoder.stepwise and isinstance(target, Tokens) and found.ndim == 2:
        packing = forced(target)[2]
        if len(found) == len(packing.places):
            padded = packing.unpack(found)
            return [padded[row, : length + 1] for row, length in enumerate(target.lengths.tolist())]
    raise RegardError(
        f"the states of {output!r} cannot be compared: they are of another kind.", where=Option("like")
    )


@dataclass(frozen=True)
class StateIndex:
    """The normalized states of the rows of a data set.

    vectors   (M, D) float32
    rows      (M) the row of each, and `steps` (M) its step
    whole     the number of rows of the data; some may be left out
    """

    dataset: Dataset
    output: str
    vectors: np.ndarray
    rows: np.ndarray
    steps: np.ndarray
    whole: int

    @classmethod
    def build(
        cls,
        model: Model,
        dataset: Dataset,
        output: str,
        *,
        most: int,
        progress: Progress | None = None,
    ) -> StateIndex:
        """The states of at most `most` rows, evenly spaced in the data, as far as they fit in memory."""
        count = min(len(dataset), most)
        numbers = sorted({place * len(dataset) // count for place in range(count)}) if count else []
        vectors: list[np.ndarray] = []
        rows: list[np.ndarray] = []
        steps: list[np.ndarray] = []
        held, done = 0, 0
        for first in range(0, len(numbers), BATCH):
            if progress is not None:
                progress(done, len(numbers))
            chosen = numbers[first : first + BATCH]
            for number, found in zip(chosen, states_of(model, dataset.batch(chosen), output), strict=True):
                known = normalized(found)
                vectors.append(known)
                rows.append(np.full(len(known), number, dtype=np.int64))
                steps.append(np.arange(len(known), dtype=np.int64))
                held += known.nbytes
            done += len(chosen)
            if held > MOST_BYTES:
                break
        if progress is not None:
            progress(len(numbers), len(numbers))
        if not vectors:
            raise RegardError("there are no rows to compare with.", where=Option("like"))
        return cls(
            dataset,
            output,
            np.concatenate(vectors),
            np.concatenate(rows),
            np.concatenate(steps),
            len(dataset),
        )

    def nearest(self, state: Tensor, count: int) -> list[tuple[int, int, float]]:
        """(row, step, 1 − cosine) of the nearest states, at most one for each row, nearest first."""
        distances = 1.0 - self.vectors @ normalized(state.unsqueeze(0))[0]
        order = np.argsort(distances, kind="stable")
        found: dict[int, tuple[int, int, float]] = {}
        for place in order:
            row = int(self.rows[place])
            if row not in found:
                found[row] = (row, int(self.steps[place]), max(float(distances[place]), 0.0))
            if len(found) >= count:
                break
        return list(found.values())


def normalized(states: Tensor) -> np.ndarray:
    """(T, D) float32 vectors of length 1."""
    known = states.float().cpu().numpy()
    lengths = np.linalg.norm(known, axis=-1, keepdims=True)
    found: np.ndarray = known / np.maximum(lengths, 1e-12)
    return found
