"""The structures behind a trace: the distributions a decoder looked by, their best values and samples.

A search keeps the weights alone. Who wants to look closer has the best answer written once more, and each attention
asked for the scores its weights came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import BEGIN
from regard.nn.decoders import Labels, ParsedTrees
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.search import Hypotheses
from regard.nn.segments import Segments
from regard.prediction import Prediction
from regard.trace import Arcs, Trace
from regard.trace import Segments as DrawnSegments


def with_structures(
    answers: Sequence[Prediction],
    found: Any,
    decoder: Any,
    encode: Callable[[], Mapping[str, Memory]],
    *,
    samples: int = 0,
    seed: int = 1,
) -> list[Prediction]:
    """The answers, their traces holding the segments each step looked at; as they are where nothing is segmental.

    encode    gives the memories the decoder read; called only where they are needed
    samples   how many segmentations to draw for each step, or how many trees for each sentence
    """
    if isinstance(found, ParsedTrees):
        return _with_trees(answers, found, samples, seed) if samples else list(answers)
    reading = getattr(decoder, "reading", None)
    attentions = {name: reading.attention(name) for name in reading.names} if reading else {}
    segmental = {name: one for name, one in attentions.items() if isinstance(one.select, Segments)}
    if not segmental:
        return list(answers)
    memories = encode()
    if any(memories[name].told is not None for name in segmental):
        return list(answers)  # where it looked was not its own choice
    scores = scores_during(segmental, lambda: write_again(found, decoder, memories))  # (B, T, S) by name
    generator = torch.Generator(memories[next(iter(segmental))].mask.device).manual_seed(seed)
    drawn: dict[str, tuple[Any, Any]] = {}
    for name, one in segmental.items():
        chains = one.select.structure(scores[name], memories[name].mask)
        drawn[name] = (
            chains.mode.cpu().numpy(),  # (B, T, S)
            chains.sample((samples,), generator=generator).cpu().numpy() if samples else None,  # (K, B, T, S)
        )
    return [
        answer if answer.trace is None else replace(answer, trace=_looked_into(answer.trace, drawn, row))
        for row, answer in enumerate(answers)
    ]


def _with_trees(
    answers: Sequence[Prediction], found: ParsedTrees, samples: int, seed: int
) -> list[Prediction]:
    generator = torch.Generator(found.heads.device).manual_seed(seed)
    drawn = found.distribution.sample((samples,), generator=generator)  # (K, B, N+1, N+1)
    heads = found.distribution.heads(drawn).cpu().numpy()  # (K, B, N)
    shown = []
    for row, answer in enumerate(answers):
        if answer.trace is not None:
            structures = {
                name: replace(tree, samples=heads[:, row, : len(tree.heads)])
                if isinstance(tree, Arcs)
                else tree
                for name, tree in answer.trace.structures.items()
            }
            answer = replace(answer, trace=replace(answer.trace, structures=structures))
        shown.append(answer)
    return shown


def scores_during(attentions: Mapping[str, Any], call: Callable[[], Any]) -> dict[str, Tensor]:
    """What each attention's scores were in the course of a call, one step after another, (B, T, S)."""
    seen: dict[str, list[Tensor]] = {name: [] for name in attentions}
    hooks = [
        one.register_forward_hook(lambda _, __, look, kept=seen[name]: kept.append(look.scores))
        for name, one in attentions.items()
    ]
    try:
        call()
    finally:
        for hook in hooks:
            hook.remove()
    return {name: torch.cat(steps, 1) for name, steps in seen.items()}


@singledispatch
def write_again(found: Any, decoder: Any, memories: Mapping[str, Memory]) -> None:
    """Have the decoder come to what it found once more, by its plain way."""
    raise TypeError(found)


@write_again.register(Hypotheses)
def _text(found: Hypotheses, decoder: Any, memories: Mapping[str, Memory]) -> None:
    tokens, lengths = found.tokens[:, 0], found.lengths[:, 0]  # (B, T), (B,)
    previous = torch.cat([torch.full_like(tokens[:, :1], BEGIN), tokens[:, :-1]], 1)
    decoder.unroll_plain(memories, previous, Packing.of(lengths, tokens.shape[1]))


@write_again.register(Labels)
def _label(found: Labels, decoder: Any, memories: Mapping[str, Memory]) -> None:
    decoder(memories)


def _looked_into(trace: Trace, drawn: Mapping[str, tuple[Any, Any]], row: int) -> Trace:
    structures = dict(trace.structures)
    for name, (best, samples) in drawn.items():
        weights = trace.attention[name]
        height, width = weights.shape
        truth = trace.truth.get(name)
        structures[name] = DrawnSegments(
            weights,
            best=best[row, :height, :width],
            truth=None if truth is None else (np.asarray(truth) > 0).astype(np.int64),
            samples=None if samples is None else samples[:, row, :height, :width],
        )
    return replace(trace, structures=structures)
