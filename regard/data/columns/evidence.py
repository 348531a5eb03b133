"""Evidence: the words of a document that decide the answer, by sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from regard.data.batch import Evidence
from regard.data.columns.document import sentence_lengths
from regard.data.columns.sentence_truth import SentenceTruthColumn
from regard.data.ragged import Array, Ragged
from regard.parts import register


@register("column", "evidence")
class EvidenceColumn(SentenceTruthColumn):
    """Pairs of a sentence and a word in it: "3:1 3:4". Words are counted as the input splits them."""

    class Options(SentenceTruthColumn.Options):
        """The words of a document that decide the answer: `3:1 3:4`, sentence and word counted from 0."""

    type = "evidence"
    width: ClassVar[int] = 2
    expects: ClassVar[str] = "sentences and words such as 3:1 3:4"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the words that decide"

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        if reason := super().check_beside(encoded, beside):
            return reason
        lengths = sentence_lengths(beside[self.of[0]])
        for sentence, word in self.items(encoded):
            if word >= lengths[sentence]:
                return f"names word {word} of sentence {sentence}, which has {lengths[sentence]} words"
        return None

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Evidence:
        """The distribution over sentences (B, 1, S), and the words of each row."""
        rows = Ragged.of(encoded)
        words = tuple(
            tuple((sentence, word) for sentence, word in self.items(rows[row])) for row in range(len(rows))
        )
        longest = int(beside[self.of[0]].lengths.max()) if beside else 0
        longest = max([longest, *(sentence + 1 for row in words for sentence, _ in row)])
        shares = torch.zeros(len(rows), 1, longest)
        for row, pairs in enumerate(words):
            chosen = sorted({sentence for sentence, _ in pairs})
            shares[row, 0, chosen] = 1 / max(len(chosen), 1)
        return Evidence(shares, words)
