"""Hypotheses: what a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from regard.data.batch import END


@dataclass(frozen=True)
class Hypotheses:
    """K outputs for each of B sources, the best first.

    tokens        (B, K, T) PAD beyond the length; END is the last token of each
    lengths       (B, K) number of tokens, END among them; 0 where there is no such hypothesis
    scores        (B, K) log-probability of the whole
    token_scores  (B, K, T) log-probability of each token, 0 beyond the end
    attention     by attended memory, (B, K, T, S): row t is where the model looked for token t
    end           the id of END
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor
    token_scores: Tensor
    attention: dict[str, Tensor]
    end: int = END

    def cut(self) -> Hypotheses:
        """Without the steps at the end that no hypothesis needs."""
        longest = int(self.lengths.max()) if self.lengths.numel() else 0
        return self.narrowed(steps=longest)

    def narrowed(self, *, rows: int | None = None, steps: int | None = None) -> Hypotheses:
        """The first sources, and the first steps."""
        return replace(
            self,
            tokens=self.tokens[:rows, :, :steps],
            lengths=self.lengths[:rows],
            scores=self.scores[:rows],
            token_scores=self.token_scores[:rows, :, :steps],
            attention={name: looks[:rows, :, :steps] for name, looks in self.attention.items()},
        )

    def copied(self, widths: Mapping[str, int]) -> Hypotheses:
        """The same in memory of its own, each look cut to so many positions of its memory."""
        return replace(
            self,
            tokens=self.tokens.clone(),
            lengths=self.lengths.clone(),
            scores=self.scores.clone(),
            token_scores=self.token_scores.clone(),
            attention={name: looks[..., : widths[name]].clone() for name, looks in self.attention.items()},
        )

    def content(self, row: int, rank: int = 0) -> list[int]:
        """The ids of one hypothesis without its END."""
        ids: list[int] = self.tokens[row, rank, : int(self.lengths[row, rank])].tolist()
        return ids[:-1] if ids and ids[-1] == self.end else ids
