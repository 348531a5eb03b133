"""Tags decoder with a chain over the tags: a neural conditional random field (Collobert et al. 2011)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import UNSEEN, Tokens
from regard.errors import RegardError
from regard.nn.decoders.decoder import BatchView, PositionDecoder, Source
from regard.nn.decoders.tags import allowed_tags, check_scheme, tags_predictions
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.precision import at_least_single
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, register
from regard.structures import LinearChain
from regard.trace import Potentials
from regard.trace.prediction import Prediction

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


@register("decoder", "crf")
class CRFDecoder(PositionDecoder):
    """p(y | x) ∝ exp(start[y_1] + Σ_s (V h_s + b)[y_s] + Σ_s A[y_s, y_{s+1}] + end[y_n]).

    transitions[i, j]   A: tag i followed by tag j
    allowed             (C + 1, C + 1) Boolean: whether tag i may be followed by tag j; the last row is the
                        beginning, the last column the end. Sequences that are not allowed have probability 0
    decode              viterbi: the most probable sequence; marginal: the most probable tag of each position
    """

    class Options(PositionDecoder.Options):
        """One label per position, with a chain over all positions: a conditional random field."""

        decode: TagsDecoding = "viterbi"
        """viterbi: the most probable sequence; marginal: the most probable tag of each position."""
        constraints: Literal["none", "bio", "bioes"] = "none"
        """Give probability 0 to sequences that this scheme of spans does not allow."""

        moved = {"crf": "type: crf alone", "class_weights": "type: tags, with class_weights"}

    writes = ("tags",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> CRFDecoder:
        allowed = None
        if options.constraints != "none":
            allowed = allowed_tags(column.classes, options.constraints)
        return cls(
            column.size,
            sources,
            of=column.of[0],
            dropout=options.dropout,
            allowed=allowed,
            decode=options.decode,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        check_scheme(options, name, plan, mistakes)

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {} if options.constraints == "none" else {"allowed": options.constraints}

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j, length = memory.index, memory.length
        ends = f"a_y[y_1] + Σ_{j} e_{j}[y_{j}] + Σ_{{{j}<{length}}} A_y[y_{j}, y_{{{j}+1}}] + z_y[y_{length}]"
        found = {
            "viterbi": "the most probable sequence (Viterbi)",
            "marginal": "the most probable tag of each position",
        }[options.decode]
        allowed = f"; A_y, a_y, z_y are −∞ where {options.constraints} does not allow it"
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            f"y ∈ {{1 … C}}^{length}     — C tags",
            f"e_{j} = V_y {memory.values} + b_y",
            f"ψ(y) = {ends}",
            "p(y) = exp(ψ(y)) / Σ_y exp(ψ(y))     — by the forward algorithm",
            f"— prediction: {found}{'' if options.constraints == 'none' else allowed}{dropout}",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        ends: Letters = {"transitions": "A_y", "start": "a_y", "end": "z_y"}
        return linear("output", "V_y", "b_y") | ends

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        return [
            f"loss = (log(Σ_y exp(ψ(y))) − ψ(ŷ)) / {memory.length}     — ŷ: the true tags; mean over the positions"
        ]

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
        nodes = at_least_single(self.output(self.dropout(memory.values)))  # (B, S, C)
        lengths = memory.mask.sum(-1)
        if self.allowed is None:
            return LinearChain(self.transitions, nodes, self.start, self.end, lengths=lengths)
        start = self.start.masked_fill(~self.allowed[-1, :-1], -torch.inf)
        end = self.end.masked_fill(~self.allowed[:-1, -1], -torch.inf)
        return LinearChain(self.transitions, nodes, start, end, lengths=lengths, mask=self.allowed[:-1, :-1])

    def count(self, target: Tokens) -> Tensor:
        return (target.lengths * self._known(target)).sum()

    def _known(self, target: Tokens) -> Tensor:
        """(B) whether all tags of a sequence occur in the training data."""
        return ((target.ids != UNSEEN) | ~target.mask).all(-1)

    def loss(self, memories: Mapping[str, Memory], target: Tokens, *, truth: Any = None) -> Loss:
        """−log p of whole sequences; the count is of positions, as without a chain.

        A sequence with a tag that is absent from the training data has probability 0. Both leave it out.
        """
        memory = memories[self.of]
        if memory.mask.shape[1] != target.ids.shape[1]:
            raise RegardError(
                f"There are {target.ids.shape[1]} tags for {memory.mask.shape[1]} positions of {self.of!r}.",
                fix="Every position needs exactly one tag.",
            )
        chain = self.chain(memory)
        total = -torch.where(
            self._known(target), chain.log_prob(chain.value_of(target.ids.clamp(min=0))), 0.0
        ).sum()
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> ChainTags:
        memory = memories[self.of]
        chain = self.chain(memory)
        marginals = chain.node_marginals
        best = chain.states(chain.mode) if self.decode == "viterbi" else marginals.argmax(-1)
        value = torch.where(memory.mask, best, 0)
        # Of NaN there is no best sequence, and another has log p = −∞, like one that the grammar excludes.
        scores = chain.log_prob(chain.value_of(value.clamp(min=0)))
        scores = torch.where(chain.log_partition.isnan(), torch.nan, scores)
        return ChainTags(value, scores, marginals, memory.mask)

    @torch.no_grad()
    def potentials(self, found: Any, memories: Mapping[str, Memory]) -> dict[str, Potentials]:
        memory = memories[self.of]
        nodes = self.output(memory.values[0, memory.mask[0]]).float()  # (N, C)
        start, end, pairs = self.start.detach(), self.end.detach(), self.transitions.detach()
        if self.allowed is not None:
            start = start.masked_fill(~self.allowed[-1, :-1], -torch.inf)
            end = end.masked_fill(~self.allowed[:-1, -1], -torch.inf)
            pairs = pairs.masked_fill(~self.allowed[:-1, :-1], -torch.inf)
        if not len(nodes):
            return {}
        nodes[0] += start
        nodes[-1] += end
        return {self.of: Potentials("chain", nodes.cpu().numpy(), pairs.float().cpu().numpy())}

    def predictions(self, found: ChainTags, column: Any, view: BatchView) -> list[Prediction]:
        return tags_predictions(found, column, view)
