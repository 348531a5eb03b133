"""Memory network: K looks into a story, one after another or all at once, and then the answer."""

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
from regard.nn.guided_attention import guide_total
from regard.nn.letters import Letters
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.scores import AnyScore
from regard.nn.symbols import MemorySymbols
from regard.nn.transitions import Following, Transitions
from regard.nn.watching import watching
from regard.parts import Count, Depth, Mistakes, NotNegative, Plan, Size, register
from regard.trace import Hops, Potentials
from regard.trace.prediction import Prediction

Read = Literal["last", "sum", "all"]
Carry = Literal["keep", "beyond", "add"]


@dataclass(frozen=True)
class Supported(Labels):
    """An answer and its supporting facts.

    attention   (B, 1, S) by name: the share of each sentence in the answer
    hops        (B, K, S) p(z_k = s)
    facts       (B, K) the chosen sentences: with a joint selection the most probable ones, else the sentence
                with the largest weight of each hop; −1 for a hop without a fact
    """

    hops: Tensor
    facts: Tensor
    over: str


@register("decoder", "memory-network")
class MemoryNetworkDecoder(Decoder):
    """p(answer | story, question) = softmax(V r + b), r from K reads of the story's memory (m_i, c_i).

        hops    u_1 = u   α_k = softmax(score(u_k, m))   o_k = Σ_i α_ki c_i   u_{k+1} = H u_k + o_k
        chain   α_ki = p(z_k = i),   p(z_1 … z_K) ∝ exp(Σ_k score(Q_k u, m_{z_k}) + Σ_k θ_k(z_k, z_{k+1}))
                o_k = Σ_i α_ki c_i   (θ in `Transitions`)

    u is the summary of the question. A selection that is joint over the queries gives a chain. Options for r:

        last   r = o_K                     the last fact contains the answer, the others only lead to it
        sum    r = u_{K+1}, for the chain u + Σ_k o_k
        all    r = relu(W [u; o_1; …; o_K] + b)

    rank, reach, stay   options of the transitions: the features in which consecutive facts are compared, the
                   distances that have their own vector, and whether two consecutive facts may be one sentence
    fewer          the question decides how many facts it needs. Every chain over the last L hops, L = 2 … K,
                   learns to answer. N u + b learns the cost of each, −log p_L(y). The L with the lowest
                   expected cost is taken, where each fact adds `hop_cost`, so that an answer uses no more
                   facts than it needs
    guide          weight of the loss between the hops and the true facts, −Σ_k log α_k[true z_k]; 0: no such
                   loss
    carry          how H is initialized. keep: I, so that a hop asks for what the previous hop asked and for
                   what it found. beyond: −I, so that a hop asks for what was found beyond what was asked.
                   add: there is no H, u_{k+1} = u_k + o_k (Sukhbaatar 2015, adjacent tying). For a chain only
                   `add` has a meaning: it leaves out Q, P, R and G, and the query for each fact is u and the
                   vector read from the fact before, θ_k(i, j) = score(c_i, m_j) + D_k[j − i] (`Following`)
    linear_start   number of updates at the start of training in which the scores replace α_k, without softmax
                   (only for hops one after another)
    tie            row a of V is the vector with which the last hop reads the word a (`AnswerVectors`)
    """

    class Options(Decoder.Options):
        """Answer a question from K looks into a story: softmax(V r + b)."""

        class AttentionOptions(Attention.Options):
            """Attention to the story."""

            score: AnyScore = "dot"
            """Function that scores how well the question and a sentence agree."""

        hops: Depth = 3
        """K, the number of looks into the story."""
        attention: AttentionOptions = AttentionOptions()
        """`select: softmax` looks K times, one hop after another;
        `select: facts` selects the K facts jointly."""
        query: str | None = None
        """The input with the question; default: the only one that is not a story."""
        read: Read = "last"
        """What the answer is computed from. last: what the last hop read; sum: the question plus all that was
        read; all: a hidden layer over the question and what each hop read."""
        stay: bool = True
        """Joint selection only: whether two consecutive facts may be the same sentence."""
        rank: Size = 24
        """Joint selection only: number of features in which two consecutive facts are compared."""
        reach: Count = 32
        """Joint selection only: largest distance between two consecutive facts;
        longer distances count as this one."""
        fewer: bool = False
        """Joint selection only: allow a question to use fewer facts than there are hops."""
        hop_cost: NotNegative = 0.2
        """With `fewer`: cost of one more fact, in nats of the answer's expected loss."""
        carry: Carry = "keep"
        """Query of the next hop: H u + o, with the previous query u and what it found, o. keep: H starts as
        the identity. beyond: H starts as its negative, so that a hop looks for what is new. add: u + o
        without H; the only choice that also applies to a joint selection, where it leaves out all
        matrices."""
        linear_start: Annotated[int, Field(ge=0)] = 0
        """Hops one after another only: number of updates at the start of training without the softmax."""
        tie: bool = False
        """An answer that is a word of the story shares the vector with which the last hop reads that word
        (Sukhbaatar 2015). Only other answers ("yes") have vectors of their own."""

    writes = ("label",)
    weighs = True

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
        """The decoder with `size` outputs, from the shared options."""
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
        """Report a story or an option that does not go together with `tie`."""
        hops_check.check_words(plan.encoder[story], story, mistakes)
        if options.read == "all":
            mistakes.add(
                "tie cannot be used with read: all, whose layer mixes the features that tie compares.",
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
        """The meaning of V if it is not a weight of its own."""
        return [hops_board.tied_line(options, memories)] if options.tie else []

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        return hops_board.letters(options, memories)

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
            # initially, the first fact shares words with the question, and the others follow from it
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
            # a buffer, so that a resumed run continues from its count
            self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.mix = nn.Linear(size + hops * width, 2 * width) if read == "all" else None
        self.output: nn.Module = nn.Linear(2 * width if read == "all" else width, classes)
        self.dropout = nn.Dropout(dropout)

    @property
    def attended(self) -> tuple[str, ...]:
        return (self.story,)

    def forward(self, memories: Mapping[str, Memory], *, best: bool = False) -> tuple[Tensor, HopReads]:
        """Logits (B, C), and the reads of the hops; `best`: return the chosen facts too."""
        query = memories[self.question].summary
        several = self._looks(memories, best)
        if len(several) == 1:
            return self._answer(query, several[0]), several[0]
        needed, unknown = self._needed(query)  # (B) which of `several`
        logits = chosen_rows([self._answer(query, reads) for reads in several], needed) + unknown[:, None]
        weights, read, state = (
            chosen_rows([getattr(reads, part) for reads in several], needed)
            for part in ("weights", "read", "state")
        )
        facts = [reads.facts for reads in several if reads.facts is not None]
        return logits, HopReads(weights, read, state, chosen_rows(facts, needed) if best else None)

    def _looks(self, memories: Mapping[str, Memory], best: bool) -> list[HopReads]:
        """The reads for each number of facts from 2 to K; one element without `fewer`."""
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
        """target (B) int64; truth: the supporting facts by the story's name, used only with `guide`."""
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
            # The question learns the expected cost. Neither the question nor the answers adapt to this
            # estimate.
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

    def _needed(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """(B) the number of facts beyond two that the question is expected to need, and (B) 0, or NaN if an
        expected cost is not finite: then any number is as good."""
        counts = torch.arange(self.hops - 1, device=query.device)
        expected: Tensor = self.costs(query) + self.hop_cost * counts  # (B, K−1)
        return expected.argmin(-1), 0.0 * expected.detach().sum(-1)

    def _likelihood(self, query: Tensor, costs: Tensor) -> Tensor:
        """−log p of the truth with the number of facts that is taken."""
        needed, unknown = self._needed(query)
        return (costs.gather(1, needed[:, None]).squeeze(1) + unknown).sum()

    def _wanted(self, truth: Tokens, weights: Tensor) -> Tensor:
        """(B, K, S): hop k should look at the k-th fact;
        if there are fewer facts than hops, at the last one again."""
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

    @torch.no_grad()
    def potentials(self, found: Any, memories: Mapping[str, Memory]) -> dict[str, Potentials]:
        """The scores of the facts that are selected jointly; of hops in turn there are none."""
        with watching([self.attention]) as seen:
            self(memories, best=True)
        kept, mask = seen[self.attention].steps, memories[self.story].mask[0]
        if not kept or kept[-1]["nodes"].shape[-1] != int(mask.sum()):
            return {}  # some sentences were forgotten
        nodes, pairs = (kept[-1][name][0].float().cpu().numpy() for name in ("nodes", "pairs"))
        steps = [f"hop {number + 1}" for number in range(len(nodes))]
        return {self.story: Potentials("chain", nodes, pairs, steps=steps)}

    def answered(self, found: Supported, column: Any, view: BatchView) -> list[Prediction]:
        """The answers, without the looks of each hop."""
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
