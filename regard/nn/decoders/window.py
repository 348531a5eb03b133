"""Window decoder: the next word from the last few words alone (Bengio 2003)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import BEGIN
from regard.nn.decoders.continuing import Carried, ContinuingDecoder
from regard.nn.embedding import Embedding, build_embedding
from regard.nn.letters import Letters, linear
from regard.nn.symbols import MemorySymbols, side_by_side
from regard.parts import Depth, Mistakes, Plan, register


@register("decoder", "window")
class WindowDecoder(ContinuingDecoder):
    """p(y_t | y_{t−k} … y_{t−1}) = softmax(V tanh(W [e(y_{t−k}); …; e(y_{t−1})] + b) + c)

    The Markov assumption of order k: earlier words have no influence. With k = 1 the model has no memory.
    BEGIN stands before the beginning of the text. Bengio's direct connections from the embeddings to the
    output are left out. The state is the last k − 1 tokens.
    """

    class Options(ContinuingDecoder.Options):
        """p(y_t) = softmax(V tanh(W [e(y_{t−k}); …; e(y_{t−1})] + b) + c), k the order."""

        order: Depth = 3
        """Number of previous units to read; 1: only the last one, without memory."""

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> WindowDecoder:
        embedding = build_embedding(options, column, read_files=read_files)
        return cls(embedding, options, column.size)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        training = getattr(plan, "training", None)
        if options.order == 1 and "carry" in getattr(training, "model_fields_set", ()):
            mistakes.add(
                "training.carry has no effect with order: 1, which has no state to carry.",
                "order",
                fix="Leave carry out, or use a higher order.",
            )

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        words = [f"E_y[y_{{t−{back}}}]" for back in range(options.order, 0, -1)]
        earlier = "y_0" if options.order == 1 else f"y_{{1−{options.order}}} … y_0"
        return [
            f"t = 1 … T     — {earlier}: the previous tokens; at the beginning of the text begin tokens",
            f"h_t = tanh(W_h {side_by_side(words)} + b_h)",
            *cls.board_output(options, "h_t"),
            cls.board_sizes(options),
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        return super().letters(options, memories) | linear("hidden", "W_h", "b_h")

    def __init__(self, embedding: Embedding, options: Any, vocabulary: int) -> None:
        super().__init__(embedding, options, vocabulary)
        self.order = options.order
        self.hidden = nn.Linear(options.order * embedding.size, options.size)

    def start(self, rows: int) -> Carried:
        return (torch.full((rows, self.order - 1), BEGIN, device=self.hidden.weight.device),)

    def forward(self, before: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        seen = torch.cat([state[0], before], 1)  # (B, k − 1 + T)
        windows = seen.unfold(1, self.order, 1)  # (B, T, k)
        hidden = torch.tanh(self.hidden(self.embedding(windows).flatten(2)))
        return hidden, (seen[:, seen.shape[1] - self.order + 1 :],)
