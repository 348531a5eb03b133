"""Beam search on CUDA: several steps captured as one graph (see `chunks`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import PAD
from regard.fast import chunks
from regard.fast.allowed import Obeyed, allowed_top, unconstrained
from regard.fast.chunks import Key, SearchedRows, by_step, chunks_of, padded_rows
from regard.fast.recording.replay import recorder_of
from regard.nn.memory import Memory
from regard.nn.path import Path, Replaces
from regard.nn.search.beam import Beam
from regard.nn.search.hypotheses import BackPointers, Finished, Hypotheses, Unfinished
from regard.nn.search.stepper import Bounds, Stepper, check_outputs
from regard.nn.stepping import in_a_line
from regard.parts import register
from regard.structures.kernels.availability import triton_takes

BEAMS = Replaces(Beam)
"""The search whose steps the path computes."""


@register("path", "recorded-beam")
class RecordedBeam(Path):
    """Beam search on CUDA: several steps captured as one graph, their bookkeeping in one kernel."""

    serves = "search.beam"
    devices = ("cuda",)
    rank = 20

    def takes(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> bool:
        return BEAMS(beam) and chunks.takes(stepper, bounds)

    def why_not(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> str:
        return chunks.lacks(stepper, bounds) if BEAMS(beam) else "The search was changed."

    def run(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> Hypotheses | None:
        return beam_in_chunks(beam, stepper, bounds)


@dataclass(frozen=True)
class Searching:
    """The state of a beam search between two chunks; `at` () is the number of steps taken."""

    state: Any
    words: Tensor
    live: Tensor
    done: Tensor
    finished: Finished
    at: Tensor
    states: Tensor | None = None

    @staticmethod
    def start(decoder: Any, memories: Mapping[str, Memory], begin: int, real: int, size: int) -> Searching:
        """The state before the first token; sources from `real` on only pad a bucket, and are done."""
        state = in_a_line(decoder.start(memories))
        mask = next(iter(memories.values())).mask
        words = torch.full((len(mask), 1), begin, device=mask.device)
        live = torch.zeros_like(words, dtype=torch.float32)
        done = torch.arange(len(mask), device=mask.device) >= real
        at = torch.zeros((), dtype=torch.int64, device=mask.device)
        return Searching(state, words, live, done, Finished.empty(live.expand(-1, size)), at)

    def select(self, rows: Tensor, real: int) -> Searching:
        """Some of the sources, (B') int64. The first `real` are searched, and the others pad a bucket."""
        done = self.done.index_select(0, rows)
        done[real:] = True
        words, live = self.words.index_select(0, rows), self.live.index_select(0, rows)
        states = None if self.states is None else self.states.index_select(0, rows)
        finished = self.finished.select(rows)
        return Searching(self.state.select(rows), words, live, done, finished, self.at, states)


def beam_in_chunks(beam: Beam, stepper: Stepper, bounds: Bounds) -> Hypotheses | None:
    """`Beam.step_by_step` in chunks; None if a score was not finite."""
    decoder: Any = unconstrained(stepper).decoder
    recorder = recorder_of(decoder)
    with torch.inference_mode(False), torch.no_grad(), recorder.lock:
        searched_rows, rows = SearchedRows.of(stepper, bounds)
        count, device = len(stepper.lengths), rows.device
        unfinished = Unfinished.all(len(rows), device)
        search = Searching.start(decoder, searched_rows.memories, stepper.begin, count, beam.size)
        obeyed = Obeyed.of(stepper, search.words)
        search = search if obeyed is None else replace(search, states=obeyed.states)
        finals: list[tuple[Tensor, Finished]] = []
        kept: list[dict[str, Any]] = []
        key = Key.of(stepper, bounds, beam, obeyed)
        for first, length in chunks_of(bounds.steps):
            late = first + length > bounds.extent[0]
            run = partial(_chunk, beam, stepper, bounds, length, late, obeyed)
            given = (searched_rows.memories, searched_rows.last, search)
            here = key.at(search.state, length, late=late)
            search, found, flags = recorder.replays(here, run, given)
            ended, sound = flags.tolist()
            if not sound:
                return None
            searched = len(unfinished)
            ended -= len(search.done) - searched
            kept.append(_restored(unfinished, found))
            if ended == searched:
                break
            if unfinished.worth_leaving(ended):
                real = search.done[:searched]
                gone, stay = real.nonzero().squeeze(1), (~real).nonzero().squeeze(1)
                finals.append((unfinished.rows.index_select(0, gone), search.finished.select(gone)))
                unfinished, chosen = unfinished.select(stay), padded_rows(stay)
                searched_rows, search = searched_rows.select(chosen), search.select(chosen, len(stay))
        still = torch.arange(len(unfinished), device=device)
        finished = Finished.joined([*finals, (unfinished.rows, search.finished.select(still))])
        check_outputs(finished.totals[:count, 0])
        run_back = partial(_follow, beam.best, stepper.end)
        outputs: Hypotheses = recorder.replays(("follow", beam.best, stepper.end), run_back, (finished, kept))
        return outputs.narrowed(rows=count).cut().copied(searched_rows.widths)


def _chunk(
    beam: Beam,
    stepper: Stepper,
    bounds: Bounds,
    length: int,
    late: bool,
    obeyed: Obeyed | None,
    given: tuple[Mapping[str, Memory], Tensor, Searching],
) -> tuple[Any, ...]:
    """`length` steps: the state of the search after them, what they kept, and (number of sources that are
    done, whether all scores were finite)."""
    memories, last, search = given
    decoder: Any = unconstrained(stepper).decoder
    bounds = replace(bounds, last=last)
    looks: list[Mapping[str, Tensor]] = []
    kept: dict[str, list[Tensor]] = {"live": [], "parents": [], "words": []}
    sound = torch.ones(len(last), dtype=torch.int8, device=last.device)
    for _ in range(length):
        step = decoder.step(search.words, search.state, memories)
        count = min(2 * beam.size, step.logits.shape[-1])
        now = None if obeyed is None or search.states is None else replace(obeyed, states=search.states)
        normalizer, best, words, banks = allowed_top(
            step.logits, bounds, search.at, count, late=late, obeyed=now, nearer=beam.size
        )
        live, parents, words, finished, done, states = _advance(
            beam, best, words, normalizer, search, bounds, sound, banks, now
        )
        state = step.state.reorder(parents)
        search = Searching(state, words, live, done, finished, search.at + 1, states)
        for name, part in (("live", live), ("parents", parents), ("words", words)):
            kept[name].append(part)
        looks.append(step.looks)
    found: dict[str, Any] = {name: torch.stack(parts) for name, parts in kept.items()}
    found["looks"] = by_step(looks, beam.size)
    return search, found, torch.stack([search.done.sum(), sound.min().to(torch.int64)])


def _advance(
    beam: Beam,
    best: Tensor,
    words: Tensor,
    normalizer: Tensor,
    search: Searching,
    bounds: Bounds,
    sound: Tensor,
    banks: Tensor | None = None,
    obeyed: Obeyed | None = None,
) -> tuple[Tensor, Tensor, Tensor, Finished, Tensor, Tensor | None]:
    """`Beam.advance`, and the states of a constraint after it; sets `sound` (B) to 0, in place, where a score that
    counts is not finite."""
    enough = None if banks is None or obeyed is None else beam.enough(obeyed.at_first())
    if triton_takes(best):
        from regard.fast.cuda import beams

        if beams.serves(beam.size, best.shape[2], best):
            kept = _places(best, beam.size)
            parts, done, states = beams.advance(
                best,
                words,
                normalizer,
                search.live,
                search.finished.parts,
                search.done,
                bounds.last,
                search.at,
                sound,
                kept,
                size=beam.size,
                n_best=beam.best,
                end=bounds.end,
                penalty=beam.length_penalty,
                banks=banks,
                enough=enough,
                table=None if obeyed is None else (obeyed.tensors()[0], obeyed.states),
            )
            return *kept, Finished(*parts), done, states
    dead = ~normalizer.isfinite()
    alive = (search.live > -torch.inf) & ~search.done.unsqueeze(1)
    sound &= ~(normalizer.isnan() | (dead & alive)).any(1)
    gained = (search.live - normalizer).masked_fill(dead, -torch.inf)
    found = beam.advance(best, words, gained, search.finished, search.done, bounds, search.at, banks, enough)
    if obeyed is None:
        return *found, None
    return *found, obeyed.table.follow(obeyed.states.gather(1, found[1]), found[2])


def _places(like: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Empty tensors for live scores, parents and words, (B, size)."""
    rows = len(like)
    parents, words = torch.empty(2, rows, size, dtype=torch.int64, device=like.device)
    return like.new_empty(rows, size), parents, words


def _restored(unfinished: Unfinished, found: Mapping[str, Any]) -> dict[str, Any]:
    """Expand what a chunk kept of its rows, (n, B', …), to all rows, as a copy."""

    def all_rows(tensor: Tensor) -> Tensor:
        if len(unfinished) == unfinished.total:
            return tensor.clone()
        whole = tensor.new_zeros(len(tensor), unfinished.total, *tensor.shape[2:])
        return whole.index_copy_(1, unfinished.rows, tensor[:, : len(unfinished)])

    looks = {name: all_rows(look) for name, look in found["looks"].items()}
    return {name: all_rows(found[name]) for name in ("words", "parents", "live")} | {"looks": looks}


def _follow(best: int, end: int, given: tuple[Finished, Sequence[Mapping[str, Any]]]) -> Hypotheses:
    """Build whole hypotheses from what all chunks kept, with the total number of steps."""
    finished, parts = given
    words, parents, live = (
        torch.cat([kept[name] for kept in parts]) for name in ("words", "parents", "live")
    )
    looks = {name: torch.cat([kept["looks"][name] for kept in parts]) for name in parts[0]["looks"]}
    if not triton_takes(words):
        by_time = [{name: look[t] for name, look in looks.items()} for t in range(len(words))]
        paths = BackPointers(end, list(words), list(parents), list(live), by_time)
        return paths.follow(finished, best, len(words))
    from regard.fast.cuda import beams

    ended = (finished.steps, finished.slots, finished.totals)
    tokens, reached, places = beams.follow(words, parents, live, ended, best, end=end, pad=PAD)
    lengths = torch.where(finished.totals[:, :best] > -torch.inf, finished.steps[:, :best] + 1, 0)
    real = torch.arange(len(words), device=words.device) < lengths.unsqueeze(-1)  # (B, best, T)
    before = torch.nn.functional.pad(reached[..., :-1], (1, 0))
    attention = {}
    for name, look in looks.items():  # (T, B, K, S)
        index = places.permute(2, 0, 1).unsqueeze(-1).expand(-1, -1, -1, look.shape[-1])
        rows = look.gather(2, index).permute(1, 2, 0, 3)  # (B, best, T, S)
        attention[name] = torch.where(real.unsqueeze(-1), rows, 0)
    scores = torch.where(real, reached - before, 0)
    return Hypotheses(tokens, lengths, finished.totals[:, :best], scores, attention, end)
