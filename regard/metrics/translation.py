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

from regard.errors import RegardError
from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register
from regard.private import chrf_of, chrf_rows, chrf_unusable


class SacreBLEU(OutputMetric):
    """A metric based on sacrebleu's statistics per row, which its significance tests resample too."""

    suits = ("text",)

    @abstractmethod
    def scorer(self, **options: Any) -> Any:
        """A new scorer of sacrebleu; scorers keep state."""

    @cached_property
    def calculator(self) -> Any:
        return self.scorer()

    def describe(self, count: str) -> str:
        scorer = self.scorer()
        scorer.num_refs = -1 if count == "var" else int(count)
        return str(scorer.get_signature())


class CorpusBLEU(SacreBLEU):
    """A BLEU, from the counts of its n-grams."""

    def prepare(self, text: str) -> str:
        """Preprocessing of every text; `describe` mentions it."""
        return text

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        scorer = self.scorer(
            effective_order=True
        )  # as sacrebleu advises for one row; the counts are the same
        found = [
            scorer.sentence_score(self.prepare(text), [self.prepare(one) for one in row])
            for text, row in zip(predictions, references, strict=True)
        ]
        lines = [[one.sys_len, one.ref_len, *one.counts, *one.totals] for one in found]
        return np.asarray(lines, dtype=np.float64)

    def value(self, sums: Table) -> float:
        length, reference, *counts = (int(number) for number in np.rint(sums))
        scorer, half = self.calculator, len(counts) // 2
        found = scorer.compute_bleu(
            counts[:half],
            counts[half:],
            length,
            reference,
            smooth_method=scorer.smooth_method,
            smooth_value=scorer.smooth_value,
            max_ngram_order=half,
        )
        return float(found.score)


@register("metric", "bleu")
class BLEU(CorpusBLEU):
    """Corpus BLEU. `tokenize` as in sacrebleu: 13a, intl, zh, ja-mecab, char, none."""

    def __init__(self, *, tokenize: str = "13a", lowercase: bool = False) -> None:
        self.tokenize, self.lowercase = tokenize, lowercase

    def scorer(self, **options: Any) -> Any:
        from sacrebleu.metrics import bleu

        return bleu.BLEU(tokenize=self.tokenize, lowercase=self.lowercase, force=True, **options)


@register("metric", "token_bleu")
class TokenBLEU(CorpusBLEU):
    """Corpus BLEU over tokens separated by spaces, cased, without smoothing (as in multi-bleu.perl)."""

    def scorer(self, **options: Any) -> Any:
        from sacrebleu.metrics import bleu

        return bleu.BLEU(tokenize="none", smooth_method="none", force=True, **options)


@register("metric", "chrf")
class ChrF(SacreBLEU):
    """Corpus chrF; `word_order` 2 gives chrF++."""

    def __init__(self, *, word_order: int = 0) -> None:
        self.word_order = word_order

    @property
    def name(self) -> str:
        return "chrf++" if self.word_order else "chrf"

    def scorer(self, **options: Any) -> Any:
        from sacrebleu.metrics.chrf import CHRF

        if reason := chrf_unusable():
            raise RegardError(
                f"{self.name} cannot be measured with the installed version of sacrebleu ({reason}).",
                fix="pip install 'sacrebleu==2.6.0'",
            )
        return CHRF(word_order=self.word_order, **options)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        streams = [list(stream) for stream in zip_longest(*references)]  # None for rows with fewer references
        return np.asarray(chrf_rows(self.scorer(), predictions, streams), dtype=np.float64)

    def value(self, sums: Table) -> float:
        return chrf_of(self.calculator, [int(number) for number in np.rint(sums)])
