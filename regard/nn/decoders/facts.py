"""Facts decoder: K looks into a story, one after the other or all at once, and then the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
Carry = Literal["keep", "beyond"]


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


def _chosen(several: Sequence[Tensor], which: Tensor) -> Tensor:
    """Row b of several[which[b]]."""
    return torch.stack(list(several))[which, torch.arange(len(which), device=which.device)]


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
    fewer          the question says how many facts it needs. Every chain over the last L hops, L = 2 … K, learns to
                   answer; N u + b learns what each of them costs, −log p_L(y); and the L with the least expected cost
                   is taken, where each fact costs `hop_cost` more: no more facts than the answer needs
    guide          weight of the loss between the hops and the true facts, −Σ_k log α_k[true z_k]; 0: never told
    carry          how H begins (hops alone). keep: I, a hop asks what the hop before asked, and for what it found;
                   beyond: −I, it asks for what was found beyond what had been asked
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
        self.joint = isinstance(attention.select, Facts)
        self.fewer = fewer and self.joint and hops > 2
        if self.joint:
            self.queries = nn.Linear(size, hops * size, bias=False)
            # at first, the first fact is what shares words with the question; the others follow from it
            self.queries.weight.data.view(hops, size, size).copy_(
                0.1 * self.queries.weight.view(hops, size, size)
            )
            self.queries.weight.data[:size] += torch.eye(size)
            if self.fewer:
                self.costs = nn.Linear(size, hops - 1)
            self.transitions = Transitions(hops - 1, size, width, size=rank, reach=reach, stay=stay)
        else:
            self.carry = nn.Linear(size, width, bias=False)
            self.carry.weight.data.copy_(torch.eye(width, size) * (1 if carry == "keep" else -1))
        if linear_start:
            # a buffer, so that a resumed run goes on where it stood
            self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.mix = nn.Linear(size + hops * width, 2 * width) if read == "all" else None
        self.output = nn.Linear(2 * width if read == "all" else width, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, memories: Mapping[str, Memory], *, best: bool = False) -> tuple[Tensor, Looks]:
        """Logits (B, C), and what was looked at; `best` asks for the chosen facts too."""
        query = memories[self.question].summary
        several = self._looks(memories, best)
        if len(several) == 1:
            return self._answer(query, several[0]), several[0]
        needed = self._needed(query)  # (B) which of `several`
        logits = _chosen([self._answer(query, looks) for looks in several], needed)
        weights, read, state = (
            _chosen([getattr(looks, part) for looks in several], needed)
            for part in ("weights", "read", "state")
        )
        facts = [looks.facts for looks in several if looks.facts is not None]
        return logits, Looks(weights, read, state, _chosen(facts, needed) if best else None)

    def _looks(self, memories: Mapping[str, Memory], best: bool) -> list[Looks]:
        """Those of every number of facts, from 2 to K; with K facts alone, or with softmax hops, one."""
        story, query = memories[self.story], memories[self.question].summary
        whole = story.values if story.keys is None else story.keys
        keys, values = self._by_hop(whole), self._by_hop(story.values)
        look = self._chains if self.joint else self._one_by_one
        return look(query, keys, values, story.mask, best)

    def _answer(self, query: Tensor, looks: Looks) -> Tensor:
        if self.read == "last":
            found = looks.read[:, -1]
        elif self.mix is None:
            found = looks.state
        else:
            found = torch.relu(self.mix(torch.cat([query, looks.read.flatten(1)], -1)))
        logits: Tensor = self.output(self.dropout(found))
        return logits

    def _by_hop(self, memory: Tensor) -> list[Tensor]:
        return [memory] * self.hops if self.tables == 1 else list(memory.chunk(self.tables, -1))

    def _chains(
        self, query: Tensor, keys: list[Tensor], values: list[Tensor], mask: Tensor, best: bool
    ) -> list[Looks]:
        asked = self.queries(query).view(len(query), self.hops, -1)  # (B, K, Q)
        score, select = self.attention.score, self.attention.select
        assert isinstance(select, Facts)
        scores = torch.cat([score(asked[:, k : k + 1], score.keys(keys[k])) for k in range(self.hops)], 1)
        transitions = self.transitions(query, keys)
        found = []
        for unused in range(self.hops - 2 if self.fewer else 0, -1, -1):  # hops before the first fact
            chain = select.chain(scores[:, unused:], mask, transitions[:, unused:])
            weights = nn.functional.pad(chain.node_marginals, (0, 0, unused, 0))  # (B, K, S)
            facts = nn.functional.pad(chain.mode.argmax(-1), (unused, 0), value=-1) if best else None
            read = self._read(weights, values)
            found.append(Looks(weights, read, query + read.sum(1), facts))
        return found

    def _one_by_one(
        self, query: Tensor, keys: list[Tensor], values: list[Tensor], mask: Tensor, best: bool
    ) -> list[Looks]:
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
        return [Looks(together, torch.stack(read, 1), state, facts)]

    def _read(self, weights: Tensor, values: list[Tensor]) -> Tensor:
        return torch.cat(
            [weighted_sums(weights[:, k : k + 1], values[k]) for k in range(self.hops)], 1
        )  # (B, K, D)

    def _is_linear(self) -> bool:
        return bool(self.linear_start and self.training and self.updates < self.linear_start)

    def loss(
        self, memories: Mapping[str, Memory], target: Tensor, *, truth: Mapping[str, Tokens] | None = None
    ) -> Loss:
        """target (B) int64; truth: the supporting facts by the story's name, used with `guide` alone."""
        if self.training and self.linear_start:
            self.updates += 1
        query = memories[self.question].summary
        several = self._looks(memories, False)
        answers = [self._answer(query, looks) for looks in several]
        costs = torch.stack(
            [nn.functional.cross_entropy(one, target, reduction="none") for one in answers], 1
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
        return Loss(total, torch.tensor(float(len(target)), device=target.device), parts)

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
        logits, looks = self(memories, best=True)
        assert looks.facts is not None
        shown = looks.weights[:, -1:] if self.read == "last" else looks.weights.mean(1, keepdim=True)
        return Supported(
            torch.log_softmax(logits, -1), {self.story: shown}, looks.weights, looks.facts, self.story
        )
