"""distinct-n: how much of what a model writes is not what it wrote before (Li et al. 2016).

The number of different n-grams in all predictions, divided by the number of n-grams; words between spaces, n-grams
within a prediction. Beside it, as a baseline, stands that of the references: neither 0 nor 1 is the aim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from regard.metrics.inference import Inference
from regard.metrics.metric import Metric, Score, pieces
from regard.metrics.rouge import ngrams
from regard.parts import register

ORDERS = {f"distinct{order}": order for order in (1, 2, 3)}


@register("metric", "distinctN")
class Distinct(Metric):
    """The share of different n-grams among all that were written: the family `distinct1` to `distinct3`."""

    suits = ("text",)

    def __init__(self, order: int) -> None:
        self.order = order

    @property
    def name(self) -> str:
        return f"distinct{self.order}"

    @classmethod
    def named(cls, name: str) -> Distinct | None:
        return cls(ORDERS[name]) if name in ORDERS else None

    @classmethod
    def members(cls) -> tuple[str, ...]:
        return tuple(ORDERS)

    def measure(self, inference: Inference) -> Score:
        return self.of(answer.value for answer in inference.predictions)

    def baseline(self, inference: Inference) -> Score:
        return self.of(row[0] for row in inference.references)

    def of(self, texts: Iterable[str]) -> Score:
        """That of some texts."""
        counts: Counter[tuple[str, ...]] = Counter()
        rows = 0
        for rows, text in enumerate(texts, 1):  # noqa: B007
            counts.update(ngrams(pieces(text), self.order))
        signature = (
            f"different {self.order}-grams by {self.order}-grams|words between spaces|all rows together"
        )
        return Score(self.name, len(counts) / max(counts.total(), 1), rows, signature)
