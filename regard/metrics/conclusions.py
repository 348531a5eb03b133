"""Valid conclusions: whether an output follows from the input, proved by the logic of the world `inference`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from regard.metrics.metric import Inference, OutputInfo, RowMetric, Score, Table
from regard.parts import register


@register("metric", "valid_conclusions")
class ValidConclusions(RowMetric):
    """The share of outputs that are sentences of the world `inference`, follow from the input by its logic, and differ
    from the input. The model's own probabilities play no role."""

    suits = ("text",)

    def refuses(self, output: OutputInfo) -> str | None:
        if len(output.inputs) != 1:
            return f"{self.name} needs one input, the premise; there are {', '.join(output.inputs) or 'none'}"
        return super().refuses(output)

    def measure(self, inference: Inference) -> Score:
        return self._scored(inference.once(proved), "proved")

    def lines(self, inference: Inference) -> Table:
        return np.array([[float(one), 1.0] for one in inference.once(proved)])

    def baseline(self, inference: Inference) -> Score:
        """The conclusions of the next row: the level reached by well-formed but unrelated sentences."""
        true = [row[0] for row in inference.references]
        return self._scored(_proved(inference, [*true[1:], *true[:1]]), "the conclusion of the next row")

    def _scored(self, right: Sequence[bool], how: str) -> Score:
        signature = f"share that follows from the premise and is not it|{how}"
        return Score(self.name, sum(right) / max(len(right), 1), len(right), signature)


def proved(inference: Inference) -> list[bool]:
    """For each row, whether the output is a valid conclusion."""
    return _proved(inference, [answer.text for answer in inference.predictions])


def _proved(inference: Inference, written: Sequence[str]) -> list[bool]:
    from regard.worlds.inference.reading import follows

    (premise,) = inference.output.inputs
    return conclusions(written, [inference.raw(row)[premise] for row in range(len(inference))], follows)


def conclusions(
    written: Sequence[str], premises: Sequence[str], follows: Callable[[str, str], bool]
) -> list[bool]:
    """For each output, whether it differs from its premise and follows from it."""
    pairs = [(one.split(), other.split()) for one, other in zip(written, premises, strict=True)]
    return [one != other and follows(" ".join(one), " ".join(other)) for one, other in pairs]


def share(written: Sequence[str], premises: Sequence[str], follows: Callable[[str, str], bool]) -> float:
    """The share of outputs that differ from their premise and follow from it."""
    return sum(conclusions(written, premises, follows)) / max(len(written), 1)
