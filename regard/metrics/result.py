"""A measured value, with all one needs to repeat it."""

from __future__ import annotations

from dataclasses import dataclass, field

LOWER_IS_BETTER = frozenset({"loss", "perplexity", "wer", "cer", "per", "word_error", "aer"})


@dataclass(frozen=True)
class Score:
    """One metric over n rows.

    name               "bleu", "per", …
    value              BLEU and chrF from 0 to 100, everything else a share or a rate: 0.12 is 12 %
    n                  rows measured
    higher_is_better   direction
    signature          how it was computed, in one line that another implementation can follow
    detail             other numbers that belong to it (precisions, counts)
    """

    name: str
    value: float
    n: int
    higher_is_better: bool = True
    signature: str = ""
    detail: dict[str, float] = field(default_factory=dict)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4g}"


def higher_is_better(name: str) -> bool:
    """The direction of a metric by its name; of "target.bleu" (a metric of one output of several) the last part counts."""
    return name.rpartition(".")[2] not in LOWER_IS_BETTER
