"""BLEU and chrF, computed by sacrebleu (Post 2018) so that figures compare with published ones.

BLEU (Papineni et al. 2002) = BP · exp(¼ Σ_{n≤4} log p_n), cased, 13a tokenization, exponential smoothing.
chrF (Popović 2015) is the F₂ of character 6-grams. Both run from 0 to 100.
`token_bleu` takes the words as they are separated by spaces: formulas, programs, anything already cut into tokens.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register


class SacreBLEU(OutputMetric):
    """A metric over sacrebleu's own statistics of each row, the ones its significance tests resample."""

    suits = ("text",)

    @abstractmethod
    def scorer(self) -> Any:
        """One of sacrebleu's metrics, anew: it remembers what it measured."""

    def prepare(self, text: str) -> str:
        """What is done to every text before; `describe` says so."""
        return text

    @cached_property
    def calculator(self) -> Any:
        return self.scorer()

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        prepared = [[self.prepare(text) for text in row] for row in references]
        streams = [list(stream) for stream in zip_longest(*prepared)]  # None where a row has fewer references
        lines = self.scorer()._extract_corpus_statistics(
            [self.prepare(text) for text in predictions], streams
        )
        return np.asarray(lines, dtype=np.float64)

    def value(self, sums: Table) -> float:
        found = self.calculator._compute_score_from_stats([int(number) for number in np.rint(sums)])
        return float(found.score)

    def describe(self, count: str) -> str:
        scorer = self.scorer()
        scorer.num_refs = -1 if count == "var" else int(count)
        return str(scorer.get_signature())


@register("metric", "bleu")
class BLEU(SacreBLEU):
    """BLEU of the corpus. `tokenize` as in sacrebleu: 13a, intl, zh, ja-mecab, char, none."""

    def __init__(self, *, tokenize: str = "13a", lowercase: bool = False) -> None:
        self.tokenize, self.lowercase = tokenize, lowercase

    def scorer(self) -> Any:
        from sacrebleu.metrics import bleu

        return bleu.BLEU(tokenize=self.tokenize, lowercase=self.lowercase, force=True)


@register("metric", "token_bleu")
class TokenBLEU(SacreBLEU):
    """BLEU of the corpus over tokens separated by spaces, cased, without smoothing (as multi-bleu.perl has it)."""

    def scorer(self) -> Any:
        from sacrebleu.metrics import bleu

        return bleu.BLEU(tokenize="none", smooth_method="none", force=True)


@register("metric", "chrf")
class ChrF(SacreBLEU):
    """chrF of the corpus; `word_order` 2 gives chrF++."""

    def __init__(self, *, word_order: int = 0) -> None:
        self.word_order = word_order

    @property
    def name(self) -> str:
        return "chrf++" if self.word_order else "chrf"

    def scorer(self) -> Any:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(word_order=self.word_order)
