"""BLEU-1 … BLEU-4 of captions, each with one or more references.

    BLEU-N = BP · exp((1/N) Σ_{n≤N} log p_n)

over the whole corpus. p_n is the share of predicted n-grams found in a reference, clipped at their largest count in any
reference. BP compares with the reference nearest in length, the shorter of two. Computed by sacrebleu
(`max_ngram_order` N, `tokenize` none, no smoothing) from lower-cased words without punctuation, as is common for
captions. The Penn Treebank tokenizer, usual there, splits "dog's"; here words stay whole.
"""

from __future__ import annotations

import re
from typing import Any

from regard.metrics.translation import CorpusBLEU
from regard.parts import register

WORD = re.compile(r"\w+(?:['’-]\w+)*")
ORDERS = {f"bleu{order}": order for order in (1, 2, 3, 4)}


def caption_words(text: str) -> list[str]:
    """The lower-cased words of a caption, without punctuation except apostrophes and hyphens within words."""
    return WORD.findall(text.lower())


@register("metric", "bleuN")
class CaptionBLEU(CorpusBLEU):
    """Corpus BLEU-`order`, from 0 to 100: the family `bleu1` to `bleu4`."""

    family = "|".join(ORDERS)

    def __init__(self, order: int) -> None:
        self.order = order

    @property
    def name(self) -> str:
        return f"bleu{self.order}"

    @classmethod
    def named(cls, name: str) -> CaptionBLEU | None:
        return cls(ORDERS[name]) if name in ORDERS else None

    @classmethod
    def members(cls) -> tuple[str, ...]:
        return tuple(ORDERS)

    def scorer(self, **options: Any) -> Any:
        from sacrebleu.metrics import bleu

        options = {"max_ngram_order": self.order, "tokenize": "none", "smooth_method": "none", **options}
        return bleu.BLEU(force=True, **options)

    def prepare(self, text: str) -> str:
        return " ".join(caption_words(text))

    def describe(self, count: str) -> str:
        return f"BLEU-{self.order}, lower-cased words without punctuation|{super().describe(count)}"
