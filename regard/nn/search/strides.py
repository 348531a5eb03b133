"""Strides: several steps of a search at a time, without synchronizing with the device in between.

A search that goes step by step asks the device after each step whether all outputs have ended, and the GPU
waits while the host launches dozens of small kernels. Here a stride of steps is captured as one graph
(`Replays`), for rows and positions rounded up to a bucket. After each stride the host checks once whether all
outputs have ended and all scores were finite. Finished rows leave between strides. The results equal those of
the step-by-step search. If a score is not finite, the step-by-step search runs instead and reports where.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.recording.buckets import rounded, rounded_rows
from regard.fast.recording.recordable import recordable, state_of, trusted
from regard.fast.recording.replay import plain_parts, recorder_of
from regard.nn.memory import Memory
from regard.nn.replacing import Replaces
from regard.nn.search.candidates import limited_top, normalizers
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Bounds
from regard.nn.search.stepper import Stepper
from regard.nn.search.token_by_token import TokenChoice, joined_steps, token_by_token
from regard.nn.search.unfinished import Unfinished
from regard.private import eager

STEPPERS = Replaces(Stepper)
FIRST, LATER = 8, 16
"""Maximal number of steps in the first stride of a search, and in later ones."""


def strides_of(steps: int) -> Iterator[tuple[int, int]]:
    """The first step of each stride, and its number of steps."""
    first = 0
    while first < steps:
        count = min(LATER if first else FIRST, steps - first)
        yield first, count
        first += count


def serves(stepper: Stepper, bounds: Bounds) -> bool:
    """Whether strides are possible: on CUDA in eager mode, with a single decoder that allows it (`in_strides`) and
    whose calls can be recorded, without dropout, prefix or imposed attention, and with memories without a
    hierarchy."""
    decoder = getattr(stepper, "decoder", None)
    return (
        stepper.lengths.is_cuda
        and eager()
        and len(stepper.lengths) > 0
        and STEPPERS.kind(stepper) is not None
        and isinstance(decoder, nn.Module)
        and getattr(decoder, "in_strides", False)
        and not decoder.training
        and stepper.truth is None
        and bounds.prefix is None
        and all(
            memory.override is None and memory.parent is None and memory.heads is None
            for memory in stepper.memories.values()
        )
        and not torch.cuda.is_current_stream_capturing()
        and recordable(decoder)
    )


def walk_fast(stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> Hypotheses:
    """Write until every hypothesis has ended, in strides if possible, else step by step."""
    if serves(stepper, bounds) and trusted(type(choice)):
        found = walk_in_strides(stepper, choice, bounds, hypotheses)
        if found is not None:
            return found
    return token_by_token(stepper, choice, steps=bounds.steps, bounds=bounds, hypotheses=hypotheses)


@dataclass(frozen=True)
class SearchedRows:
    """The constants of a search over some rows: their memories, padded to a bucket, and their limits.

    last     (B') the latest step at which a row ends
    widths   by memory, the number of positions without the padding of the bucket
    """

    memories: Mapping[str, Memory]
    last: Tensor
    widths: Mapping[str, int]

    @staticmethod
    def of(stepper: Stepper, bounds: Bounds) -> tuple[SearchedRows, Tensor]:
        """The searched rows, and the index (B') of each in the batch; padding repeats the first row."""
        rows = padded_rows(torch.arange(len(stepper.lengths), device=stepper.lengths.device))
        memories = {name: _widened(memory.select(rows)) for name, memory in stepper.memories.items()}
        widths = {name: memory.mask.shape[1] for name, memory in stepper.memories.items()}
        return SearchedRows(memories, bounds.last.index_select(0, rows), widths), rows

    def select(self, rows: Tensor) -> SearchedRows:
        memories = {name: memory.select(rows) for name, memory in self.memories.items()}
        return replace(self, memories=memories, last=self.last.index_select(0, rows))

    def narrowed(self, looks: Mapping[str, Tensor], rows: int) -> dict[str, Tensor]:
        """The attention (n, B', K, S') of a stride without padding, as a copy."""
        return {name: look[:, :rows, :, : self.widths[name]].clone() for name, look in looks.items()}


def padded_rows(rows: Tensor) -> Tensor:
    """The rows, padded to the next bucket with copies of the first."""
    lacking = rounded_rows(len(rows)) - len(rows)
    return rows if lacking == 0 else torch.cat([rows, rows[:1].expand(lacking)])


def _widened(memory: Memory) -> Memory:
    """Pad with masked positions to the next bucket; a grid keeps its shape."""
    positions = memory.mask.shape[1]
    lacking = rounded(positions, 8, 8) - positions
    if lacking == 0 or memory.layout == "grid":
        return memory
    pad = nn.functional.pad
    return replace(
        memory,
        values=pad(memory.values, (0, 0, 0, lacking)),
        mask=pad(memory.mask, (0, lacking)),
        keys=None if memory.keys is None else pad(memory.keys, (0, 0, 0, lacking)),
        verbatim=None if memory.verbatim is None else pad(memory.verbatim, (0, lacking)),
    )


@dataclass(frozen=True)
class Key:
    """The key of a captured stride, beside its shapes: the search, its limits, the addresses of the weights, and
    what else the decoder depends on."""

    search: Hashable
    limits: tuple[Any, ...]
    weights: tuple[int, ...]
    decoder: Hashable
    timeless: bool

    @staticmethod
    def of(stepper: Stepper, bounds: Bounds, search: Hashable) -> Key:
        decoder: Any = stepper.decoder
        limits = (stepper.begin, stepper.end, bounds.minimum, bounds.forbidden)
        weights = tuple(parameter.data_ptr() for parameter in decoder.parameters())
        return Key(search, limits, weights, state_of(decoder), getattr(decoder, "timeless", False))

    def at(self, state: Any, count: int, *, late: bool) -> Hashable:
        """The key of one stride: its number of steps, and the position if the decoder depends on it."""
        return (self, count, late, None if self.timeless else plain_parts(state))


@dataclass(frozen=True)
class Walking:
    """The state of a walk between two strides; `at` () is the number of steps taken."""

    memories: Mapping[str, Memory]
    state: Any
    words: Tensor
    done: Tensor
    last: Tensor
    at: Tensor
    given: Tensor | None


def walk_in_strides(
    stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1
) -> Hypotheses | None:
    """`token_by_token` in strides; None if a score was not finite."""
    decoder: Any = stepper.decoder
    recorder = recorder_of(decoder)
    with torch.inference_mode(False), torch.no_grad(), recorder.lock:
        searched_rows, rows = SearchedRows.of(stepper, bounds)
        unfinished = Unfinished.all(len(stepper.lengths), stepper.lengths.device)
        words = torch.full((len(rows), hypotheses), stepper.begin, device=rows.device)
        state = decoder.start(searched_rows.memories)
        if hypotheses > 1:
            state = state.reorder(torch.zeros_like(words))
        done = (torch.arange(len(rows), device=rows.device) >= len(unfinished))[:, None].expand_as(words)
        at = torch.zeros((), dtype=torch.int64, device=rows.device)
        written: list[tuple[Unfinished, Tensor]] = []
        scores: list[tuple[Unfinished, Tensor]] = []
        looks: dict[str, list[tuple[Unfinished, Tensor]]] = {}
        key = Key.of(stepper, bounds, _name(choice))
        for step, length in strides_of(bounds.steps):
            late = step + length > bounds.extent[0]
            given = _padded_given(choice.given(unfinished, step, length), len(words))
            run = partial(_walk, stepper, choice, bounds, length, late)
            walking = Walking(searched_rows.memories, state, words, done, searched_rows.last, at, given)
            here = key.at(state, length, late=late)
            state, words, done, at, found, flags = recorder.replays(here, run, walking)
            count, (ended, sound) = len(unfinished), flags.tolist()
            if not sound:
                return None
            ended -= len(words) - count
            written.append((unfinished, found["words"][:, :count].clone()))
            scores.append((unfinished, found["scores"][:, :count].clone()))
            for name, look in searched_rows.narrowed(found["looks"], count).items():
                looks.setdefault(name, []).append((unfinished, look))
            if ended == count:
                break
            if unfinished.worth_leaving(ended):
                kept = (~done.all(1)).nonzero().squeeze(1)
                unfinished, chosen = unfinished.select(kept), padded_rows(kept)
                searched_rows, state, words = (
                    searched_rows.select(chosen),
                    state.select(chosen),
                    words.index_select(0, chosen),
                )
                done = done.index_select(0, chosen).clone()
                done[len(kept) :] = True
        return joined_steps(written, scores, looks, stepper.end).cut()


def _name(choice: TokenChoice) -> Hashable:
    """A choice as part of a key: its type and its plain options."""
    options = {name: value for name, value in vars(choice).items() if isinstance(value, (int, float, str))}
    return (type(choice), *options.items())


def _padded_given(given: Tensor | None, rows: int) -> Tensor | None:
    if given is None or given.shape[1] == rows:
        return given
    return nn.functional.pad(given, (0, 0, 0, rows - given.shape[1]))


def _walk(
    stepper: Stepper, choice: TokenChoice, bounds: Bounds, length: int, late: bool, walking: Walking
) -> tuple[Any, ...]:
    """`length` steps: the state of the walk after them, the written tokens, and (number of rows that have
    ended, whether all scores were finite)."""
    decoder: Any = stepper.decoder
    state, words, done, at = walking.state, walking.words, walking.done, walking.at
    bounds = replace(bounds, last=walking.last)
    sound = torch.ones_like(done)
    written, scores, looks = [], [], []
    for i in range(length):
        step = decoder.step(words, state, walking.memories)
        state, logits = step.state, step.logits
        if choice.most_probable:
            normalizer, best, chosen = limited_top(logits, bounds, at, 1, late=late)
            words, score = chosen.squeeze(-1), best.squeeze(-1) - normalizer
        else:
            normalizer = normalizers(logits)
            logits = bounds.apply_on_device(logits, at, late=late)
            words = choice.choose(logits, None if walking.given is None else walking.given[i])
            score = logits.gather(-1, words.unsqueeze(-1)).squeeze(-1) - normalizer
        sound = sound & ((score - score == 0) | done)
        done, at = done | (words == stepper.end), at + 1
        written.append(words)
        scores.append(score)
        looks.append(step.looks)
    found = {
        "words": torch.stack(written),
        "scores": torch.stack(scores),
        "looks": by_step(looks, words.shape[1]),
    }
    flags = torch.stack([done.all(1).sum(), sound.all().to(torch.int64)])
    return state, words, done, at, found, flags


def by_step(looks: list[Mapping[str, Tensor]], size: int) -> dict[str, Tensor]:
    """(n, B, K, S) by memory: the attention of each step, expanded to K if a step had one hypothesis."""
    return {name: torch.stack([look[name].expand(-1, size, -1) for look in looks]) for name in looks[0]}
