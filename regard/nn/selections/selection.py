"""A selection: scores of T queries over S positions → how much each position is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.symbols import LookSymbols
from regard.parts import find, one_of
from regard.trace import Trace, TracedStructure

Joint = Literal["nothing", "positions", "queries"]

AnySelection = Annotated[Any, one_of("selection")]
"""A key of options that chooses a selection: `select: softmax`, `select: {type: local, window: 5}`."""


@dataclass(frozen=True)
class Given:
    """What a look may need to know beside query and memory. A selection names in `needs` what it cannot do without.

    truth        (B, T', S) the true alignment of the whole output
    step         None: the T queries are those of output positions 0 … T−1. A number t: all of them are asked at
                 position t, as the hypotheses of a search are
    previous     (B, T, S) where the step before looked, for a score that remembers
    transitions  (B, T−1, S, S) scores of consecutive choices, where the T queries are decided together
    heads        (B, T) the position of each query's head, where a tree is given
    allowed      (B, T, S) positions a query may look at, beside the memory's mask
    drawing      (B) the rows that draw where they look, in training
    query        (B, T, Q) the queries themselves; `Attention` fills it in
    """

    truth: Tensor | None = None
    step: int | None = None
    previous: Tensor | None = None
    transitions: Tensor | None = None
    heads: Tensor | None = None
    allowed: Tensor | None = None
    drawing: Tensor | None = None
    query: Tensor | None = None


NOTHING = Given()


class Selection(nn.Module):
    """scores (B, T, S), mask (B, S) or (B, T, S) → weights (B, T, S), zero where the mask is False and never NaN.

    A new selection derives from this class and writes `forward` and `equations`. What it declares is read by the spec,
    which refuses a decoder that cannot give it what it needs:

    joint    over what it is one choice: nothing (each position by itself), the positions of one query, or the queries
             too, which then must be asked together
    needs    the fields of `Given` it cannot do without; "costs" is what the words after a draw cost
    learns   whether there is something to learn about where to look
    unguided why a loss towards the true alignment has no meaning here; empty where it has one
    draws    whether in training positions are drawn, and learned by the score function
    """

    class Options(parts.Options):
        """A selection has the options its own file names."""

    joint: ClassVar[Joint] = "positions"
    needs: ClassVar[frozenset[str]] = frozenset()
    learns: ClassVar[bool] = True
    unguided: ClassVar[str] = ""
    draws: ClassVar[bool] = False

    @classmethod
    def build(cls, options: Any, query_size: int) -> Selection:
        """The selection with its options, for queries of this size."""
        return cls(**dict(options))

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        """The weights, from the energies."""
        raise NotImplementedError

    @classmethod
    def read_equations(cls, options: Any, look: LookSymbols) -> list[str]:
        """What is read with the weights."""
        return [f"{look.context} = Σ_{look.index} {look.weight} {look.memory.values}"]

    @classmethod
    def loss_lines(cls, options: Any, look: LookSymbols, *, lasting: bool) -> list[str]:
        """What the selection adds to a loss, as lines below it; none for most.

        lasting   whether what is read enters the recurrence
        """
        return []

    @classmethod
    def algorithm(cls, options: Any) -> list[str]:
        """Lines about how the selection is learned; none for most."""
        return []

    @classmethod
    def sums_to_one(cls, options: Any) -> bool:
        """Whether the weights of each query are a distribution over the positions, as copying needs them."""
        return cls.joint == "positions"

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        raise NotImplementedError

    def reading(self, weights: Tensor) -> Tensor:
        """What the values are multiplied with, (B, T, S): the weights themselves, unless a selection rescales them."""
        return weights

    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        """The reading of a selection that draws, in the rows (B) that are to."""
        return self.reading(weights)

    def structure(self, scores: Tensor, mask: Tensor) -> Any:
        """The distribution over structures behind the weights, (B, T) of them; None where there is none to show."""
        return None

    def traced(self, trace: Trace, name: str, best: Any, samples: Any) -> TracedStructure:
        """What a trace shows of the structures over the input `name`: the best (T, S) and samples (K, T, S) of them."""
        raise NotImplementedError

    def best_heads(self, scores: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) the best head of each word, for a selection among heads: here each word's own best."""
        return weights.argmax(-1)


def make_selection(selection: str | parts.Options, query_size: int) -> Selection:
    """The selection a name or its options describe."""
    options = find("selection", selection).Options() if isinstance(selection, str) else selection
    made: Selection = options.part.build(options, query_size)
    return made


def by_query(mask: Tensor) -> Tensor:
    """(B, S) → (B, 1, S); a mask of its own for each query as it is."""
    return mask.unsqueeze(1) if mask.ndim == 2 else mask


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension where the mask is True; zeros where nothing is.

    Masked scores become the lowest finite number, so that a row without any position stays free of NaN in the
    gradient too.
    """
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), -1) * mask


def rows_at(table: Tensor, step: int | None, scores: Tensor) -> Tensor:
    """Of a table (B, T', S') of all output positions the rows asked for at `step` (see `Given`); scores (B, T, S).

    Output positions beyond the table have rows of zeros.
    """
    rows = scores.new_zeros(scores.shape)
    known = table[:, : scores.shape[1], : scores.shape[2]]
    if step is None:
        rows[:, : known.shape[1], : known.shape[2]] = known
    elif step < table.shape[1]:
        rows[..., : known.shape[2]] = table[:, step, None, : known.shape[2]]
    return rows
