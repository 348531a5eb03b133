"""A selection: scores of T queries over S positions → attention weights."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, get_args

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.letters import Letters
from regard.nn.selections.sampled_training import SampledTraining
from regard.nn.symbols import LookSymbols
from regard.parts import find, one_of
from regard.parts.contract import base, declared, optional, required
from regard.trace import Potentials, Trace, TracedStructure

Joint = Literal["nothing", "positions", "queries"]

AnySelection = Annotated[Any, one_of("selection")]
"""An option that chooses a selection: `select: softmax`, `select: {type: local, window: 5}`."""


@dataclass(frozen=True)
class Given:
    """Additional inputs of a look, beside query and memory. A selection lists in `needs` those it requires.

    truth        (B, T', S) the true alignment of the whole output
    step         None: the T queries belong to output positions 0 … T−1. A number t: all of them belong to
                 position t, as the hypotheses of a search do
    previous     (B, T, S) the attention history, for a score that uses it
    transitions  (B, T−1, S, S) scores of consecutive choices, if the T queries are selected jointly
    heads        (B, T) the position of each query's head, if a tree is given
    allowed      (B, T, S) positions that a query may attend to, beside the memory's mask
    drawing      (B) the rows that sample their attention, in training
    query        (B, T, Q) the queries themselves, set by `Attention`
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
"""No additional inputs."""
NEEDS = frozenset({*(one.name for one in fields(Given)), "words", "costs"})
"""What a selection can need: a field of `Given`, a memory of words, or the costs of the words after a sample."""


@base("selection", gives=(), spread=True, maker="build")
class Selection(nn.Module):
    """scores (B, T, S), mask (B, S) or (B, T, S) → weights (B, T, S), zero where the mask is False and never NaN.

    To add a selection, derive from this class and write `forward` and `equations`. The spec reads its
    declarations and refuses a decoder that cannot meet its needs:

    joint    what is chosen jointly: nothing (each position independently), the positions of one query, or
             also the queries, which must then be known together
    needs    the fields of `Given` that it requires; "words": a memory of words; "costs": the costs of the words after
             a sample
    learns   whether it has something to learn
    of_words whether a decoder may attend to the words of sentences with it (`level: words`), where it is a softmax
    unguided why a loss towards the true alignment makes no sense here; empty if it does
    draws    whether positions are sampled in training, with the score-function gradient: by `draw`, which it then
             writes too
    renormalized  whether a row without some of its positions is renormalized; False: its weights are probabilities of
             their own
    ruled    whether segments of positions can be forced and forbidden: `under_rules`
    structured  whether a trace shows the structures behind the weights: `structure`, `traced`
    drawing  how a decoder is trained through its samples, if it draws
    """

    class Options(parts.Options):
        """Each selection defines its own options."""

    joint: ClassVar[Joint] = "positions"
    needs: ClassVar[frozenset[str]] = frozenset()
    learns: ClassVar[bool] = True
    of_words: ClassVar[bool] = False
    unguided: ClassVar[str] = ""
    draws: ClassVar[bool] = False
    renormalized: ClassVar[bool] = True
    ruled: ClassVar[bool] = False
    structured: ClassVar[bool] = False
    drawing: SampledTraining = SampledTraining()

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        unknown = sorted(set(cls.needs) - NEEDS)
        if unknown:
            return f"declares needs {unknown[0]!r}; a selection can need {', '.join(sorted(NEEDS))}"
        if cls.joint not in get_args(Joint):
            return f"declares joint = {cls.joint!r}; expected {' or '.join(get_args(Joint))}"
        if cls.draws and "costs" not in cls.needs:
            return "declares draws = True; it then needs the costs of the words after a sample: needs = {'costs'}"
        return None

    @classmethod
    def build(cls, options: Any, query_size: int) -> Selection:
        """The selection with its options, for queries of this size."""
        return cls(**dict(options))

    @classmethod
    @required("by `regard describe`")
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        """Equations of the weights, from the energies."""
        raise NotImplementedError

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        """The letter of each parameter in the equations (`regard.nn.letters`); their subscript is `look.mark`."""
        return {}

    @classmethod
    @optional("by `regard describe`, if the context is not the usual sum")
    def read_equations(cls, options: Any, look: LookSymbols) -> list[str]:
        """The equation of the context, from the weights."""
        return [f"{look.context} = Σ_{look.index} {look.weight} {look.memory.values}"]

    @classmethod
    @optional("by `regard describe`, for what it adds to the loss")
    def loss_lines(cls, options: Any, look: LookSymbols, *, lasting: bool) -> list[str]:
        """The terms that the selection adds to a loss, as lines below it; default: none.

        lasting   whether the context enters the recurrence
        """
        return []

    @classmethod
    def algorithm(cls, options: Any) -> list[str]:
        """Lines about how the selection is trained; default: none."""
        return []

    @classmethod
    @optional("when a spec is checked")
    def sums_to_one(cls, options: Any) -> bool:
        """Whether the weights of each query are a distribution over the positions, as copying requires."""
        return cls.joint == "positions"

    @required("at every look")
    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        """(B, T, S), (B, S) or (B, T, S) → (B, T, S)."""
        raise NotImplementedError

    @optional("after `forward`, before the values are summed")
    def reading(self, weights: Tensor) -> Tensor:
        """The weights that multiply the values, (B, T, S): the given ones,
        unless a selection rescales them."""
        return weights

    @declared("draws")
    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        """The sampled weights of a selection that samples, in the given rows (B)."""
        return self.reading(weights)

    @declared("ruled")
    def under_rules(
        self, weights: Tensor, scores: Tensor, mask: Tensor, rules: Tensor, step: int | None
    ) -> Tensor:
        """The weights (B, T, S) under rules (B, R, 4) of segments (`Imposed`); step as in `Given`."""
        return weights

    @declared("structured")
    def structure(self, scores: Tensor, mask: Tensor) -> Any:
        """The distribution over structures behind the weights, (B, T) of them."""
        return None

    @optional("for a trace, if it is `structured`")
    def traced(self, trace: Trace, name: str, best: Any, samples: Any) -> TracedStructure:
        """The structures over the input `name` for a trace: the best (T, S) and samples (K, T, S)."""
        raise NotImplementedError

    def potentials(self, scores: Tensor, mask: Tensor) -> Potentials | None:
        """The scores of the structures of one row for a trace, from those of the attention (T, S) and the mask (S);
        None: it keeps none."""
        return None

    def best_heads(self, scores: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) the best head of each word; by default the head with the largest weight."""
        return weights.argmax(-1)


def make_selection(selection: str | parts.Options, query_size: int) -> Selection:
    """The selection with this name or these options."""
    options = find("selection", selection).Options() if isinstance(selection, str) else selection
    made: Selection = options.part.build(options, query_size)
    return made


def by_query(mask: Tensor) -> Tensor:
    """(B, S) → (B, 1, S); a mask for each query stays as it is."""
    return mask.unsqueeze(1) if mask.ndim == 2 else mask


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension where the mask is True; all zero if it is nowhere True.

    Masked scores become the lowest finite number, so that a row without positions has no NaN, not even in the
    gradient.
    """
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), -1) * mask


def rows_at(table: Tensor, step: int | None, scores: Tensor) -> Tensor:
    """The rows of a table (B, T', S') of all output positions for the queries at `step` (see `Given`); scores
    (B, T, S).

    Output positions beyond the table have rows of zeros.
    """
    rows = scores.new_zeros(scores.shape)
    known = table[:, : scores.shape[1], : scores.shape[2]]
    if step is None:
        rows[:, : known.shape[1], : known.shape[2]] = known
    elif step < table.shape[1]:
        rows[..., : known.shape[2]] = table[:, step, None, : known.shape[2]]
    return rows
