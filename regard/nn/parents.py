"""Soft parents: every position of a memory looks for its head in the same memory.

    h_0 … h_N = BiLSTM(x_0, x_1, …, x_N)                   x_0 the vector of the root symbol, learned
    arcs[h, m] = v · tanh(W h_h + U h_m + b)   (additive)      the score of h as the head of m
               = (W h_h + b) · U h_m / √A + w · h_h   (general)
    p(h → m)  = the marginals of a distribution over heads:

        softmax      each word chooses its head on its own                              (simple self-attention)
        projective   a tree whose arcs do not cross: Eisner's algorithm                  (syntactic attention, Kim 2017)
        spanning     any tree: the matrix-tree theorem
        given        the heads of a tree that comes with the data
        …            and every other selection that needs no other input

    soft parent of m = Σ_h p(h → m) x_h

The recurrent network reads the values times `gain`, so that features have a magnitude of about one
(√D for embeddings).

The values themselves are not contextualized, so a word is combined with its head alone. The recurrent network
decides which word is the parent, not what vector the parent has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard import parts
from regard.errors import RegardError
from regard.nn.attention import Attention
from regard.nn.attention_check import check_attention
from regard.nn.cells import AnyCell
from regard.nn.encoders.layer_symbols import LayerSymbols
from regard.nn.heads import HeadMarginals
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.recurrence import RecurrentLayer
from regard.nn.scores import AttentionScore
from regard.nn.selections import AnySelection, Given, make_selection
from regard.nn.selections.projective import by_head
from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.parts import Dropout, Mistakes, Plan, Size

ArcScore = Literal["additive", "general"]
GIVES = ("words", "heads", "allowed")
"""The fields of `Given` that a selection of heads receives."""


class AdditiveArcs(AttentionScore):
    """v · tanh(W h_h + b + U h_m), queries the words m, keys the heads h."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__(size, size)
        self.head, self.modifier = nn.Linear(size, hidden), nn.Linear(size, hidden, bias=False)
        self.vector = nn.Parameter(torch.randn(hidden) * hidden**-0.5)

    @classmethod
    def arc_equation(cls, word: str, head: str, mark: str, hidden: int) -> str:
        return f"v_{mark}·tanh(W_{mark} {head} + b_{mark} + U_{mark} {word})"

    def keys(self, keys: Tensor) -> Tensor:
        heads: Tensor = self.head(keys)
        return heads

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return torch.tanh(self.modifier(query).unsqueeze(2) + keys.unsqueeze(1)) @ self.vector


class GeneralArcs(AttentionScore):
    """(W h_h + b) · U h_m / √A + w · h_h, queries the words m, keys the heads h with w · h_h as a last feature."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__(size, size)
        self.head, self.modifier = nn.Linear(size, hidden), nn.Linear(size, hidden, bias=False)
        self.alone = nn.Linear(size, 1, bias=False)
        self.scale = hidden**-0.5

    @classmethod
    def arc_equation(cls, word: str, head: str, mark: str, hidden: int) -> str:
        return f"(W_{mark} {head} + b_{mark})·U_{mark} {word} / √{hidden} + v_{mark}·{head}"

    def keys(self, keys: Tensor) -> Tensor:
        return torch.cat([self.scale * self.head(keys), self.alone(keys)], -1)

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        modifiers = self.modifier(query)
        together: Tensor = modifiers @ keys[..., :-1].transpose(1, 2) + keys[..., -1].unsqueeze(1)
        return together


ARC_SCORES: Mapping[str, type[AdditiveArcs] | type[GeneralArcs]] = {
    "additive": AdditiveArcs,
    "general": GeneralArcs,
}


class Parents(nn.Module):
    """Values (B, N, D) of words → their soft parents (B, N, D) and the heads behind them.

    size      units of the recurrent network that reads the values, in each direction
    hidden    features in which head and modifier are compared; None: twice the size
    gain      factor that scales the values for the recurrent network
    """

    class Options(parts.Settings):
        """Every position looks for its head in the same text: the memory becomes [h; Σ_r p(r → s) h_r]."""

        select: AnySelection = "projective"
        """softmax: each word chooses its head independently. projective: one tree without crossing arcs.
        spanning: one tree, whose arcs may cross. given: the tree in the data, an input of type tree."""
        score: ArcScore = "additive"
        """Score of an arc from head r to word s. additive: v · tanh(W b_r + c + U b_s). general:
        (W b_r + c) · U b_s / √A + w · b_r. b are the states of a recurrent network that reads the text."""
        cell: AnyCell = "lstm"
        """Cell of the recurrent network that reads the text."""
        size: Size = 64
        """Units of the recurrent network, in each direction."""
        hidden: Size | None = None
        """Features in which head and modifier are compared; default: twice the size."""
        dropout: Dropout = 0.0
        """Dropout of the inputs and outputs of the recurrent network."""

    @classmethod
    def build(cls, options: Any, value_size: int, *, gain: float) -> Parents:
        return cls(value_size, gain=gain, **dict(options))

    @classmethod
    def check(cls, options: Any, readers: Sequence[str], plan: Plan, mistakes: Mistakes) -> None:
        """readers: the inputs that are read with these parents."""
        looking = Attention.Options(select=options.select)
        check_attention(looking, mistakes, user="a search for heads", gives=GIVES, together=True, truths=None)
        if "heads" not in options.select.part.needs:
            return
        for option in sorted(options.model_fields_set - {"select"}):
            mistakes.add(
                f"{option} has no effect: select: given searches no heads.",
                option,
                fix=f"Leave {option} out.",
            )
        trees = {column.of for column in plan.inputs.values() if column.part.can_be("tree")}
        for reader in readers:
            if reader not in trees:
                mistakes.add(
                    f"select: given needs a tree of {reader}, and no input is one.",
                    "select",
                    fix=f"Add  inputs: {{{reader}_tree: {{type: tree, of: {reader}}}}}, or choose select: projective.",
                )

    @classmethod
    def board(cls, options: Any, gain: int) -> list[str]:
        """Equations from values h_j to g_j, each beside its soft parent; gain as in `MemorySymbols`."""
        select = options.select.part
        look = LookSymbols(
            query="b_j",
            memory=MemorySymbols("r_p", keys="b_p", index="p", gain=gain),
            step="j",
            letters=("ε", "π", "f"),
            mark="h",
            where="" if select.joint == "queries" or "heads" in select.needs else "p ≠ j",
        )
        return [
            "p = 0 … S" + (", d ∈ {→, ←}" if select.learns else ""),
            "r_j = h_j     — r_0: the root symbol, learned",
            *(cls._arc_lines(options, look) if select.learns else []),
            *select.equations(options.select, look),
            *select.read_equations(options.select, look),
            "g_j = [h_j; f_j]     — each position beside its soft parent",
        ]

    @classmethod
    def _arc_lines(cls, options: Any, look: LookSymbols) -> list[str]:
        """Equations of the score of p as the head of j."""
        reader = cls._reader(options, f"{look.memory.gained}r_p")
        steps, (note, _) = reader.steps(), reader.first_states("learned", options.size)
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        hidden = options.hidden or 2 * options.size
        arcs = ARC_SCORES[options.score].arc_equation(look.query, look.key, look.mark, hidden)
        return [
            steps[0] + note,
            *steps[1:],
            "b_p = [→b_p; ←b_p]",
            *reader.functions(),
            f"— {options.size} units in each direction{dropout}",
            f"{look.energy} = {arcs}     — the score of p as the head of j",
        ]

    @classmethod
    def _reader(cls, options: Any, inputs: str) -> LayerSymbols:
        """The symbols of the recurrent network that reads the values."""
        return LayerSymbols(
            options.cell, inputs=inputs, letter="b", carried="n", index="p", mark="b", first=("−1", "S+1")
        )

    @classmethod
    def letters(cls, options: Any) -> Letters:
        """The letters of its parameters in these equations."""
        look = LookSymbols("b_j", MemorySymbols("r_p", keys="b_p", index="p"), step="j", mark="h")
        score: Letters = {"head.weight": "W_h", "head.bias": "b_h", "modifier.weight": "U_h"}
        return {
            "root": "r_0",
            **under("reader", cls._reader(options, "r_p").letters()),
            **under("attention.score", {**score, "vector": "v_h", "alone.weight": "v_h"}),
            **under("attention.select", options.select.part.letters(options.select, look)),
        }

    def __init__(
        self,
        value_size: int,
        *,
        select: str | parts.Options = "projective",
        score: ArcScore = "additive",
        cell: str | parts.Options = "lstm",
        size: int = 64,
        hidden: int | None = None,
        dropout: float = 0.0,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        if score not in ARC_SCORES:
            raise RegardError(f"There is no score {score!r} of arcs.", fix="Choose additive or general.")
        self.root = nn.Parameter(torch.randn(value_size) / gain)
        self.gain = gain
        self.dropout = nn.Dropout(dropout)
        self.reader: RecurrentLayer | None = None
        width, selection = 2 * size, make_selection(select, 2 * size)
        if selection.learns:
            self.reader = RecurrentLayer(value_size, size, cell=cell, bidirectional=True)
        scores = (
            ARC_SCORES[score](width, hidden or width) if selection.learns else AttentionScore(width, width)
        )
        self.attention = Attention(width, value_size, score=scores, select=selection)

    def forward(
        self,
        values: Tensor,
        lengths: Tensor,
        heads: Tensor | None = None,
        *,
        counts: Tensor | None = None,
        arcs: Tensor | None = None,
    ) -> tuple[Tensor, HeadMarginals]:
        """heads (B, N) int64, 0 for the root symbol; required if the selection is `given`.

        counts   the lengths on the CPU, if available
        arcs     (B, N, N+1) bool, the heads that each word may have; default: all
        """
        rooted = torch.cat([self.root.expand(len(values), 1, -1), values], 1)  # (B, N+1, D)
        positions = torch.arange(rooted.shape[1], device=rooted.device)
        memory = Memory(rooted, positions <= lengths[:, None], rooted[:, 0])
        apart = (positions[1:, None] != positions).expand(len(values), -1, -1)  # no word is its own head
        given = Given(heads=heads, allowed=None if self.attention.select.joint == "queries" else apart)
        if self.reader is None:
            scores = rooted.new_zeros(len(values), len(positions) - 1, len(positions))
        else:
            states = self.dropout(self._read(self.reader, rooted, lengths, counts))  # (B, N+1, 2·size)
            scores = self.attention.score(states[:, 1:], self.attention.score.keys(states))
        if arcs is not None:
            scores = scores.masked_fill(~arcs, -torch.inf)
        look = self.attention.look(scores, memory, given)
        words = (positions[1:] <= lengths[:, None]).unsqueeze(-1)  # (B, N, 1)
        weights = look.weights * words
        found = scores if self.reader is not None else weights
        return look.context * words, HeadMarginals(found, by_head(weights), lengths, self.attention.select)

    def _read(self, reader: RecurrentLayer, rooted: Tensor, lengths: Tensor, counts: Tensor | None) -> Tensor:
        packing = Packing.of(lengths + 1, rooted.shape[1], None if counts is None else counts + 1)
        return packing.unpack(reader(packing.pack(self.dropout(rooted * self.gain)), packing)[0])
