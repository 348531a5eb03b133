"""Word-by-word attention: a label for how two texts stand to each other (Rocktäschel et al. 2016).

For the memories y (B, S, D) of the first text, the premise, and h (B, T, D′) of the second, the hypothesis:

    look      e_ts = score([h_t; r_{t−1}], y_s),  α_t = softmax_s(e_ts),  c_t = Σ_s α_ts y_s
    go on     r_t  = c_t + tanh(W_t r_{t−1}),   r_0 = 0
    answer    g    = tanh(W_p r_T + W_x h + b),   p(y) = softmax(V g + b′)

Each word of the hypothesis looks at the premise, knowing what the words before it found there. With the additive score
this is Rocktäschel's M_t = tanh(W_y Y + W_h h_t + W_r r_{t−1}): the query is [h_t; r_{t−1}]. Their h is the last state
of the hypothesis; here it is its summary, which is the same for an encoder that reads forward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.attention import Attention, check_attention
from regard.nn.class_weights import class_cost, class_count, class_weights
from regard.nn.decoders.decoder import BatchView, Decoder, Source
from regard.nn.decoders.label import Labels, label_predictions, weighted
from regard.nn.decoders.reading import Reading, joined
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.stepping import Constants
from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.parts import Mistakes, Plan, Positive, Size, register
from regard.prediction import Prediction


@register("decoder", "word-by-word")
class WordByWordDecoder(Decoder):
    """p(y | premise, hypothesis) as above; the first of the `sources` is looked at, the words of the second ask.

    size            of g
    class_weights   (C) how much a mistake about each class costs; the mean is over the weights
    """

    class Options(Decoder.Options):
        """How a second text stands to a first: each of its words looks at the first, knowing what those before it found
        (Rocktäschel 2016); r_t = c_t + tanh(W r_{t−1}), softmax(V tanh(W [r_T; h]) + b)."""

        attention: Attention.Options = Attention.Options()
        """How the words of the second text look at the first."""
        size: Size = 100
        """Of the layer before the answer."""
        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """How much a mistake about each class costs; balanced: by its rarity."""

    writes = ("label",)

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> WordByWordDecoder:
        first, second = sources.values()
        query = second.value_size + first.value_size
        return cls(
            column.size,
            sources,
            attention=Attention.build(options.attention, query, first),
            size=options.size,
            dropout=options.dropout,
            class_weights=class_weights(options.class_weights, column),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        over = options.over or tuple(plan.encoder)
        if len(over) != 2:
            mistakes.add(
                f"a word-by-word decoder reads two inputs; it has {', '.join(over)}.",
                "over",
                fix="Name two:  over: [premise, hypothesis].",
            )
            return
        looked = options.attention.over
        if looked is not None and looked != over[0]:
            mistakes.at("attention").add(
                f"the words of {over[1]} look at {over[0]}, the first of the two.",
                "over",
                fix=f"Leave it out, or write  over: [{over[1]}, {over[0]}]  in the decoder.",
            )
        check_attention(
            options.attention,
            mistakes.at("attention"),
            user="a word-by-word decoder",
            gives=("previous", "query", "step"),
            together=False,
            truths=None,
        )

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return tuple(options.over or plan.encoder)[1:]

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        one, other = memories.values()
        t, length = other.index, other.length
        look = LookSymbols(f"[{other.values}; r_{{{t}−1}}]", one, step=t, count=length)
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            *Attention.equations(options.attention, look),
            f"r_{t} = {look.context} + tanh(W_t r_{{{t}−1}})     — r_0: zeros",
            f"g = tanh(W_g [r_{length}; {other.summary}] + b_g)",
            "p(y) = softmax(V_y g + b_y)",
            f"— {options.size} units in g{dropout}",
        ]

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return [f"loss = −log(p(y)[y]){weighted(options.class_weights, '     — ')}"]

    class_weights: Tensor | None

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        attention: Attention | None = None,
        size: int = 100,
        dropout: float = 0.0,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__()
        if len(sources) != 2:
            raise RegardError(
                f"Two texts are read; the sources are {', '.join(sources) or 'none'}.",
                fix="Name two inputs:  over: [premise, hypothesis].",
            )
        self.first, self.second = sources
        first, second = sources.values()
        query = second.value_size + first.value_size
        self.reading = Reading({self.first: attention or Attention(query, first.value_size)})
        self.onward = nn.Linear(first.value_size, first.value_size, bias=False)
        self.gather = nn.Linear(first.value_size + second.summary_size, size)
        self.output = nn.Linear(size, classes)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("class_weights", class_weights, persistent=False)

    def forward(self, memories: Mapping[str, Memory]) -> tuple[Tensor, Tensor]:
        """Logits (B, C), and where each word of the second text looked in the first, (B, T, S)."""
        assert self.reading is not None
        asking = memories[self.second]
        values = self.dropout(asking.values)
        found = values.new_zeros(len(values), self.reading.context_size)  # (B, D): r
        looked = {self.first: memories[self.first]}
        constants = Constants(self.reading.keys(looked))
        previous, steps = self.reading.first_looks(looked), []
        for step in range(values.shape[1]):
            query = torch.cat([values[:, step], found], -1).unsqueeze(1)
            read = self.reading(query, looked, constants, step, previous)
            there = asking.mask[:, step, None]
            found = torch.where(there, read.context.squeeze(1) + torch.tanh(self.onward(found)), found)
            previous = {name: read.weights[name] for name in previous}
            steps.append({self.first: read.weights[self.first] * there.unsqueeze(1)})
        gathered = torch.tanh(self.gather(self.dropout(torch.cat([found, asking.summary], -1))))
        return self.output(self.dropout(gathered)), joined(steps)[self.first]

    def count(self, target: Tensor) -> Tensor:
        return class_count(target, self.class_weights)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Any = None) -> Loss:
        """target (B) int64."""
        logits, _ = self(memories)
        total = class_cost(logits, target, self.class_weights)
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Labels:
        logits, looks = self(memories)
        return Labels(torch.log_softmax(logits, -1), {self.first: looks})

    def predictions(self, found: Labels, column: Any, view: BatchView) -> list[Prediction]:
        return label_predictions(found, column, view, asking=self.second)
