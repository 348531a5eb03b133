"""Decomposable attention: a label for the relation between two texts (Parikh et al. 2016).

For memories a (B, S, D) and b (B, T, D):

    attend      e_ij = F a_i · F b_j / √size
                β_i  = Σ_j softmax_j(e_ij) b_j          the part of b aligned with a_i
                α_j  = Σ_i softmax_i(e_ij) a_i          the part of a aligned with b_j
    compare     v_i  = G([a_i; β_i]),   w_j = G([b_j; α_j])
                with `differences`  G([a_i; β_i; |a_i − β_i|; a_i ⊙ β_i]), from which one layer can tell
                whether two vectors are equal (Mou 2016; Chen 2017)
    aggregate   y    = H([Σ_i v_i; Σ_j w_j])

F is a matrix, so that equal words are aligned even before training. With `attend: network` it is a network of
two layers, as in Parikh et al., and e_ij = F(a_i) · F(b_j). G and H are networks of two layers. All read the
values times `gain`, so that features have a magnitude of about one. The decoder does not contextualize words:
a position has no context but what its encoder gave it, such as a soft parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.attention import Attention, Look
from regard.nn.class_weights import class_weights
from regard.nn.decoders.decoder import Source
from regard.nn.decoders.label import calibration_note
from regard.nn.decoders.two_texts import TwoTextsDecoder
from regard.nn.letters import Letters, linear
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Plan, Size, register

Comparison = Literal["concatenation", "differences"]
Attend = Literal["matrix", "network"]


def feed_forward(inputs: int, size: int, *, dropout: float) -> nn.Sequential:
    """relu(W₂ relu(W₁ x + b₁) + b₂), with dropout on the input of each layer."""
    return nn.Sequential(
        nn.Dropout(dropout),
        nn.Linear(inputs, size),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(size, size),
        nn.ReLU(),
    )


@register("decoder", "decomposable")
class DecomposableDecoder(TwoTextsDecoder):
    """p(y | a, b) = softmax(V H([Σ_i v_i; Σ_j w_j]) + c),
    from the compared words v_i = G([a_i; β_i]) and w_j = G([b_j; α_j]).

    sources   exactly two, of the same width
    size      units of the hidden layers of F, G and H
    """

    class Options(TwoTextsDecoder.Options):
        """The relation between two texts: attend, compare, aggregate;
        softmax(V H([Σ_i v_i; Σ_j w_j]) + b)."""

        size: Size = 200
        """Units of the hidden layers that attend, compare and aggregate."""
        attend: Attend = "matrix"
        """How words are aligned. matrix: by F a · F b / √size with a matrix F, which aligns equal words even
        before training. network: by F(a) · F(b) with a network of two layers (Parikh 2016)."""
        compare: Comparison = "differences"
        """Input of the comparison. concatenation: [a; β] (Parikh 2016). differences: [a; β; abs(a − β); a ⊙
        β], which learns equality sooner."""

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> DecomposableDecoder:
        return cls(
            column.size,
            sources,
            size=options.size,
            dropout=options.dropout,
            attend=options.attend,
            compare=options.compare,
            class_weights=class_weights(options.class_weights, column),
        )

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return ()

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        one, other = memories.values()
        i, j = one.index, other.index
        seen = "[a; b]" if options.compare == "concatenation" else "[a; b; |a − b|; a ⊙ b]"
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        energy, network = f"F_y a_{i}·F_y c_{j} / √{options.size}", []
        if options.attend == "network":
            energy = f"F(a_{i})·F(c_{j})"
            network = ["F(a) = relu(W_f2 relu(W_f1 a + b_f1) + b_f2)"]
        return [
            f"a_{i} = {one.gained}{one.values}",
            f"c_{j} = {one.gained}{other.values}",
            f"e_{i}{j} = {energy}     — attend",
            *network,
            f"α_{i} = softmax_{j}(e_{i}{j})",
            f"β_{j} = softmax_{i}(e_{i}{j})",
            f"u_{i} = G(a_{i}, Σ_{j} α_{i}{j} c_{j})     — compare",
            f"v_{j} = G(c_{j}, Σ_{i} β_{j}{i} a_{i})",
            f"G(a, b) = relu(W_g2 relu(W_g1 {seen} + b_g1) + b_g2)",
            f"r = relu(W_r2 relu(W_r1 [Σ_{i} u_{i}; Σ_{j} v_{j}] + b_r1) + b_r2)     — aggregate",
            "p(y) = softmax(V_y r + b_y)",
            *calibration_note(options),
            f"— {options.size} units in every layer{dropout}",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        found: Letters = {"attend.1.weight": "F_y"} if options.attend == "matrix" else {}
        networks = {"compare": "g", "hidden": "r"} | ({} if found else {"attend": "f"})
        for path, mark in networks.items():
            found |= linear(f"{path}.1", f"W_{mark}1", f"b_{mark}1")
            found |= linear(f"{path}.4", f"W_{mark}2", f"b_{mark}2")
        return found | linear("output", "V_y", "b_y")

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        size: int = 200,
        dropout: float = 0.0,
        attend: Attend = "matrix",
        compare: Comparison = "differences",
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__(sources, alike=True, class_weights=class_weights)
        if attend not in ("matrix", "network"):
            raise RegardError(f"Unknown attend: {attend!r}.", fix="Choose matrix or network.")
        if compare not in ("concatenation", "differences"):
            raise RegardError(f"Unknown compare: {compare!r}.", fix="Choose concatenation or differences.")
        width = sources[self.names[0]].value_size
        self.gain: float = getattr(sources[self.names[0]], "gain", 1.0)
        self.differences = compare == "differences"
        matrix = attend == "matrix"
        self.attend = (
            nn.Sequential(nn.Dropout(dropout), nn.Linear(width, size, bias=False))
            if matrix
            else feed_forward(width, size, dropout=dropout)
        )
        score = "scaled-dot" if matrix else "dot"
        self.attention = Attention(size, width, score=score, select="softmax", key_size=size)
        self.compare = feed_forward((4 if self.differences else 2) * width, size, dropout=dropout)
        self.hidden = feed_forward(2 * size, size, dropout=dropout)
        self.output = nn.Linear(size, classes)

    def aligned(self, first: Memory, second: Memory) -> tuple[Look, Look]:
        """The attention of each position of the first text to the second, and of the second to the first."""
        keys = [self.attend(memory.values) for memory in (first, second)]
        return (
            self.attention(keys[0], replace(second, keys=keys[1])),
            self.attention(keys[1], replace(first, keys=keys[0])),
        )

    def compared(self, memory: Memory, found: Tensor) -> Tensor:
        """Values (B, S, D) and the vectors aligned with them, (B, S, D) → (B, size),
        summed over positions."""
        parts = [memory.values, found]
        if self.differences:
            parts += [(memory.values - found).abs(), memory.values * found]
        compared: Tensor = self.compare(torch.cat(parts, -1))
        return (compared * memory.mask.unsqueeze(-1)).sum(1)

    def features(self, first: Memory, second: Memory) -> tuple[Tensor, tuple[Look, Look]]:
        """(B, 2·size) features of the relation between two memories, and their looks."""
        first, second = (replace(memory, values=memory.values * self.gain) for memory in (first, second))
        looks = self.aligned(first, second)
        left, right = self.compared(first, looks[0].context), self.compared(second, looks[1].context)
        return torch.cat([left, right], -1), looks

    def forward(self, memories: Mapping[str, Memory]) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits (B, C), and by name the mean attention from the other text, (B, 1, S)."""
        first, second = (memories[name] for name in self.names)
        features, looks = self.features(first, second)
        shown = {
            self.names[0]: _mean_look(looks[1].weights, second.mask),
            self.names[1]: _mean_look(looks[0].weights, first.mask),
        }
        return self.output(self.hidden(features)), shown


def _mean_look(weights: Tensor, mask: Tensor) -> Tensor:
    """The mean of weights (B, T, S) over the real positions among the T: (B, 1, S)."""
    kept = mask.unsqueeze(-1).to(weights.dtype)
    return (weights * kept).sum(1, keepdim=True) / kept.sum(1, keepdim=True).clamp(min=1)
