"""A measured value, with all one needs to repeat it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """One metric over n rows.

    name               "bleu", "per", …
    value              BLEU and chrF from 0 to 100, everything else a share or a rate: 0.12 is 12 %
    n                  rows measured
    higher_is_better   direction
    signature          how it was computed, in one line that another implementation can follow
    """

    name: str
    value: float
    n: int
    higher_is_better: bool = True
    signature: str = ""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4g}"
