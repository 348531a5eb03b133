"""Graph encoder: one memory position for each node, which messages along the edges make."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.data.graph_nodes import GraphNodes
from regard.nn.cells import AnyCell, Cell, make_cell
from regard.nn.embedding import Embedding, width_of
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.hierarchical import check_level, extras, make_words, size_note, word_lines
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.table import LabelWordsOptions, label_letters, label_symbols
from regard.nn.letters import Letters, linear, under
from regard.nn.memory import Memory, Parts
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Mistakes, Options, Plan, Size, register


class Messages(nn.Module):
    """Σ_r M_r mean of the states of the nodes from which an edge of relation r comes; no loop over graphs or relations.

    relations   number of relations
    """

    def __init__(self, relations: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(relations, size, size) * size**-0.5)

    def forward(self, states: Tensor, sources: Tensor, targets: Tensor, relations: Tensor) -> Tensor:
        """states (N, D), edges (E) → (N, D)."""
        (count, size), kinds = states.shape, len(self.weight)
        places = targets * kinds + relations  # (E) a row for each node and relation
        edges = states.new_zeros(count * kinds).index_add(0, places, states.new_ones(len(places)))
        shares = (1 / edges.clamp(min=1))[places]
        gathered = states.new_zeros(count * kinds, size)
        gathered = gathered.index_add(0, places, states[sources] * shares.unsqueeze(-1))
        # (N, R · D) @ (R · D, D): every relation's product at once
        return gathered.view(count, kinds * size) @ self.weight.transpose(1, 2).reshape(kinds * size, size)


@register("encoder", "graph")
class GraphEncoder(Encoder):
    """Message passing with weights for each relation and a gated update (Li et al. 2016; Schlichtkrull et al. 2018):

        g_j ← tanh(W z_j + b)                                             z_j: the label of node j
        n_j = Σ_r M_r mean{g_i : i –r→ j} + Σ_r B_r mean{g_i : j –r→ i}   along the edges, and against them
        g_j ← cell(g_j, n_j)                                              in each step, with the same weights

    After K steps a node knows all nodes that are up to K edges away. The order of nodes and edges makes no difference.
    """

    class Options(Encoder.Options):
        """Message passing: in each step, a node reads its neighbors, g_j ← cell(g_j, Σ_r M_r mean_i g_i)."""

        words: LabelWordsOptions = LabelWordsOptions()
        """How to read the words of a label."""
        size: Size = 128
        """Features of a node."""
        steps: Depth = 2
        """Number of steps: how many edges away a node sees."""
        cell: AnyCell | None = "gru"
        """The cell that takes the messages in; null: none, g_j + tanh(W g_j + n_j + b)."""
        back: bool = True
        """Send messages against the direction of the edges too, with weights of their own."""

    reads = ("graph",)
    of_words = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> GraphEncoder:
        return cls(
            make_words(options.words, column, read_files=read_files),
            len(column.names),
            size=options.size,
            steps=options.steps,
            cell=options.cell,
            back=options.back,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_level(options.words, mistakes.at("words"))
        if options.cell is not None and options.cell.part.states != 1:
            mistakes.add(
                f"cell: {options.cell.type} carries a second vector, which the messages of a graph do not have.",
                "cell",
                fix="Use cell: gru, cell: rnn, or cell: null.",
            )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size)

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        return label_symbols(options)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        words, steps = options.words, options.steps
        arrows = ", d ∈ {→, ←}" if words.cell is not None and words.bidirectional else ""
        back = " + Σ_ζ Σ_i B_ζji Q_ζ g_{l−1,i}" if options.back else ""
        against = "; B_ζji: of the edges from j to i" if options.back else ""
        cell: list[str] = []
        step = "g_lj = g_{l−1,j} + tanh(W_n g_{l−1,j} + n_lj + b_n)"
        if options.cell is not None:
            step = options.cell.part.written_step(options.cell, "n", "g_lj", "g_{l−1,j}", "n_lj")
            cell = options.cell.part.equations(options.cell, "n")
        return [
            f"j = 1 … S, i = 1 … S, m = 1 … N_j, ζ = 1 … R, l = 1 … {steps}{arrows}     — w_jm: word m of node j",
            *word_lines(words, what="the label of node j"),
            "g_0j = tanh(W_v z_j + b_v)",
            f"n_lj = Σ_ζ Σ_i A_ζji M_ζ g_{{l−1,i}}{back}     — the messages",
            step,
            f"h_j = g_{steps}j",
            "h = Σ_j h_j / S     — the summary",
            *cell,
            "— A_ζji: 1 / the number of edges of relation ζ that lead to j, for those that come from i, else 0"
            + against,
            f"— labels: {size_note(words)}vectors of {width_of(words.embedding)}{extras(words)}",
            f"— {options.size} features",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        cell = {} if options.cell is None else under("cell", options.cell.part.letters(options.cell, "n"))
        return {
            **label_letters(options),
            **linear("node", "W_v", "b_v"),
            "forth.weight": "M_ζ",
            "back.weight": "Q_ζ",
            **cell,
            **linear("plain", "W_n", "b_n"),
        }

    def __init__(
        self,
        words: Encoder,
        relations: int,
        *,
        size: int = 128,
        steps: int = 2,
        cell: str | Options | None = "gru",
        back: bool = True,
    ) -> None:
        super().__init__()
        self.words, self.steps = words, steps
        self.node = nn.Linear(words.summary_size, size)
        self.forth = Messages(relations, size)
        self.back = Messages(relations, size) if back else None
        self.cell: Cell | None = None if cell is None else make_cell(cell, size, size)
        self.plain = nn.Linear(size, size) if cell is None else None
        self.value_size = self.summary_size = size

    @property
    def embedding(self) -> Embedding:
        """The embedding of the words of labels."""
        found: Embedding = self.words.embedding  # type: ignore[assignment]
        return found

    def forward(self, graphs: GraphNodes) -> Memory:
        read = [self.words(tokens) for tokens in graphs.buckets]
        labels = torch.cat([memory.summary for memory in read])[
            graphs.places
        ]  # (N, D): the nodes of all graphs
        states = torch.tanh(self.node(labels))
        for _ in range(self.steps):
            found = self.forth(states, graphs.sources, graphs.targets, graphs.relations)
            if self.back is not None:
                found = found + self.back(states, graphs.targets, graphs.sources, graphs.relations)
            states = self._updated(states, found)
        mask = graphs.mask
        values = states.new_zeros(*mask.shape, states.shape[-1]).masked_scatter(mask.unsqueeze(-1), states)
        keys = [memory.keys for memory in read if memory.keys is not None]
        units = Parts(graphs, [memory.values for memory in read], keys or None)
        return Memory(values, mask, masked_mean(values, mask), layout="graph", parts=units)

    def _updated(self, states: Tensor, messages: Tensor) -> Tensor:
        if self.cell is not None:
            taken: Tensor = self.cell(messages, states)
            return taken
        assert self.plain is not None
        return states + torch.tanh(self.plain(states) + messages)
