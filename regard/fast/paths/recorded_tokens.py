"""Greedy search and sampling on CUDA: several steps captured as one graph (see `chunks`)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.fast import chunks
from regard.fast.allowed import Obeyed, allow, allowed_top, unconstrained
from regard.fast.chunks import Key, SearchedRows, by_step, chunks_of, padded_rows
from regard.fast.recording.recordable import trusted
from regard.fast.recording.replay import recorder_of
from regard.nn.memory import Memory
from regard.nn.path import Path
from regard.nn.search.hypotheses import Hypotheses, Unfinished
from regard.nn.search.stepper import Bounds, Stepper
from regard.nn.search.token_by_token import TokenChoice, joined_steps
from regard.nn.stepping import in_a_line
from regard.parts import register


@register("path", "recorded-tokens")
class RecordedTokens(Path):
    """Greedy search and sampling on CUDA: several steps captured as one graph."""

    serves = "search.tokens"
    devices = ("cuda",)
    rank = 20

    def takes(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> bool:
        return trusted(type(choice)) and chunks.takes(stepper, bounds)

    def why_not(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> str:
        if not trusted(type(choice)):
            return "Another package chooses the tokens."
        return chunks.lacks(stepper, bounds)

    def run(
        self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1
    ) -> Hypotheses | None:
        return written_in_chunks(stepper, choice, bounds, hypotheses)


@dataclass(frozen=True)
class Writing:
    """The state of a search between two chunks; `at` () is the number of steps taken."""

    memories: Mapping[str, Memory]
    state: Any
    words: Tensor
    done: Tensor
    last: Tensor
    at: Tensor
    given: Tensor | None
    states: Tensor | None = None


def written_in_chunks(
    stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1
) -> Hypotheses | None:
    """`token_by_token` in chunks; None if a score was not finite."""
    decoder: Any = unconstrained(stepper).decoder
    recorder = recorder_of(decoder)
    with torch.inference_mode(False), torch.no_grad(), recorder.lock:
        searched_rows, rows = SearchedRows.of(stepper, bounds)
        unfinished = Unfinished.all(len(stepper.lengths), stepper.lengths.device)
        words = torch.full((len(rows), hypotheses), stepper.begin, device=rows.device)
        state = in_a_line(decoder.start(searched_rows.memories))
        if hypotheses > 1:
            state = state.reorder(torch.zeros_like(words))
        done = (torch.arange(len(rows), device=rows.device) >= len(unfinished))[:, None].expand_as(words)
        at = torch.zeros((), dtype=torch.int64, device=rows.device)
        written: list[tuple[Unfinished, Tensor]] = []
        scores: list[tuple[Unfinished, Tensor]] = []
        looks: dict[str, list[tuple[Unfinished, Tensor]]] = {}
        obeyed = Obeyed.of(stepper, words)
        states = None if obeyed is None else obeyed.states
        key = Key.of(stepper, bounds, _name(choice), obeyed)
        for step, length in chunks_of(bounds.steps):
            late = step + length > bounds.extent[0]
            given = _padded_given(choice.given(unfinished, step, length), len(words))
            run = partial(_chunk, stepper, choice, bounds, length, late, obeyed)
            writing = Writing(
                searched_rows.memories, state, words, done, searched_rows.last, at, given, states
            )
            here = key.at(state, length, late=late)
            state, words, done, at, states, found, flags = recorder.replays(here, run, writing)
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
                states = None if states is None else states.index_select(0, chosen)
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


def _chunk(
    stepper: Stepper,
    choice: TokenChoice,
    bounds: Bounds,
    length: int,
    late: bool,
    obeyed: Obeyed | None,
    writing: Writing,
) -> tuple[Any, ...]:
    """`length` steps: the state of the search after them, the written tokens, and (number of rows that have
    ended, whether all scores were finite)."""
    decoder: Any = unconstrained(stepper).decoder
    state, words, done, at = writing.state, writing.words, writing.done, writing.at
    bounds = replace(bounds, last=writing.last)
    sound, states = torch.ones_like(done), writing.states
    written, scores, looks = [], [], []
    for i in range(length):
        step = decoder.step(words, state, writing.memories)
        state, logits = step.state, step.logits
        now = None if obeyed is None or states is None else replace(obeyed, states=states)
        if choice.most_probable:
            normalizer, best, chosen, _ = allowed_top(logits, bounds, at, 1, late=late, obeyed=now)
            words, score = chosen.squeeze(-1), best.squeeze(-1) - normalizer
        else:
            normalizer = logits.logsumexp(-1)
            logits = allow(bounds, logits, at, late=late, obeyed=now)
            words = choice.choose(logits, None if writing.given is None else writing.given[i])
            score = logits.gather(-1, words.unsqueeze(-1)).squeeze(-1) - normalizer
        sound = sound & ((score - score == 0) | done)
        done, at = done | (words == stepper.end), at + 1
        states = None if now is None else now.table.follow(now.states, words)
        written.append(words)
        scores.append(score)
        looks.append(step.looks)
    found = {
        "words": torch.stack(written),
        "scores": torch.stack(scores),
        "looks": by_step(looks, words.shape[1]),
    }
    flags = torch.stack([done.all(1).sum(), sound.all().to(torch.int64)])
    return state, words, done, at, states, found, flags
