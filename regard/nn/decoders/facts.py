"""Facts decoder: K looks into a story, one after the other or all at once, and then the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.nn.attention import Attention
from regard.nn.decoders.label import Labels
from regard.nn.facts import Facts
from regard.nn.guide import guide_total
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.products import weighted_sums
from regard.nn.transitions import Transitions

Read = Literal["last", "sum", "all"]


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


@dataclass(frozen=True)
class Looks:
    """weights (B, K, S), what was read o_k (B, K, D), the state after the last hop (B, D), chosen facts (B, K)."""

    weights: Tensor
    read: Tensor
    state: Tensor
    facts: Tensor | None = None


class FactsDecoder(nn.Module):
    """p(answer | story, question) = softmax(V r + b), r from K reads of the story's memory (m_i, c_i).

        hops    u_1 = u   α_k = softmax(score(u_k, m))   o_k = Σ_i α_ki c_i   u_{k+1} = H u_k + o_k
        chain   α_ki = p(z_k = i),   p(z_1 … z_K) ∝ exp(Σ_k score(Q_k u, m_{z_k}) + Σ_k θ_k(z_k, z_{k+1}))
                o_k = Σ_i α_ki c_i   (θ in `Transitions`)

    u is the summary of the question. The attention's selection decides which: `Facts` for the chain. What is read:

        last   r = o_K                     the last fact holds the answer: the others only lead there
        sum    r = u_{K+1}, for the chain u + Σ_k o_k
        all    r = relu(W [u; o_1; …; o_K] + b)

    rank, reach, stay   of the transitions: features consecutive facts are compared in, distances told apart, and
                   whether two consecutive facts may be the same sentence
    fewer          the question says how many facts it needs: a chain over the last L hops, L = 2 … K, with
                   p(L | u) = softmax(N u + b); weights are means over L
    hop_cost       λ of a loss λ · p(y)⁴ · E[number of facts], with `fewer`: no more facts than the answer y needs, once
                   it is known
    hop_after      updates without that cost; in as many more it rises to λ: first all facts have to be found
    guide          weight of the loss between the hops and the true facts, −Σ_k log α_k[true z_k]; 0: never told
    linear_start   updates at the start of training in which α_k is the scores themselves, without softmax (hops alone)
    """

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
        hop_cost: float = 0.0,
        hop_after: int = 0,
        guide: float = 0.0,
        linear_start: int = 0,
    ) -> None:
        super().__init__()
        self.attention, self.story, self.question = attention, story, question
        self.hops, self.read, self.tables = hops, read, tables
        self.fewer, self.hop_cost, self.hop_after = fewer, hop_cost, hop_after
        self.guide, self.linear_start = guide, linear_start
        size, width = attention.query_size, attention.value_size
        self.joint = isinstance(attention.select, Facts)
        if self.joint:
            self.queries = nn.Linear(size, hops * size, bias=False)
            if fewer:
                self.counts = nn.Linear(size, hops - 1)
            self.transitions = Transitions(hops - 1, size, width, size=rank, reach=reach, stay=stay)
        else:
            self.carry = nn.Linear(size, width, bias=False)
        if linear_start or hop_after:
            # a buffer, so that a resumed run goes on where it stood
            self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.mix = nn.Linear(size + hops * width, 2 * width) if read == "all" else None
        self.output = nn.Linear(2 * width if read == "all" else width, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, memories: Mapping[str, Memory], *, best: bool = False) -> tuple[Tensor, Looks]:
        """Logits (B, C), and what was looked at; `best` asks for the chosen facts too."""
        story, query = memories[self.story], memories[self.question].summary
        whole = story.values if story.keys is None else story.keys
        keys, values = self._by_hop(whole), self._by_hop(story.values)
        look = self._chain if self.joint else self._one_by_one
        looks = look(query, keys, values, story.mask, best)
        if self.read == "last":
            found = looks.read[:, -1]
        elif self.mix is None:
            found = looks.state
        else:
            found = torch.relu(self.mix(torch.cat([query, looks.read.flatten(1)], -1)))
        return self.output(self.dropout(found)), looks

    def _by_hop(self, memory: Tensor) -> list[Tensor]:
        return [memory] * self.hops if self.tables == 1 else list(memory.chunk(self.tables, -1))

    def _chain(
        self, query: Tensor, keys: list[Tensor], values: list[Tensor], mask: Tensor, best: bool
    ) -> Looks:
        asked = self.queries(query).view(len(query), self.hops, -1)  # (B, K, Q)
        score = self.attention.score
        scores = torch.cat([score(asked[:, k : k + 1], score.keys(keys[k])) for k in range(self.hops)], 1)
        select = self.attention.select
        assert isinstance(select, Facts)
        transitions = self.transitions(query, keys)
        if not self.fewer:
            chain = select.chain(scores, mask, transitions)
            weights, facts = chain.node_marginals, chain.mode.argmax(-1) if best else None
        else:
            weights, facts = self._of_several_lengths(query, scores, mask, transitions, best)
        read = self._read(weights, values)
        return Looks(weights, read, query + read.sum(1), facts)

    def _of_several_lengths(
        self, query: Tensor, scores: Tensor, mask: Tensor, transitions: Tensor, best: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Σ_L p(L) p(z_k = i | L), where a chain of L facts is the last L hops; and the facts of the likeliest L."""
        select = self.attention.select
        assert isinstance(select, Facts)
        likely = torch.softmax(self.counts(query), -1)  # (B, K−1), of 2 … K facts
        weights, modes = torch.zeros_like(scores), []
        for count in range(2, self.hops + 1):
            unused = self.hops - count
            chain = select.chain(scores[:, unused:], mask, transitions[:, unused:])
            share = likely[:, count - 2, None, None]
            weights = weights + nn.functional.pad(share * chain.node_marginals, (0, 0, unused, 0))
            if best:
                modes.append(nn.functional.pad(chain.mode.argmax(-1), (unused, 0), value=-1))  # (B, K)
        if not best:
            return weights, None
        chosen = likely.argmax(-1)[:, None, None].expand(-1, 1, self.hops)
        return weights, torch.stack(modes, 1).gather(1, chosen).squeeze(1)

    def _one_by_one(
        self, query: Tensor, keys: list[Tensor], values: list[Tensor], mask: Tensor, best: bool
    ) -> Looks:
        linear = self._is_linear()
        weights, read, state = [], [], query
        for k in range(self.hops):
            scores = self.attention.score(state.unsqueeze(1), self.attention.score.keys(keys[k]))  # (B, 1, S)
            if linear:
                weight = scores * mask.unsqueeze(1)
            else:
                weight = self.attention.select(scores, mask)
            weights.append(weight)
            read.append(weighted_sums(weight, values[k]).squeeze(1))
            state = self.carry(state) + read[-1]
        together = torch.cat(weights, 1)
        facts = together.masked_fill(~mask.unsqueeze(1), float("-inf")).argmax(-1) if best else None
        return Looks(together, torch.stack(read, 1), state, facts)

    def _read(self, weights: Tensor, values: list[Tensor]) -> Tensor:
        return torch.cat(
            [weighted_sums(weights[:, k : k + 1], values[k]) for k in range(self.hops)], 1
        )  # (B, K, D)

    def _is_linear(self) -> bool:
        return bool(self.linear_start and self.training and self.updates < self.linear_start)

    def _cost_of_a_fact(self) -> float:
        """λ as it stands after the updates so far."""
        if not self.hop_after:
            return self.hop_cost
        return self.hop_cost * min(max(int(self.updates) / self.hop_after - 1.0, 0.0), 1.0)

    def loss(
        self, memories: Mapping[str, Memory], target: Tensor, *, truth: Mapping[str, Tokens] | None = None
    ) -> Loss:
        """target (B) int64; truth: the supporting facts by the story's name, used with `guide` alone."""
        logits, looks = self(memories)
        if self.training and (self.linear_start or self.hop_after):
            self.updates += 1
        total = nn.functional.cross_entropy(logits, target, reduction="sum")
        parts = {"likelihood": total.detach()}
        if self.guide and truth is not None:
            guide = guide_total(self._wanted(truth[self.story], looks.weights), looks.weights)
            parts["guide"] = guide.detach()
            total = total + self.guide * guide
        if self.hop_cost and self.joint and self.training:
            # Only as far as the answer is right: at first the chain has to find out what it needs.
            right = torch.softmax(logits.detach(), -1).gather(1, target[:, None]).squeeze(1)  # (B)
            count = (looks.weights.sum((1, 2)) * right**4).sum()
            parts["hops"] = count.detach()
            total = total + self._cost_of_a_fact() * count
        return Loss(total, torch.tensor(float(len(target)), device=target.device), parts)

    def _wanted(self, truth: Tokens, weights: Tensor) -> Tensor:
        """(B, K, S): hop k is to look at the k-th fact; with fewer facts than hops the last one again."""
        last = (truth.lengths - 1).clamp(min=0)[:, None]
        hops = torch.arange(self.hops, device=weights.device).clamp(max=truth.ids.shape[1] - 1)
        places = truth.ids.gather(1, torch.minimum(hops.expand(len(last), -1), last))  # (B, K)
        wanted = torch.zeros_like(weights).scatter(2, places.unsqueeze(-1), 1.0)
        return wanted * (truth.lengths > 0)[:, None, None]

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: object = None) -> Supported:
        logits, looks = self(memories, best=True)
        assert looks.facts is not None
        shown = looks.weights[:, -1:] if self.read == "last" else looks.weights.mean(1, keepdim=True)
        return Supported(
            torch.log_softmax(logits, -1), {self.story: shown}, looks.weights, looks.facts, self.story
        )
