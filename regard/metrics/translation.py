"""BLEU and chrF, computed by sacrebleu (Post 2018) so that figures compare with published ones.

BLEU (Papineni et al. 2002) = BP · exp(¼ Σ_{n≤4} log p_n), cased, 13a tokenization, exponential smoothing.
chrF (Popović 2015) is the F₂ of character 6-grams. Both run from 0 to 100.
`token_bleu` splits at spaces, for formulas, programs and anything else that is already tokenized.
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
    """A metric based on sacrebleu's statistics per row, which its significance tests resample too."""

    suits = ("text",)

    @abstractmethod
    def scorer(self) -> Any:
        """A new scorer of sacrebleu; scorers keep state."""

    def prepare(self, text: str) -> str:
        """Preprocessing of every text; `describe` mentions it."""
        return text

    @cached_property
    def calculator(self) -> Any:
        return self.scorer()

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        prepared = [[self.prepare(text) for text in row] for row in references]
        streams = [list(stream) for stream in zip_longest(*prepared)]  # None for rows with fewer references
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
    """Corpus BLEU. `tokenize` as in sacrebleu: 13a, intl, zh, ja-mecab, char, none."""

    def __init__(self, *, tokenize: str = "13a", lowercase: bool = False) -> None:
        self.tokenize, self.lowercase = tokenize, lowercase

    def scorer(self) -> Any:
        from sacrebleu.metrics import bleu

        return bleu.BLEU(tokenize=self.tokenize, lowercase=self.lowercase, force=True)


@register("metric", "token_bleu")
class TokenBLEU(SacreBLEU):
    """Corpus BLEU over tokens separated by spaces, cased, without smoothing (as in multi-bleu.perl)."""

    def scorer(self) -> Any:
        from sacrebleu.metrics import bleu

        return bleu.BLEU(tokenize="none", smooth_method="none", force=True)


@register("metric", "chrf")
class ChrF(SacreBLEU):
    """Corpus chrF; `word_order` 2 gives chrF++."""

    def __init__(self, *, word_order: int = 0) -> None:
        self.word_order = word_order

    @property
    def name(self) -> str:
        return "chrf++" if self.word_order else "chrf"

    def scorer(self) -> Any:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(word_order=self.word_order)
