"""Retrieval decoder: chooses a response among candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.nn.class_weights import class_cost, class_count
from regard.nn.decoders.decoder import BatchView, Source, Truth
from regard.nn.decoders.glimpsing import GlimpsingDecoder
from regard.nn.decoders.glimpsing_trace import glimpsed
from regard.nn.decoders.label import Labels
from regard.nn.decoders.listed import ListedCandidates, best_candidates
from regard.nn.embedding import Embedding
from regard.nn.letters import Letters
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, Size, register
from regard.trace.prediction import Prediction

SHOWN = 10
"""Number of candidates whose probabilities a prediction keeps."""


@register("decoder", "retrieval")
class RetrievalDecoder(GlimpsingDecoder):
    """p(y = i | x) = softmax_i(φ_i·q), q = V s + b, with s, or a hidden layer over s, as in
    `GlimpsingDecoder`.

    φ_i is the sum of the word vectors of candidate i. The candidates are a list that all rows share
    (`ListedCandidates`), or each row has its own, which the encoder of another input embeds.

    of   the input with the candidates of each row; None: one list for all rows
    """

    class Options(GlimpsingDecoder.Options):
        """softmax over candidates of φ·q, with φ the sum of a candidate's word vectors. q = V s + b, with s
        the summaries, or the context of an attention beside the summaries of the other inputs."""

        embedding: Size | None = None
        """Size of the word vectors of a shared list of candidates; default: 128. Candidates of each row have
        the size of their encoder."""

    writes = ("candidate",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> RetrievalDecoder:
        of = column.of[0] if column.of else None
        read = {name: source for name, source in sources.items() if name != of}
        candidates = None
        if of is None:
            candidates = ListedCandidates(
                Embedding(column.words.size, options.embedding or 128), column.candidate_words()
            )
        return cls(
            (options.embedding or 128) if of is None else sources[of].value_size,
            read,
            candidates=candidates,
            of=of,
            attention=cls.build_looks(options, read),
            **cls.shared_settings(options),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        of = plan.outputs[name].of
        if of is None:
            return
        if options.embedding is not None:
            mistakes.add(
                f"embedding has no effect: the vectors of the candidates come from the encoder of {of}.",
                "embedding",
                fix=f"Set it there: encoder: {{{of}: {{type: candidates, embedding: …}}}}.",
            )
        if options.over is not None and of not in options.over:
            mistakes.add(
                f"over leaves out {of}, which holds the candidates.", "over", fix=f"Add {of} to over."
            )
        elif all(one == of for one in options.over or plan.encoder):
            mistakes.add(
                f"{of} holds the candidates, and there is no other input to choose by.",
                fix="Add another input, such as the dialog or the last utterance.",
            )
        if any(one.over == of for one in options.attention):
            mistakes.add(
                f"{of} holds the candidates; the attention needs another input.",
                "attention",
                "over",
                fix="Name another input.",
            )

    @classmethod
    def attends_to(
        cls, options: Mapping[str, Any], column: Mapping[str, Any], read: Sequence[str]
    ) -> Sequence[str]:
        return [one for one in super().attends_to(options, column, read) if one != column.get("of")]

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        of = plan.outputs[name].of
        looked = super().reads_positions(options, name, plan)
        return looked if of is None else (*looked, of)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        of = plan.outputs[name].of
        return tuple(one for one in super().reads_summaries(options, name, plan) if one != of)

    @classmethod
    def answer(cls, state: str) -> str:
        return f"q_y = V_y {state} + b_y"

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        offered = next((one for one in memories.values() if one.values.startswith("φ")), None)
        if offered is None:
            lines = super().board(options, memories)
            place = next(number for number, line in enumerate(lines) if line.startswith("q_y = "))
            state = lines[place].removeprefix("q_y = V_y ").removesuffix(" + b_y")
            return [*lines[:place], *ListedCandidates.board(state), *lines[place + 1 :]]
        read = {name: one for name, one in memories.items() if one is not offered}
        j = offered.index
        return [
            *super().board(options, read),
            f"ε_{j} = {offered.values}·q_y     — candidate {j}",
            f"p(y) = softmax_{j}(ε_{j})",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        return super().letters(options, memories) | {"candidates.bag.embedding.weight": "E_y"}

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        guide, lines = cls.guided(options, memories)
        return [f"loss = −log(p(y)[y]){guide}", *lines]

    def __init__(
        self,
        size: int,
        sources: Mapping[str, Source],
        *,
        candidates: ListedCandidates | None,
        of: str | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(size, sources, **shared)
        self.candidates, self.of = candidates, of

    def scored(self, memories: Mapping[str, Memory], truth: Truth = None) -> tuple[Tensor, dict[str, Tensor]]:
        """The logits of the candidates (B, C), and the attention weights."""
        query, looks = self(memories, truth=truth)
        if self.candidates is not None:
            return self.candidates(query), looks
        offered = memories[self.of or ""]
        logits = (offered.values @ query.unsqueeze(-1)).squeeze(-1)  # (B, C)
        return logits.masked_fill(~offered.mask, float("-inf")), looks

    def count(self, target: Tensor) -> Tensor:
        return class_count(target)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B) int64, UNSEEN if the response is not a candidate; such rows do not count."""
        logits, looks = self.scored(memories, truth)
        total, parts = self.with_guide(class_cost(logits, target), looks, truth)
        return Loss(total, self.count(target), parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Labels:
        logits, looks = self.scored(memories, truth)
        return Labels(torch.log_softmax(logits, -1), looks)

    def predictions(self, found: Labels, column: Any, view: BatchView) -> list[Prediction]:
        offered = column.candidates if self.of is None else view.pieces[self.of]
        return candidate_predictions(found, offered, view, each=self.of is not None)


def candidate_predictions(
    found: Labels, candidates: Sequence[Any], view: BatchView, *, each: bool = False
) -> list[Prediction]:
    """The most probable candidate of each row; each: whether every row has its own candidates."""
    logs = found.log_probabilities.cpu()
    looks = {name: weights.cpu() for name, weights in found.attention.items()}
    answers = []
    for row, one in enumerate(logs):
        offered = candidates[row] if each else candidates
        likely = best_candidates(one[: len(offered)], offered, SHOWN)
        text, score = offered[int(one[: len(offered)].argmax())], float(one[: len(offered)].max())
        seen = glimpsed(view, row, looks, text, score, "label") if view.trace else None
        answers.append(Prediction(text, text, score, seen, probabilities=likely))
    return answers
