"""Conclusions: whether what was written follows from what was read, proved by the world the rows come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regard.metrics.inference import Inference, OutputInfo
from regard.metrics.metric import Metric, Score
from regard.parts import register


@register("metric", "valid_conclusions")
class ValidConclusions(Metric):
    """The share of outputs that are sentences of the world `inference`, follow from the input by its logic, and say
    something else than the input itself. Nothing the network thinks of them counts."""

    suits = ("text",)

    def refuses(self, output: OutputInfo) -> str | None:
        if len(output.inputs) != 1:
            return f"{self.name} needs one input, the premise; there are {', '.join(output.inputs) or 'none'}"
        return super().refuses(output)

    def measure(self, inference: Inference) -> Score:
        return self._share(inference, [answer.text for answer in inference.predictions], "proved")

    def baseline(self, inference: Inference) -> Score:
        """A conclusion of another row: what one gets by knowing what conclusions look like."""
        true = [row[0] for row in inference.references]
        return self._share(inference, [*true[1:], *true[:1]], "the conclusion of the next row")

    def _share(self, inference: Inference, written: Sequence[str], how: str) -> Score:
        from regard.worlds.inference.reading import follows

        (premise,) = inference.output.inputs
        given = [inference.raw(row)[premise] for row in range(len(inference))]
        value = share(written, given, follows)
        return Score(self.name, value, len(given), f"share that follows from the premise and is not it|{how}")


def share(written: Sequence[str], premises: Sequence[str], follows: Callable[[str, str], bool]) -> float:
    """Of the sentences written those that differ from their premise and follow from it."""
    pairs = [(one.split(), other.split()) for one, other in zip(written, premises, strict=True)]
    right = sum(one != other and follows(" ".join(one), " ".join(other)) for one, other in pairs)
    return right / max(len(pairs), 1)
