"""Facts: one joint choice of K positions in order, in which each choice depends on the previous one.

    p(z_1 … z_K) ∝ exp( Σ_k scores[k, z_k] + Σ_k transitions[k, z_k, z_{k+1}] )      (Kim et al. 2017, section 4.3)

A linear chain whose states are the positions of the memory. With K consecutive softmaxes, each one commits to
a mixture before the next query. Here the later choices influence the earlier ones.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.errors import RegardError
from regard.nn.selections.selection import NOTHING, Given, Selection
from regard.nn.symbols import LookSymbols
from regard.parts import register
from regard.structures import LinearChain


@register("selection", "facts")
class Facts(Selection):
    """Weights are p(z_k = s), (B, K, S); `Given.transitions` has the scores of consecutive choices.

    The K queries are selected jointly, so a decoder that writes step by step cannot use it.
    """

    joint = "queries"
    needs = frozenset({"transitions"})

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        k, length = look.step, look.memory.length
        energy, follows = f"{look.letters[0]}_{{{k},z_{k}}}", f"θ_{k}(z_{k}, z_{{{k}+1}})"
        return [
            f"z ∈ {{1 … {length}}}^{look.count}     — z_{k}: the position that look {k} chooses",
            f"ψ(z) = Σ_{k} {energy} + Σ_{{{k}<{look.count}}} {follows}",
            f"{look.weight} = Σ_{{z: z_{k} = {look.index}}} exp(ψ(z)) / Σ_z exp(ψ(z))     — by forward-backward",
        ]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        if given.transitions is None:
            raise RegardError(
                "a joint selection of facts needs the scores of consecutive choices, and none were given.",
                fix="Pass Given(transitions=…), as the memory network does.",
            )
        return self.chain(scores, mask, given.transitions).node_marginals

    def chain(self, scores: Tensor, mask: Tensor, transitions: Tensor) -> LinearChain:
        """The distribution itself: scores (B, K, S), mask (B, S), transitions (B, K−1, S, S)."""
        nodes = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
        return LinearChain(transitions, nodes)
