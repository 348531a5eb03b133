"""Label decoder: one answer for the whole input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention
from regard.nn.combining import Beside, Combine, Gated
from regard.nn.decoders.base import Source, Truth, truth_by_name
from regard.nn.decoders.reading import Reading
from regard.nn.guide import guide_total
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.stepping import Constants
from regard.nn.whereabouts import axes, whereabouts


@dataclass(frozen=True)
class Labels:
    """log_probabilities (B, C) and where the decoder looked, (B, K, S) by name: a row for each glimpse."""

    log_probabilities: Tensor
    attention: dict[str, Tensor]

    @property
    def value(self) -> Tensor:
        """(B) the most probable label."""
        return self.log_probabilities.argmax(-1)

    @property
    def scores(self) -> Tensor:
        """(B) its log-probability."""
        return self.log_probabilities.amax(-1)


def wanted(truth: Tensor, glimpses: int) -> Tensor:
    """(B, K, S): the rows given, and the first one for every glimpse that has none of its own."""
    own = nn.functional.pad(truth, (0, 0, 0, glimpses - truth.shape[1]))
    return torch.where((own > 0).any(-1, keepdim=True), own, truth[:, :1])


class LabelDecoder(nn.Module):
    """p(y | x) = softmax(V s + b), or with `hidden` softmax(V h + b), where h is

        beside   relu(W s + c)
        gated    what is asked gates every other part of s, each on its own (`Gated`)

    Without attention, s is the summary of every source, side by side. With it, s is the contexts of the attended
    memories beside the summaries of the others. The query is learned, or the summary of the source named by `query`.
    Several `glimpses` have a query each, q_k = W_k q, and s holds what each of them read. Where the right places are
    known, row k of the truth is that of glimpse k, and row 0 that of every glimpse without one.

    whole           the summaries of the attended memories too, for what no glimpse tells: how many there are
    where           where each glimpse looked, and how that lies to the one before: left of it, above
    class_weights   (C) how much a mistake about each class costs; the mean is over the weights
    """

    class_weights: Tensor | None

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        attention: Mapping[str, Attention] | None = None,
        query: str | None = None,
        glimpses: int = 1,
        whole: bool = False,
        where: bool = False,
        hidden: int | None = None,
        combine: Combine = "beside",
        dropout: float = 0.0,
        class_weights: Tensor | None = None,
        guide: float = 0.0,
    ) -> None:
        super().__init__()
        self.reading = Reading(attention) if attention else None
        self.query_name, self.glimpses, self.guide, self.where = query, glimpses, guide, where
        attended = self.reading.names if self.reading else ()
        self.whole = whole
        self.summarised = tuple(name for name in sources if name not in attended)
        self.asking = query or (self.summarised[-1] if self.summarised else None)
        self.query: nn.Parameter | None = None
        self.asks: nn.Linear | None = None
        sizes = []
        if self.reading is not None and attention is not None:
            sizes.append(glimpses * self.reading.context_size)
            query_size = attention[attended[0]].query_size
            if query is None:
                self.query = nn.Parameter(torch.randn(glimpses, query_size) * 0.1)
            elif glimpses > 1:
                self.asks = nn.Linear(sources[query].summary_size, glimpses * query_size)
            if where:
                sizes += [
                    (2 * glimpses - 1) * axes(getattr(sources[name], "grid", None)) for name in attended
                ]
            if whole:
                sizes += [sources[name].summary_size for name in attended]
        sizes += [sources[name].summary_size for name in self._told()]
        asking = 0 if self.asking is None else sources[self.asking].summary_size
        self.hidden: Beside | Gated | None = None
        if hidden is not None:
            self.hidden = (Gated if combine == "gated" else Beside)(sizes, asking, hidden)
        self.output = nn.Linear(sum(sizes) + asking if self.hidden is None else self.hidden.size, classes)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("class_weights", class_weights, persistent=False)

    def _told(self) -> list[str]:
        """The inputs whose summaries are told, without the one that asks."""
        return [name for name in self.summarised if name != self.asking]

    def forward(
        self, memories: Mapping[str, Memory], *, truth: Truth = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits (B, C) and the looks of the K glimpses, (B, K, S) by name."""
        parts = []
        looks: dict[str, Tensor] = {}
        if self.reading is not None:
            known = truth_by_name(truth, self.reading.names)
            rows = {name: wanted(table, self.glimpses) for name, table in known.items()}
            constants = Constants(self.reading.keys(memories), truth=rows)
            read = self.reading(self._queries(memories), memories, constants)  # a row for each glimpse
            looks = read.weights
            parts.append(read.context.flatten(1))
            if self.where:
                parts += [whereabouts(weights, memories[name]) for name, weights in looks.items()]
            if self.whole:
                parts += [memories[name].summary for name in looks]
        parts = [self.dropout(part) for part in (*parts, *(memories[name].summary for name in self._told()))]
        nothing = parts[0][:, :0] if parts else None
        asking = nothing if self.asking is None else self.dropout(memories[self.asking].summary)
        assert asking is not None
        if self.hidden is None:
            return self.output(torch.cat([*parts, asking], -1)), looks
        return self.output(self.dropout(self.hidden(parts, asking))), looks

    def _queries(self, memories: Mapping[str, Memory]) -> Tensor:
        """(B, K, Q), one for each glimpse."""
        if self.query_name is None:
            rows = len(next(iter(memories.values())).mask)
            return cast(Tensor, self.query).expand(rows, -1, -1)
        asking = memories[self.query_name].summary
        if self.asks is None:
            return asking.unsqueeze(1)
        asked: Tensor = self.asks(asking).unflatten(1, (self.glimpses, -1))
        return asked

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B) int64; truth (B, 1 to K, S), where the right places to look are known."""
        logits, looks = self(memories, truth=truth)
        total = nn.functional.cross_entropy(logits, target, weight=self.class_weights, reduction="sum")
        if self.class_weights is None:
            count = torch.tensor(float(len(target)), device=target.device)
        else:
            count = self.class_weights[target].sum()
        parts = {"likelihood": total.detach()}
        if truth is not None and self.guide and self.reading is not None:
            for name, alignment in truth_by_name(truth, self.reading.names).items():
                guide = guide_total(wanted(alignment, self.glimpses), looks[name]) / self.glimpses
                parts["guide"] = parts.get("guide", torch.zeros_like(guide)) + guide.detach()
                total = total + self.guide * guide
        return Loss(total, count, parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Labels:
        logits, looks = self(memories, truth=truth)
        return Labels(torch.log_softmax(logits, -1), looks)
