"""A score: queries and keys → how well each pair of them agrees."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.letters import Letters
from regard.nn.symbols import LookSymbols
from regard.parts import find, one_of
from regard.parts.contract import base, optional, required

AnyScore = Annotated[Any, one_of("score")]
"""An option that chooses a score: `score: dot`, `score: {type: additive, size: 128}`."""

NEEDS = frozenset({"previous"})
"""What a score can need beside query and keys."""


@base("score", gives=("query_size", "key_size"), spread=True, maker="build")
class AttentionScore(nn.Module):
    """queries (B, T, Q) and prepared keys (B, S, A) → scores (B, T, S).

    Terms that depend on the keys alone (W h) are computed once per sequence by `keys` and passed to every
    call. To add a score, derive from this class and write `forward` and `equation`, and `keys` if it prepares
    them.

    needs      inputs of the call beside query and keys: "previous", the attention history (B, T, S) as
               `first` and `remember` compute it; by default the weights of the previous step
    one_size   whether query and key must have the same number of features
    of_totals  whether it uses r, the total attention of all previous steps, which its equations define
    """

    class Options(parts.Options):
        """Each score defines its own options."""

    needs: ClassVar[frozenset[str]] = frozenset()
    one_size: ClassVar[bool] = False
    of_totals: ClassVar[bool] = False

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        unknown = sorted(set(cls.needs) - NEEDS)
        return f"declares needs {unknown[0]!r}; a score can need {', '.join(NEEDS)}" if unknown else None

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.query_size, self.key_size = query_size, key_size

    @classmethod
    def build(cls, options: Any, query_size: int, key_size: int) -> AttentionScore:
        """The score with its options, for queries and keys of these sizes."""
        return cls(query_size, key_size, **dict(options))

    @classmethod
    @required("by `regard describe`")
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        """The score as an expression of these symbols of query and key;
        the mark is the subscript of its weights."""
        raise NotImplementedError

    @classmethod
    @optional("by `regard describe`, if one line is not enough")
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        """The equation of the energies, and further lines if a score needs more than query and key."""
        return [f"{look.energy} = {cls.equation(options, look.query, look.key, look.mark)}"]

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        """The letter of each parameter in the equations (`regard.nn.letters`); their subscript is `look.mark`."""
        return {}

    @optional("once for each memory")
    def keys(self, keys: Tensor) -> Tensor:
        """Prepare the keys, once per sequence: (B, S, D) → (B, S, A)."""
        return keys

    @optional("before the first step, if it needs `previous`")
    def first(self, like: Tensor) -> Tensor:
        """(B, 1, S) `previous` at the first step; by default all on the first position."""
        weights = torch.zeros_like(like)
        weights[..., :1] = 1.0
        return weights

    @optional("after every step, if it needs `previous`")
    def remember(self, previous: Tensor, weights: Tensor) -> Tensor:
        """`previous` of the next step, from that of this step and the selected weights."""
        return weights

    @required("at every look")
    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        """(B, T, Q), (B, S, A), perhaps (B, T, S) → (B, T, S)."""
        raise NotImplementedError


def make_score(score: str | parts.Options, query_size: int, key_size: int) -> AttentionScore:
    """The score with this name or these options."""
    options = find("score", score).Options() if isinstance(score, str) else score
    made: AttentionScore = options.part.build(options, query_size, key_size)
    return made
