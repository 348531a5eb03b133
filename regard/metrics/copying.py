"""Copying: recall of words outside the vocabulary, and accuracy of the copied positions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from regard.metrics.alignment import AlignmentMetric, parse_links
from regard.metrics.metric import Inference, Metric, OutputInfo, Score
from regard.parts import register


@register("metric", "unseen_words")
class UnseenWords(Metric):
    """Recall of the reference words that the output's vocabulary lacks.

    A word counts as often as it is in both prediction and reference; of several references, the first is used.
    """

    suits = ("text",)

    def refuses(self, output: OutputInfo) -> str | None:
        if getattr(output.column, "unit", "word") == "byte":
            return f"{self.name} measures words outside the vocabulary; with bytes there are none"
        return super().refuses(output)

    def measure(self, inference: Inference) -> Score | None:
        column: Any = inference.output.column
        right = total = 0
        for answer, row in zip(inference.predictions, inference.references, strict=True):
            unseen = Counter(piece for piece in column.pieces(row[0]) if piece not in column.vocabulary)
            right += (unseen & Counter(column.pieces(answer.value))).total()
            total += unseen.total()
        if not total:
            return None
        return Score(self.name, right / total, total, "recall of words outside the output's vocabulary")


@register("metric", "copied_right")
class CopiedRight(AlignmentMetric):
    """Among the aligned words of the true output that the model copies rather than generates, the share whose most
    copied position is one they are aligned with."""

    ensembles = False

    def measure(self, inference: Inference) -> Score | None:
        known = inference.output.known("alignment", attended=True)
        right = total = 0
        for row, trace in inference.traces(structures=True):
            for name, column in known.items():
                copied = trace.copied.get(name)
                for source, target in best_copies(copied) if copied is not None else ():
                    linked = {
                        one for one, other in parse_links(inference.raw(row)[column]) if other == target
                    }
                    if linked:
                        right, total = right + (source in linked), total + 1
        if not total:
            return None
        return Score(self.name, right / total, total, "most copied position of each copied, aligned word")


def best_copies(copied: Any) -> list[tuple[int, int]]:
    """(position, output piece) of the pieces copied with a probability above 0.5, from the probabilities (T, S)."""
    return [(int(row.argmax()), place) for place, row in enumerate(copied) if row.sum() > 0.5]
