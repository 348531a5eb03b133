"""Hypotheses: what a search returns."""

from __future__ import annotations

from dataclasses import dataclass

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

    def content(self, row: int, rank: int = 0) -> list[int]:
        """The ids of one hypothesis without its END."""
        ids: list[int] = self.tokens[row, rank, : int(self.lengths[row, rank])].tolist()
        return ids[:-1] if ids and ids[-1] == self.end else ids
