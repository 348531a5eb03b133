"""BLEU-1 … BLEU-4 of captions, each with one or more references.

    BLEU-N = BP · exp((1/N) Σ_{n≤N} log p_n)

over the whole corpus: p_n is the share of predicted n-grams found in a reference, clipped at the count of the
reference that has most of them; BP compares with the reference nearest in length, of two the shorter. Computed by
sacrebleu (`max_ngram_order` N, `tokenize` none, no smoothing) from lower-cased words without punctuation, as work on
captions does. There the Penn Treebank tokeniser is usual, which cuts "dog's" in two; here a word stays whole.
"""

from __future__ import annotations

import re

from regard.metrics.metric import Metric
from regard.metrics.translation import from_sacrebleu

WORD = re.compile(r"\w+(?:['’-]\w+)*")


def caption_words(text: str) -> list[str]:
    """The words of a caption in lower case; apostrophes and hyphens stay within them, other punctuation goes."""
    return WORD.findall(text.lower())


def caption_bleu(order: int) -> Metric:
    """BLEU-`order` of the corpus, from 0 to 100; `bleu1` to `bleu4` by name."""
    from sacrebleu.metrics.bleu import BLEU

    return from_sacrebleu(
        f"bleu{order}",
        lambda: BLEU(max_ngram_order=order, tokenize="none", smooth_method="none", force=True),
        prepare=lambda text: " ".join(caption_words(text)),
        prefix=f"BLEU-{order}, lower-cased words without punctuation|",
    )
