"""Hypotheses: the result of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from regard.data.batch import END


@dataclass(frozen=True)
class Hypotheses:
    """K outputs for each of B sources, the best first.

    tokens        (B, K, T) padded with PAD; the last token of each is END
    lengths       (B, K) number of tokens, including END; 0 if there is no such hypothesis
    scores        (B, K) log-probability of the whole output
    token_scores  (B, K, T) log-probability of each token, 0 for padding
    attention     by attended memory, (B, K, T, S): row t holds the attention weights of token t
    end           the id of END
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor
    token_scores: Tensor
    attention: dict[str, Tensor]
    end: int = END

    def cut(self) -> Hypotheses:
        """Without the steps at the end that no hypothesis uses."""
        longest = int(self.lengths.max()) if self.lengths.numel() else 0
        return self.narrowed(steps=longest)

    def narrowed(self, *, rows: int | None = None, steps: int | None = None) -> Hypotheses:
        """The first `rows` sources and the first `steps` steps."""
        return replace(
            self,
            tokens=self.tokens[:rows, :, :steps],
            lengths=self.lengths[:rows],
            scores=self.scores[:rows],
            token_scores=self.token_scores[:rows, :, :steps],
            attention={name: looks[:rows, :, :steps] for name, looks in self.attention.items()},
        )

    def copied(self, widths: Mapping[str, int]) -> Hypotheses:
        """A copy, with the attention cut to the given number of positions of each memory."""
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
