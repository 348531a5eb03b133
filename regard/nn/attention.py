"""Attention: score, select, read. All attention in the package goes through this module."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.path import faster
from regard.nn.products import weighted_sums
from regard.nn.scores import AnyScore, AttentionScore, make_score
from regard.nn.selections import NOTHING, AnySelection, Given, Selection, make_selection, rows_at
from regard.nn.symbols import LookSymbols
from regard.parts import Mistakes, NotNegative, Plan, names, part
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


class Attention(nn.Module):
    """Attention over a memory: where a query looks, and the vector that it reads there.

        e = score(q, keys)          how well each position agrees with the query
        α = select(e)               the distribution over where to look, as marginals
        c = Σ_s α_s · values_s      the expected reading; sigmoid and segments divide it by γ = (1/λ) Σ_s α_s

    A call leaves no state behind: compute the keys once per sequence with `keys` and pass them in. K
    hypotheses about one source are K queries to one memory. The rows that a memory's `override` sets replace
    those of α.
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
        return self.score.keys_of(memory)

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
        weights = select(scores, mask, given)
        if memory.override is not None:
            imposed = rows_at(memory.override, given.step, scores)
            weights = torch.where((imposed > 0).any(-1, keepdim=True), imposed, weights)
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


def truths_about(plan: Plan, source: str, output: str, types: Collection[str]) -> dict[str, Any]:
    """The truth columns of these types that say where in `source` the decoder of `output` should look."""
    return {
        name: truth
        for name, truth in plan.truth.items()
        if truth.part.can_be(*types) and truth.part.between(truth, plan) == (source, output)
    }


def check_attention(
    options: Any,
    mistakes: Mistakes,
    *,
    user: str,
    gives: Collection[str],
    together: bool,
    truths: Mapping[str, Any] | None,
    truth_type: str = "alignment",
) -> None:
    """Refuse a score or selection whose needs its user cannot meet.

    user       name of the part that attends, as used in messages: "a recurrent decoder"
    gives      fields of `Given` that the user provides
    together   whether all queries are known at once, as a joint selection needs
    truths     truth columns that say where the user should look; None if there cannot be any
    truth_type type of the truth column to suggest if there is none
    """
    lacking = sorted(options.score.part.needs - set(gives))
    if lacking:
        mistakes.add(
            f"score: {options.score.type} needs {_WORDS.get(lacking[0], lacking[0])}, which {user} does not provide.",
            "score",
            fix=f"Choose one of {', '.join(_fitting('score', gives, together))}.",
        )
    select = options.select.part
    if not select.learns and "score" in options.model_fields_set:
        mistakes.add(
            f"score has no effect: select: {options.select.type} does not use scores.",
            "score",
            fix="Leave score out, or choose select: softmax.",
        )
    lacking = sorted(select.needs - set(gives))
    apart = select.joint == "queries" and not together
    if lacking or apart:
        why = "all queries at once" if apart else _WORDS.get(lacking[0], lacking[0])
        mistakes.add(
            f"select: {options.select.type} needs {why}, which {user} does not provide.",
            "select",
            fix=f"Choose one of {', '.join(_fitting('selection', gives, together))}.",
        )
    _check_truth(options, mistakes, user=user, truths=truths, truth_type=truth_type)


def _check_truth(
    options: Any, mistakes: Mistakes, *, user: str, truths: Mapping[str, Any] | None, truth_type: str
) -> None:
    select = options.select.part
    if options.guide and select.unguided:
        mistakes.add(
            f"guide cannot be used with select: {options.select.type}: {select.unguided}.",
            "guide",
            fix="Use select: softmax or local, or leave guide out.",
        )
        return
    needing = (
        "guide" if options.guide else f"select: {options.select.type}" if "truth" in select.needs else ""
    )
    if options.truth is not None and not needing:
        mistakes.add(
            "truth names an alignment that neither guide nor the selection uses.",
            "truth",
            fix="Add  guide: 1.0, or leave truth out.",
        )
    if not needing:
        return
    if truths is None:
        mistakes.add(
            f"{needing} needs a true alignment, and {user} cannot have one for this input.",
            "guide" if options.guide else "select",
            fix="Leave guide out." if options.guide else "Choose select: softmax.",
        )
    elif not truths:
        mistakes.add(
            f"{needing} needs the {_TRUTHS[truth_type]}, and no truth column links this input to this output.",
            "guide" if options.guide else "select",
            fix=f"Add  truth: {{{truth_type}: {{type: {truth_type}}}}}  and a field `{truth_type}` to the data.",
        )
    elif options.truth is not None and options.truth not in truths:
        mistakes.add(
            f"no truth column {options.truth!r}.", "truth", fix=parts.nearest(options.truth, list(truths))
        )


_TRUTHS = {"alignment": "true alignment", "places": "true regions", "facts": "supporting facts"}
_WORDS = {
    "previous": "the attention weights of the previous step",
    "step": "the step number",
    "query": "the query",
    "transitions": "scores of consecutive choices",
    "heads": "a tree from the data",
    "words": "queries and keys from the same text",
    "costs": "the loss of the words after a sample",
    "truth": "the true alignment",
}


def _fitting(kind: str, gives: Collection[str], together: bool) -> list[str]:
    """The parts of a kind whose needs are all met."""
    found = {name: part(kind, name) for name in names(kind)}
    return [
        name
        for name, one in found.items()
        if one.needs <= set(gives) and (together or getattr(one, "joint", "") != "queries")
    ]
