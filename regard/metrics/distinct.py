"""distinct-n: the diversity of a model's outputs (Li et al. 2016).

The number of distinct n-grams in all predictions, divided by the number of n-grams. Words are separated by spaces, and
n-grams do not cross predictions. The references provide the baseline: the aim is their value, neither 0 nor 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from regard.metrics.metric import Inference, Metric, Score, pieces
from regard.metrics.rouge import ngrams
from regard.parts import register

ORDERS = {f"distinct{order}": order for order in (1, 2, 3)}


@register("metric", "distinctN")
class Distinct(Metric):
    """The share of distinct n-grams among all n-grams of the outputs: the family `distinct1` to `distinct3`."""

    family = "|".join(ORDERS)
    suits = ("text",)
    baseline_name = "references"

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
        """The metric of some texts."""
        counts: Counter[tuple[str, ...]] = Counter()
        rows = 0
        for rows, text in enumerate(texts, 1):  # noqa: B007
            counts.update(ngrams(pieces(text), self.order))
        signature = (
            f"different {self.order}-grams by {self.order}-grams|words between spaces|all rows together"
        )
        return Score(self.name, len(counts) / max(counts.total(), 1), rows, signature)
