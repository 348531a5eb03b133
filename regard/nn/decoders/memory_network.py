"""Memory network: K looks into a story, one after the other or all at once, and then the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.data.batch import UNSEEN, Tokens
from regard.nn.attention import Attention
from regard.nn.class_weights import class_count
from regard.nn.decoders import hops_board, hops_check
from regard.nn.decoders.answer_vectors import AnswerVectors, words_of
from regard.nn.decoders.decoder import BatchView, Decoder
from regard.nn.decoders.hops_looks import HopReads, StoryLooks, Unnormalized, chosen_rows, remembered
from regard.nn.decoders.label import Labels, label_predictions
from regard.nn.guide import guide_total
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.scores import AnyScore
from regard.nn.symbols import MemorySymbols
from regard.nn.transitions import Following, Transitions
from regard.parts import Count, Depth, Mistakes, NotNegative, Plan, Size, register
from regard.prediction import Prediction
from regard.trace import Hops

Read = Literal["last", "sum", "all"]
Carry = Literal["keep", "beyond", "add"]


@dataclass(frozen=True)
class Supported(Labels):
    """An answer and what it stands on.

    attention   (B, 1, S) by name: how much each sentence gave to the answer
    hops        (B, K, S) p(z_k = s)
    facts       (B, K) the chosen sentences: of a joint choice the most probable, else the largest weight of each hop;
                −1 for a hop that passed without one
    """

    hops: Tensor
    facts: Tensor
    over: str


@register("decoder", "memory-network", formerly=["facts"])
class MemoryNetworkDecoder(Decoder):
    """p(answer | story, question) = softmax(V r + b), r from K reads of the story's memory (m_i, c_i).

        hops    u_1 = u   α_k = softmax(score(u_k, m))   o_k = Σ_i α_ki c_i   u_{k+1} = H u_k + o_k
        chain   α_ki = p(z_k = i),   p(z_1 … z_K) ∝ exp(Σ_k score(Q_k u, m_{z_k}) + Σ_k θ_k(z_k, z_{k+1}))
                o_k = Σ_i α_ki c_i   (θ in `Transitions`)

    u is the summary of the question. A selection that is joint over the queries makes a chain. What is read:

        last   r = o_K                     the last fact holds the answer: the others only lead there
        sum    r = u_{K+1}, for the chain u + Σ_k o_k
        all    r = relu(W [u; o_1; …; o_K] + b)

    rank, reach, stay   of the transitions: features consecutive facts are compared in, distances with a vector of their
                   own, and whether two consecutive facts may be the same sentence
    fewer          the question says how many facts it needs. Every chain over the last L hops, L = 2 … K, learns to
                   answer; N u + b learns what each of them costs, −log p_L(y); and the L with the least expected cost
                   is taken, where each fact costs `hop_cost` more: no more facts than the answer needs
    guide          weight of the loss between the hops and the true facts, −Σ_k log α_k[true z_k]; 0: never told
    carry          how H begins. keep: I, a hop asks what the hop before asked, and for what it found; beyond: −I, it
                   asks for what was found beyond what had been asked; add: there is no H to learn, u_{k+1} = u_k + o_k
                   (Sukhbaatar 2015, adjacent tying). A chain knows `add` alone: without Q, P, R and G every fact is
                   asked for by u and by what is read of the fact before, θ_k(i, j) = score(c_i, m_j) + D_k[j − i]
                   (`Following`)
    linear_start   updates at the start of training in which α_k is the scores themselves, without softmax (hops alone)
    tie            row a of V is the vector with which the last hop reads the word a (`AnswerVectors`)
    """

    class Options(Decoder.Options):
        """The answer to a question from K looks into a story: softmax(V r + b)."""

        class AttentionOptions(Attention.Options):
            """How the story is looked at."""

            score: AnyScore = "dot"
            """How well a question and a sentence agree."""

        hops: Depth = 3
        """K, how often the story is looked at."""
        attention: AttentionOptions = AttentionOptions()
        """`select: softmax` looks K times, one after the other; `select: facts` chooses the K facts together."""
        query: str | None = None
        """The input that asks; default: the only one that is no story."""
        read: Read = "last"
        """What the answer is written from: what the last hop read, the sum with the question, or all of them."""
        stay: bool = True
        """Of a joint selection: whether two consecutive facts may be the same sentence."""
        rank: Size = 24
        """Of a joint selection: features in which two consecutive facts are compared."""
        reach: Count = 32
        """Of a joint selection: distances between two consecutive facts beyond this one count as equal."""
        fewer: bool = False
        """Of a joint selection: whether a question may need fewer facts than there are hops."""
        hop_cost: NotNegative = 0.2
        """With `fewer`: what one more fact costs, in nats of the answer's expected loss."""
        carry: Carry = "keep"
        """One hop after another: each begins by asking again what the one before asked, or for what that one found
        beyond it. add, of a joint selection too: always what was asked and what was found, u + o, without matrices to
        learn."""
        linear_start: Annotated[int, Field(ge=0)] = 0
        """One hop after another: updates at the start of training without the selection."""
        tie: bool = False
        """An answer that is a word of the story is found by the vector with which the last hop reads that word
        (Sukhbaatar 2015); only others ("yes") have vectors of their own."""

    writes = ("label",)

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> MemoryNetworkDecoder:
        found: MemoryNetworkDecoder = cls.made(options, column.size, sources)
        if options.tie:
            encoder = sources[found.story]
            words = words_of(column.classes, encoder.words)
            found.output = AnswerVectors(encoder.tables[-1].embedding, words)
        return found

    @classmethod
    def read_by(cls, options: Any, sources: Mapping[str, Any]) -> tuple[str, str]:
        """The story and the question."""
        stories = [name for name, source in sources.items() if getattr(source, "tables", None) is not None]
        question = options.query or next(name for name in sources if name not in stories)
        return options.attention.over or stories[0], question

    @classmethod
    def made(cls, options: Any, size: int, sources: Mapping[str, Any], **more: Any) -> Any:
        """The decoder with this many features at its end, from the shared options."""
        story, question = cls.read_by(options, sources)
        encoder = sources[story]
        return cls(
            size,
            Attention.build(options.attention, sources[question].summary_size, encoder),
            story=story,
            question=question,
            hops=options.hops,
            read=options.read,
            rank=options.rank,
            stay=options.stay,
            reach=options.reach,
            tables=encoder.hops,
            dropout=options.dropout,
            fewer=options.fewer,
            hop_cost=options.hop_cost,
            guide=options.attention.guide,
            carry=options.carry,
            linear_start=options.linear_start,
            **more,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        story = hops_check.check_memory_network(options, name, plan, mistakes)
        if story is not None and options.tie:
            cls.check_tie(options, name, story, plan, mistakes)

    @classmethod
    def check_tie(cls, options: Any, name: str, story: str, plan: Plan, mistakes: Mistakes) -> None:
        """Report where the words of the story have no vectors that answers could have."""
        hops_check.check_words(plan.encoder[story], story, mistakes)
        if options.read == "all":
            mistakes.add(
                "tie finds an answer by what was read of its word; read: all mixes it with all the rest.",
                "tie",
                fix="Leave tie out, or use read: last or read: sum.",
            )

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return (hops_check.story_of(options, plan),)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return (hops_check.question_of(options, plan),)

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        lines = hops_board.lines(options, memories, joint=hops_check.is_joint(options))
        return [*lines, *cls.board_answers(options, memories)]

    @classmethod
    def board_answers(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        """What V is, where it is not a weight of its own."""
        return [hops_board.tied_line(options, memories)] if options.tie else []

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return hops_board.loss_lines(options, joint=hops_check.is_joint(options))

    updates: Tensor

    def __init__(
        self,
        classes: int,
        attention: Attention,
        *,
        story: str,
        question: str,
        hops: int = 3,
        read: Read = "last",
        rank: int = 24,
        stay: bool = True,
        reach: int = 32,
        tables: int = 1,
        dropout: float = 0.0,
        fewer: bool = False,
        hop_cost: float = 0.2,
        guide: float = 0.0,
        carry: Carry = "keep",
        linear_start: int = 0,
    ) -> None:
        super().__init__()
        self.attention, self.story, self.question = attention, story, question
        self.hops, self.read, self.tables = hops, read, tables
        self.hop_cost, self.guide, self.linear_start = hop_cost, guide, linear_start
        size, width = attention.query_size, attention.value_size
        self.joint = attention.select.joint == "queries"
        self.unnormalized = Unnormalized()
        self.fewer = fewer and self.joint and hops > 2
        self.adds = carry == "add"
        if self.joint and self.adds:
            self.following = Following(hops - 1, reach=reach, stay=stay)
        elif self.joint:
            self.queries = nn.Linear(size, hops * size, bias=False)
            # at first, the first fact is what shares words with the question; the others follow from it
            self.queries.weight.data.view(hops, size, size).copy_(
                0.1 * self.queries.weight.view(hops, size, size)
            )
            self.queries.weight.data[:size] += torch.eye(size)
            self.transitions = Transitions(hops - 1, size, width, size=rank, reach=reach, stay=stay)
        elif self.adds:
            self.carry: nn.Module = nn.Identity()
        else:
            self.carry = nn.Linear(size, width, bias=False)
            self.carry.weight.data.copy_(torch.eye(width, size) * (1 if carry == "keep" else -1))
        if self.fewer:
            self.costs = nn.Linear(size, hops - 1)
        if linear_start:
            # a buffer, so that a resumed run goes on where it stood
            self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.mix = nn.Linear(size + hops * width, 2 * width) if read == "all" else None
        self.output: nn.Module = nn.Linear(2 * width if read == "all" else width, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, memories: Mapping[str, Memory], *, best: bool = False) -> tuple[Tensor, HopReads]:
        """Logits (B, C), and what was looked at; `best` asks for the chosen facts too."""
        query = memories[self.question].summary
        several = self._looks(memories, best)
        if len(several) == 1:
            return self._answer(query, several[0]), several[0]
        needed = self._needed(query)  # (B) which of `several`
        logits = chosen_rows([self._answer(query, reads) for reads in several], needed)
        weights, read, state = (
            chosen_rows([getattr(reads, part) for reads in several], needed)
            for part in ("weights", "read", "state")
        )
        facts = [reads.facts for reads in several if reads.facts is not None]
        return logits, HopReads(weights, read, state, chosen_rows(facts, needed) if best else None)

    def _looks(self, memories: Mapping[str, Memory], best: bool) -> list[HopReads]:
        """Those of every number of facts, from 2 to K; with K facts alone, or with one hop after another, one."""
        query, whole = memories[self.question].summary, memories[self.story]
        story, places = remembered(whole)
        looks = StoryLooks(self.attention, story, self.hops, tables=self.tables, best=best)
        if not self.joint:
            several = [looks.in_turn(query, self.carry, self.unnormalized if self._is_linear() else None)]
        elif self.adds:
            asked = query.unsqueeze(1).expand(-1, self.hops, -1)
            several = looks.together(query, asked, self.following(looks.onward()), fewer=self.fewer)
        else:
            asked = self.queries(query).view(len(query), self.hops, -1)  # (B, K, Q)
            several = looks.together(query, asked, self.transitions(query, looks.keys), fewer=self.fewer)
        return several if places is None else [reads.put_back(places, whole) for reads in several]

    def _answer(self, query: Tensor, reads: HopReads) -> Tensor:
        if self.read == "last":
            found = reads.read[:, -1]
        elif self.mix is None:
            found = reads.state
        else:
            found = torch.relu(self.mix(torch.cat([query, reads.read.flatten(1)], -1)))
        logits: Tensor = self.output(self.dropout(found))
        return logits

    def _is_linear(self) -> bool:
        return bool(self.linear_start and self.training and self.updates < self.linear_start)

    def count(self, target: Tensor) -> Tensor:
        return class_count(target)

    def loss(
        self, memories: Mapping[str, Memory], target: Tensor, *, truth: Mapping[str, Tokens] | None = None
    ) -> Loss:
        """target (B) int64; truth: the supporting facts by the story's name, used with `guide` alone."""
        if self.training and self.linear_start:
            self.updates += 1
        query = memories[self.question].summary
        several = self._looks(memories, False)
        answers = [self._answer(query, reads) for reads in several]
        costs = torch.stack(
            [
                nn.functional.cross_entropy(one, target, reduction="none", ignore_index=UNSEEN)
                for one in answers
            ],
            1,
        )
        total = costs.mean(1).sum()  # over the numbers of facts, then over the rows
        parts = {}
        if self.fewer:
            # The question learns what is to be expected; it is not to become easier to foresee.
            misjudged = (self.costs(query.detach()) - costs.detach()).square().sum()
            parts["misjudged"] = misjudged.detach()
            total = total + misjudged
        with torch.no_grad():
            parts["likelihood"] = costs.sum() if len(several) == 1 else self._likelihood(query, costs)
        if self.guide and truth is not None:
            weights = several[-1].weights
            guide = guide_total(self._wanted(truth[self.story], weights), weights)
            parts["guide"] = guide.detach()
            total = total + self.guide * guide
        return Loss(total, self.count(target), parts)

    def _needed(self, query: Tensor) -> Tensor:
        """(B) how many facts more than two the question is expected to need."""
        counts = torch.arange(self.hops - 1, device=query.device)
        expected: Tensor = self.costs(query) + self.hop_cost * counts  # (B, K−1)
        return expected.argmin(-1)

    def _likelihood(self, query: Tensor, costs: Tensor) -> Tensor:
        """−log p of the truth with as many facts as are taken."""
        return costs.gather(1, self._needed(query)[:, None]).sum()

    def _wanted(self, truth: Tokens, weights: Tensor) -> Tensor:
        """(B, K, S): hop k is to look at the k-th fact; with fewer facts than hops the last one again."""
        last = (truth.lengths - 1).clamp(min=0)[:, None]
        hops = torch.arange(self.hops, device=weights.device).clamp(max=truth.ids.shape[1] - 1)
        places = truth.ids.gather(1, torch.minimum(hops.expand(len(last), -1), last))  # (B, K)
        wanted = torch.zeros_like(weights).scatter(2, places.unsqueeze(-1), 1.0)
        return wanted * (truth.lengths > 0)[:, None, None]

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: object = None) -> Supported:
        logits, reads = self(memories, best=True)
        shown = reads.weights[:, -1:] if self.read == "last" else reads.weights.mean(1, keepdim=True)
        logs = torch.log_softmax(logits, -1)
        return Supported(logs, {self.story: shown}, reads.weights, reads.facts, self.story)

    def answered(self, found: Supported, column: Any, view: BatchView) -> list[Prediction]:
        """The answers, without what each hop looked at."""
        return label_predictions(found, column, view)

    def predictions(self, found: Supported, column: Any, view: BatchView) -> list[Prediction]:
        facts_truth = view.truth.get(found.over)
        answers = self.answered(found, column, view)
        if not view.trace:
            return answers
        weights, facts = found.hops.cpu().numpy(), found.facts.cpu().numpy()
        shown = []
        for row, answer in enumerate(answers):
            sentences = view.pieces[found.over][row]
            hops = Hops(
                weights=weights[row, :, : len(sentences)],
                best=facts[row],
                truth=_true_facts(facts_truth, row),
                positions=sentences,
            )
            trace = answer.trace
            if trace is not None:
                layout, structures = {found.over: "sentences"}, {found.over: hops}
                answer = replace(answer, trace=replace(trace, layout=layout, structures=structures))
            shown.append(answer)
        return shown


def _true_facts(truth: Any, row: int) -> np.ndarray | None:
    if not isinstance(truth, Tokens):
        return None
    facts: np.ndarray = truth.ids[row, : int(truth.lengths[row])].numpy()
    return facts
