"""Attention: score, select, read. All attention in the package goes through this module."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.path import faster
from regard.nn.products import weighted_sums
from regard.nn.scores import AnyScore, AttentionScore, make_score
from regard.nn.selections import (
    NOTHING,
    AnySelection,
    Given,
    SampledTraining,
    Selection,
    make_selection,
)
from regard.nn.symbols import LookSymbols
from regard.parts import NotNegative
from regard.parts.definition import remember
from regard.private import tensor_node


@tensor_node()
@dataclass(frozen=True)
class Look:
    """The result of T queries: context (B, T, D), weights (B, T, S), scores (B, T, S).

    drawn   (B, T, S) the weights that multiplied the values, if positions were sampled
    """

    context: Tensor
    weights: Tensor
    scores: Tensor
    drawn: Tensor | None = None


@remember
class Attention(nn.Module):
    """Attention over a memory: where a query looks, and the vector that it reads there.

        e = score(q, keys)          how well each position agrees with the query
        α = select(e)               the distribution over where to look, as marginals
        c = Σ_s α_s · values_s      the expected reading; sigmoid and segments divide it by γ = (1/λ) Σ_s α_s

    A call leaves no state behind: compute the keys once per sequence with `keys` and pass them in. K
    hypotheses about one source are K queries to one memory. What a memory's `override` imposes
    replaces α, or takes parts of it away.
    """

    class Options(parts.Settings):
        """How a decoder looks at a memory: score, select, read."""

        score: AnyScore = "additive"
        """Function that scores how well a query and a position agree."""
        select: AnySelection = "softmax"
        """Distribution over positions, computed from the scores."""
        over: str | None = None
        """The input to attend to; default: the only one, or each of several if the decoder can."""
        guide: NotNegative = 0.0
        """Weight of the guided-attention loss, the cross-entropy of the selection and the true alignment."""
        truth: str | None = None
        """The truth column with the alignment; default: the only one that fits."""

        moved = {
            "size": "score: {type: additive, size: …}",
            "filters": "score: {type: location, filters: …}",
            "reach": "score: {type: location, reach: …}",
            "window": "select: {type: local, window: …}",
            "centre": "select: {type: local, center: …}",
            "normalize": "select: {type: sigmoid, normalize: …} or {type: segments, normalize: …}",
            "decay": "select: {type: segments, decay: …}",
            "hard": "select: {type: hard, …}",
        }

    def __init__(
        self,
        query_size: int,
        value_size: int,
        *,
        score: AttentionScore | str = "additive",
        select: Selection | str = "softmax",
        key_size: int | None = None,
    ) -> None:
        super().__init__()
        self.query_size, self.value_size = query_size, value_size
        self.score = (
            score
            if isinstance(score, AttentionScore)
            else make_score(score, query_size, key_size or value_size)
        )
        self.select = select if isinstance(select, Selection) else make_selection(select, query_size)

    @classmethod
    def build(cls, options: Any, query_size: int, source: Any) -> Attention:
        """The attention with these options over the memory of `source`, an encoder."""
        key_size = getattr(source, "key_size", None)
        return cls(
            query_size,
            source.value_size,
            score=make_score(options.score, query_size, key_size or source.value_size),
            select=make_selection(options.select, query_size),
            key_size=key_size,
        )

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        """Score, select, read, as they are computed."""
        select = options.select.part
        scored = options.score.part.equations(options.score, look) if select.learns else []
        chosen = select.equations(options.select, look)
        return [*scored, *chosen, *select.read_equations(options.select, look)]

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        """The letters of the score and of the selection."""
        score, select = options.score.part, options.select.part
        return under("score", score.letters(options.score, look)) | under(
            "select", select.letters(options.select, look)
        )

    def keys(self, memory: Memory) -> Tensor:
        """(B, S, A): the keys that the score compares with queries, computed once per sequence."""
        return self.score.keys(memory.values if memory.keys is None else memory.keys)

    def forward(
        self, query: Tensor, memory: Memory, keys: Tensor | None = None, given: Given = NOTHING
    ) -> Look:
        """query (B, T, Q)."""
        scores = self.score(query, self.keys(memory) if keys is None else keys, given.previous)
        if not torch.compiler.is_compiling() and self in _watched.scores:
            _watched.scores[self].append(scores)
        return self.look(scores, memory, replace(given, query=query))

    def look(
        self, scores: Tensor, memory: Memory, given: Given = NOTHING, *, select: Selection | None = None
    ) -> Look:
        """Select and read, from scores (B, T, S); the memory's values may differ by query, (B, T, S, D).

        select   selection to use instead of `self.select`
        """
        select = self.select if select is None else select
        mask = memory.mask if given.allowed is None else memory.mask.unsqueeze(1) & given.allowed
        if given.truth is None and memory.override is not None:
            given = replace(given, truth=memory.override.rows)  # whoever says where to look is the oracle
        weights = select(scores, mask, given)
        if memory.override is not None:
            if memory.override.segments is not None:
                weights = select.under_rules(weights, scores, mask, memory.override.segments, given.step)
            weights = memory.override.on(weights, given.step, renormalized=select.renormalized)
        if given.drawing is not None and select.draws:
            drawn = select.draw(weights, given.drawing)
            return Look(_read(drawn, memory.values), weights, scores, drawn)
        return Look(_read(select.reading(weights), memory.values), weights, scores)


class _Watched(threading.local):
    """The scores that attentions compute in a thread, where someone watches them."""

    def __init__(self) -> None:
        self.scores: dict[nn.Module, list[Tensor]] = {}


_watched = _Watched()


@contextmanager
def watching(attentions: Iterable[nn.Module]) -> Iterator[Mapping[nn.Module, list[Tensor]]]:
    """The scores (B, T, S) of every call of these attentions in this thread, in order."""
    mine: dict[nn.Module, list[Tensor]] = {one: [] for one in attentions}
    before = _watched.scores
    _watched.scores = {**before, **mine}
    try:
        yield mine
    finally:
        _watched.scores = before


def _read(weights: Tensor, values: Tensor) -> Tensor:
    """(B, T, S) and (B, S, D), or (B, T, S, D) if each query has its own values → (B, T, D)."""
    if values.ndim == 3:
        found: Tensor | None = faster("attention.read", weights.device, weights, values)
        return weights.to(values.dtype) @ values if found is None else found
    return torch.stack(
        [weighted_sums(weights[:, t : t + 1], values[:, t]).squeeze(1) for t in range(values.shape[1])], 1
    )


@dataclass(frozen=True)
class Constants:
    """What looks at the memories need beside their queries, the same at all steps and for all hypotheses.

    keys       by attended memory, (B, S, A)
    truth      by attended memory, (B, T, S), if the true alignment is given
    drawing    (B) the rows that sample their attention, in training
    """

    keys: Mapping[str, Tensor]
    truth: Mapping[str, Tensor] | None = None
    drawing: Tensor | None = None

    def select(self, rows: Tensor) -> Constants:
        """Those of some of the sources, (B') int64."""
        return replace(
            self,
            keys=selected(self.keys, rows),
            truth=None if self.truth is None else selected(self.truth, rows),
            drawing=None if self.drawing is None else self.drawing.index_select(0, rows),
        )


def selected(tensors: Mapping[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """Some rows of each tensor, (B') int64."""
    return {name: tensor.index_select(0, rows) for name, tensor in tensors.items()}


@dataclass(frozen=True)
class Read:
    """The result of T queries to all memories.

    context   (B, T, context_size)
    weights   (B, T, S) by memory
    drawn     (B, T, S) the weights that multiplied the values, for the memories whose positions were sampled
    """

    context: Tensor
    weights: dict[str, Tensor]
    drawn: dict[str, Tensor]


def joined(steps: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Concatenate steps (B, 1, S) by name: (B, T, S)."""
    return {name: torch.cat([step[name] for step in steps], 1) for name in (steps[0] if steps else ())}


@remember
class Reading(nn.Module):
    """One `Attention` for each attended memory; their contexts are concatenated, (B, T, context_size).

    gated   the memories whose context is scaled by a gate of the query q: β c, β = σ(w·q + b) (Xu 2015)
    """

    def __init__(self, attentions: Mapping[str, Attention], gated: Collection[str] = ()) -> None:
        super().__init__()
        self.attentions = nn.ModuleDict(attentions)
        self.gates = nn.ModuleDict({name: nn.Linear(attentions[name].query_size, 1) for name in gated})
        self.names = tuple(attentions)
        self.draws = any(attention.select.draws for attention in attentions.values())
        self.context_size = sum(attention.value_size for attention in attentions.values())

    @property
    def drawing(self) -> SampledTraining:
        """How the selections that sample are trained, the same for all of them."""
        selections = [self.attention(name).select for name in self.names]
        return next(one.drawing for one in selections if one.draws)

    def attention(self, name: str) -> Attention:
        return cast(Attention, self.attentions[name])

    def structured(self) -> dict[str, Attention]:
        """The attentions whose selections have a structure to show, by memory."""
        return {name: self.attention(name) for name in self.names if self.attention(name).select.structured}

    @property
    def remembering(self) -> tuple[str, ...]:
        """The memories whose score depends on earlier looks."""
        return tuple(name for name in self.names if "previous" in self.attention(name).score.needs)

    def first_looks(self, memories: Mapping[str, Memory]) -> dict[str, Tensor]:
        """(B, 1, S) the history of the `remembering` memories before the first step."""
        return {
            name: self.attention(name).score.first(memories[name].values[..., 0].unsqueeze(1))
            for name in self.remembering
        }

    def remember(self, looks: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """(B, K, S) the history of the `remembering` memories after a step with these weights."""
        return {
            name: self.attention(name).score.remember(known, weights[name]) for name, known in looks.items()
        }

    def keys(self, memories: Mapping[str, Memory]) -> dict[str, Tensor]:
        return {name: self.attention(name).keys(memories[name]) for name in self.names}

    def forward(
        self,
        query: Tensor,
        memories: Mapping[str, Memory],
        constants: Constants | None = None,
        step: int | None = None,
        previous: Mapping[str, Tensor] | None = None,
    ) -> Read:
        """query (B, T, Q) → the result of all attentions."""
        constants = Constants(self.keys(memories)) if constants is None else constants
        truth, previous = constants.truth or {}, previous or {}
        looks = {
            name: self.attention(name)(
                query,
                memories[name],
                constants.keys[name],
                Given(truth.get(name), step, previous.get(name), drawing=constants.drawing),
            )
            for name in self.names
        }
        contexts = [
            torch.sigmoid(self.gates[name](query)) * look.context if name in self.gates else look.context
            for name, look in looks.items()
        ]
        context = contexts[0] if len(contexts) == 1 else torch.cat(contexts, -1)
        drawn = {name: look.drawn for name, look in looks.items() if look.drawn is not None}
        return Read(context, {name: look.weights for name, look in looks.items()}, drawn)
