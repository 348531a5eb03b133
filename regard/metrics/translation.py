"""BLEU and chrF, computed by sacrebleu (Post 2018) so that figures compare with published ones.

BLEU (Papineni et al. 2002) = BP · exp(¼ Σ_{n≤4} log p_n), cased, 13a tokenisation, exponential smoothing.
chrF (Popović 2015) is the F₂ of character 6-grams. Both run from 0 to 100.
`token_bleu` takes the words as they are separated by spaces: formulas, programs, anything already cut into tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from regard.metrics.metric import Metric, References, Table


def bleu(*, tokenize: str = "13a", lowercase: bool = False) -> Metric:
    """BLEU of the corpus. `tokenize` as in sacrebleu: 13a, intl, zh, ja-mecab, char, none."""
    from sacrebleu.metrics.bleu import BLEU

    return from_sacrebleu("bleu", lambda: BLEU(tokenize=tokenize, lowercase=lowercase, force=True))


def token_bleu() -> Metric:
    """BLEU of the corpus over tokens separated by spaces, cased, without smoothing (as multi-bleu.perl has it)."""
    from sacrebleu.metrics.bleu import BLEU

    return from_sacrebleu("token_bleu", lambda: BLEU(tokenize="none", smooth_method="none", force=True))


def chrf(*, word_order: int = 0) -> Metric:
    """chrF of the corpus; `word_order` 2 gives chrF++."""
    from sacrebleu.metrics.chrf import CHRF

    return from_sacrebleu("chrf++" if word_order else "chrf", lambda: CHRF(word_order=word_order))


def from_sacrebleu(name: str, make: Any, *, prepare: Callable[[str], str] = str, prefix: str = "") -> Metric:
    """A Metric over sacrebleu's own statistics of each row, the ones its significance tests resample.

    prepare   what is done to every text before; `prefix` says so in the signature
    """
    calculator = make()

    def statistics(predictions: Sequence[str], references: References) -> Table:
        prepared = [[prepare(text) for text in row] for row in references]
        streams = [list(stream) for stream in zip_longest(*prepared)]  # None where a row has fewer references
        lines = make()._extract_corpus_statistics([prepare(text) for text in predictions], streams)
        return np.asarray(lines, dtype=np.float64)

    def value(sums: Table) -> float:
        return float(calculator._compute_score_from_stats([int(number) for number in np.rint(sums)]).score)

    def describe(count: str) -> str:
        scorer = make()
        scorer.num_refs = -1 if count == "var" else int(count)
        return prefix + str(scorer.get_signature())

    return Metric(name, statistics, value, describe)
