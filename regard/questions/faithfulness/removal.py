"""log p of answers when positions of an input are removed: thousands of variants in few forward passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import torch

from regard.data.ragged import Array
from regard.model.edits import ZeroEdit
from regard.model.inference import BatchInference
from regard.nn.network import answering
from regard.questions.faithfulness.rows import Examined, Kept, Looked, in_chunks
from regard.trace.prediction import Prediction

Remove = Literal["delete", "mask", "zero"]
"""delete: leave positions out of the input and encode it anew (ERASER). mask: the unknown unit, or the mean, in their
place. zero: the encoding stays, and they get no attention; the rest of each row is renormalized."""
Progress = Callable[[int, int], None]
BATCH = 256
"""Variants in one forward pass."""
Key = tuple[int, str, Kept]


class Removal:
    """log p of every answer for any set of kept positions; each set is computed once.

    removal.need([(looked, kept), …])     compute those that are not known yet, in batches
    removal[looked, kept]                 (T,) log p of each output piece
    """

    def __init__(
        self, examined: Examined, remove: Remove | None = None, progress: Progress | None = None
    ) -> None:
        self.examined, self.progress = examined, progress
        self.looked: dict[tuple[int, str], Looked] = {(one.row, one.input): one for one in examined.looked()}
        self.remove: Remove = self._usual() if remove is None else remove
        self.done, self.asked = 0, 0
        self._known: dict[Key, Array] = {}

    def _usual(self) -> Remove:
        """delete, or zero if an input cannot be written without a position, such as a tree."""
        firsts = {name: one for (_, name), one in reversed(self.looked.items())}
        return "delete" if all(map(self.examined.removable, firsts.values())) else "zero"

    def __getitem__(self, asked: tuple[Looked, Array]) -> Array:
        one, kept = asked
        if kept.all():
            return one.scores
        return self._known[one.row, one.input, kept.tobytes()]

    def need(self, asked: Iterable[tuple[Looked, Array]]) -> None:
        """Compute what is asked for, in batches of similar lengths."""
        missing: dict[Key, Array] = {}
        for one, kept in asked:
            key = (one.row, one.input, kept.tobytes())
            if not kept.all() and key not in self._known:
                missing[key] = kept
        self.asked += len(missing)
        order = sorted(missing, key=lambda key: (key[1], int(missing[key].sum()), len(key[2]), key[0]))
        for chunk in in_chunks(order, BATCH):
            variants = [(row, name, missing[row, name, kept]) for row, name, kept in chunk]
            for key, scores in zip(chunk, self._scores(variants), strict=True):
                self._known[key] = scores
            self.done += len(chunk)
            if self.progress is not None:
                self.progress(self.done, self.asked)

    def _scores(self, variants: list[tuple[int, str, Array]]) -> list[Array]:
        rows = [row for row, _, _ in variants]
        if self.remove == "zero":
            batch = self.examined.batch(
                [(row, name, None) for row, name, _ in variants], fill=False, looked={}
            )
            edits = [
                [ZeroEdit(input=name, positions=np.flatnonzero(~kept).tolist())] for _, name, kept in variants
            ]
            return scores_of(self.examined, batch, rows, edits)
        batch = self.examined.batch(variants, fill=self.remove == "mask", looked=self.looked)
        return scores_of(self.examined, batch, rows)


@torch.inference_mode()
def scores_of(examined: Examined, batch: Any, rows: list[int], edits: Any = None) -> list[Array]:
    """(T,) log p of the pieces of each answer, given the inputs of the batch and edits of each row."""
    model = examined.model
    with answering(model):
        inference = BatchInference(
            model.spec, model.columns, model.network, batch.to(model.device), examined.output, edits
        )
        if not examined.stepwise:
            found = inference.answers(inference.find(), trace=False)
            wanted = [str(examined.answers[row].value) for row in rows]
            with np.errstate(divide="ignore"):
                return [np.log([_p(one, label)]) for one, label in zip(found, wanted, strict=True)]
        hypotheses = inference.given()
        lengths = hypotheses.lengths[:, 0].tolist()
        scores = hypotheses.token_scores[:, 0].double().cpu().numpy()
        return [scores[place, :length] for place, length in enumerate(lengths)]


def _p(found: Prediction, label: str) -> float:
    """The probability of a label. Of many candidates, only the best are listed: another is at most as probable as the
    last of them."""
    return found.probabilities.get(label, min(found.probabilities.values(), default=0.0))
