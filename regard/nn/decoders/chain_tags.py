"""Tags decoder with a chain over the tags: a neural conditional random field (Collobert et al. 2011)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.decoders.base import Source
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.structures import LinearChain

TagsDecoding = Literal["viterbi", "marginal"]


@dataclass(frozen=True)
class ChainTags:
    """The tags (B, S) of the positions where mask (B, S) is True, found jointly.

    scores       (B) log p of the whole sequence
    marginals    (B, S, C) p(y_s = c | x)
    """

    value: Tensor
    scores: Tensor
    marginals: Tensor
    mask: Tensor

    @property
    def token_scores(self) -> Tensor:
        """(B, S) log p(y_s | x) of the tag of each position."""
        chosen = self.marginals.gather(-1, self.value.unsqueeze(-1)).squeeze(-1)
        return torch.where(self.mask, chosen, 1.0).log()


class ChainTagsDecoder(nn.Module):
    """p(y | x) ∝ exp(start[y_1] + Σ_s (V h_s + b)[y_s] + Σ_s A[y_s, y_{s+1}] + end[y_n]).

    transitions[i, j]   A: tag i followed by tag j
    allowed             (C + 1, C + 1) Boolean: whether tag i may be followed by tag j; the last row is the beginning,
                        the last column the end. What is not allowed has probability 0
    decode              viterbi: the most probable sequence; marginal: the most probable tag of each position
    """

    allowed: Tensor | None

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        of: str | None = None,
        dropout: float = 0.0,
        allowed: Tensor | None = None,
        decode: TagsDecoding = "viterbi",
    ) -> None:
        super().__init__()
        self.of, self.decode = next(iter(sources)) if of is None else of, decode
        if self.of not in sources:
            raise RegardError(
                f"Tags of {self.of!r} need a source of that name; there are {', '.join(sources)}."
            )
        self.output = nn.Linear(sources[self.of].value_size, classes)
        self.transitions = nn.Parameter(torch.zeros(classes, classes))
        self.start, self.end = nn.Parameter(torch.zeros(classes)), nn.Parameter(torch.zeros(classes))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("allowed", allowed, persistent=False)

    def chain(self, memory: Memory) -> LinearChain:
        """The distribution over the tag sequences of a memory."""
        nodes = self.output(self.dropout(memory.values)).float()  # (B, S, C)
        lengths = memory.mask.sum(-1)
        if self.allowed is None:
            return LinearChain(self.transitions, nodes, self.start, self.end, lengths=lengths)
        start = self.start.masked_fill(~self.allowed[-1, :-1], -torch.inf)
        end = self.end.masked_fill(~self.allowed[:-1, -1], -torch.inf)
        return LinearChain(self.transitions, nodes, start, end, lengths=lengths, mask=self.allowed[:-1, :-1])

    def loss(self, memories: Mapping[str, Memory], target: Tokens) -> Loss:
        """−log p of the whole sequences; the count is of positions, as without a chain."""
        memory = memories[self.of]
        if memory.mask.shape[1] != target.ids.shape[1]:
            raise RegardError(
                f"There are {target.ids.shape[1]} tags for {memory.mask.shape[1]} positions of {self.of!r}.",
                fix="Every position needs exactly one tag.",
            )
        chain = self.chain(memory)
        total = -chain.log_prob(chain.value_of(target.ids)).sum()
        return Loss(total, target.lengths.sum(), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory]) -> ChainTags:
        memory = memories[self.of]
        chain = self.chain(memory)
        marginals = chain.node_marginals
        best = chain.states(chain.mode) if self.decode == "viterbi" else marginals.argmax(-1)
        value = torch.where(memory.mask, best, 0)
        return ChainTags(value, chain.log_prob(chain.value_of(value)), marginals, memory.mask)
