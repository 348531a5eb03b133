"""Memory network that chooses a response among candidates (Bordes, Boureau, Weston 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from torch import Tensor, nn

from regard.nn.attention import Attention
from regard.nn.decoders import hops_board, hops_check
from regard.nn.decoders.decoder import BatchView
from regard.nn.decoders.hops_looks import HopReads
from regard.nn.decoders.listed import ListedCandidates
from regard.nn.decoders.memory_network import MemoryNetworkDecoder, Supported
from regard.nn.decoders.retrieval import candidate_predictions
from regard.nn.embedding import Embedding
from regard.nn.letters import Letters
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, register
from regard.trace.prediction import Prediction

ANSWER, ANSWERS = "p(y) = softmax(V_y r + b_y)", "π_ℓ = softmax(V_y r_ℓ + b_y)"
"""The equation of a memory network for labels, from all facts or from ℓ of them."""


@register("decoder", "memory-retrieval")
class MemoryRetrievalDecoder(MemoryNetworkDecoder):
    """p(y = i | dialog, utterance) = softmax_i(φ_i·(V r + b)).

    r comes from K reads of the turns (`MemoryNetworkDecoder`), and φ_i is the sum of the word vectors of
    candidate i (`ListedCandidates`).
    """

    class Options(MemoryNetworkDecoder.Options):
        """Choose a response among candidates from K looks into a dialog:
        softmax over candidates of φ·(V r + b)."""

        tie: bool = False
        """Read the words of the candidates with the vectors that read the words of the dialog, and start V as
        the identity (except with read: all). A word that was read then matches a candidate with that word
        immediately, even a word never seen in training. The dialog must share the vocabulary of the
        output."""

    writes = ("candidate",)

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> MemoryRetrievalDecoder:
        encoder = sources[cls.read_by(options, sources)[0]]
        own = None if options.tie else Embedding(column.words.size, encoder.value_size)
        candidates = ListedCandidates(own or encoder.tables[-1].embedding, column.candidate_words())
        found: MemoryRetrievalDecoder = cls.made(options, encoder.value_size, sources, candidates=candidates)
        if options.tie and found.mix is None:
            output = cast(nn.Linear, found.output)
            nn.init.eye_(output.weight)
            nn.init.zeros_(output.bias)
        return found

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        if plan.outputs[name].of is not None:
            mistakes.add(
                "a memory network needs one list of candidates for all rows.",
                fix="Leave `of` out of the output, or use type: retrieval.",
            )

    @classmethod
    def check_tie(cls, options: Any, name: str, story: str, plan: Plan, mistakes: Mistakes) -> None:
        if getattr(plan.inputs[story], "shared", None) != name:
            mistakes.add(
                f"tie needs one vocabulary for {story} and {name}.",
                "tie",
                fix=f"Add  shared: {name}  to the input {story}.",
            )
        hops_check.check_words(plan.encoder[story], story, mistakes)

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        lines = super().board(options, memories)
        several = ANSWERS in lines
        place = lines.index(ANSWERS if several else ANSWER)
        table = hops_board.read_table(options, memories) if options.tie else "E_y"
        written = (
            ListedCandidates.board("r_ℓ", table, answer="π_ℓ", at="ℓ")
            if several
            else ListedCandidates.board("r", table)
        )
        return [*lines[:place], *written, *lines[place + 1 :]]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        table = hops_board.read_table(options, memories) if options.tie else "E_y"
        return super().letters(options, memories) | {"candidates.bag.embedding.weight": table}

    @classmethod
    def board_answers(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return []  # the lines about the candidates say it

    def __init__(self, size: int, attention: Attention, *, candidates: ListedCandidates, **more: Any) -> None:
        super().__init__(size, attention, **more)
        self.candidates = candidates

    def _answer(self, query: Tensor, reads: HopReads) -> Tensor:
        found: Tensor = self.candidates(super()._answer(query, reads))
        return found

    def answered(self, found: Supported, column: Any, view: BatchView) -> list[Prediction]:
        return candidate_predictions(found, column.candidates, view)
