"""Supporting facts: the sentences of a story that lead to the answer, in the order of reasoning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from regard.data.batch import Tokens
from regard.data.columns.sentence_truth import SentenceTruthColumn
from regard.data.ragged import Array, Ragged
from regard.parts import register


@register("column", "facts")
class FactsColumn(SentenceTruthColumn):
    """Indices of sentences: "3 0"."""

    class Options(SentenceTruthColumn.Options):
        """The sentences of a story that lead to the answer, in the order of reasoning: `3 0`, counted from 0."""

    type = "facts"
    expects: ClassVar[str] = "numbers of sentences such as 3 0"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the sentences that lead to the answer"

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tokens:
        """ids (B, F) indices of sentences, lengths (B,) number of facts."""
        rows = Ragged.of(encoded)
        return Tokens(torch.from_numpy(rows.padded()), torch.from_numpy(rows.lengths))
