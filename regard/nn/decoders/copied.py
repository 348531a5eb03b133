"""Whole outputs of a recurrent decoder that copies: their cost, and the sources of their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from regard.nn.copying import Copying, copied_mass
from regard.nn.decoders.decoder import BatchView
from regard.nn.decoders.output import Unrolled
from regard.nn.decoders.stepwise import previous_tokens
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.search import Hypotheses
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.nn.decoders.recurrent_steps import RecurrentSteps


def _packed_places(copying: Copying, memories: Mapping[str, Memory], packing: Packing) -> Tensor:
    """(N, S) the choice for each word of the source, for every word of the outputs."""
    return copying.places(memories[copying.source]).index_select(0, packing.rows())


def log_mixture(
    decoder: RecurrentSteps,
    unrolled: Unrolled,
    logits: Tensor,
    memories: Mapping[str, Memory],
    packing: Packing,
) -> Tensor:
    """(N, V + S) log p of every word that can be written or copied, packed, from logits (N, V)."""
    copying = cast(Copying, decoder.copying)
    places = _packed_places(copying, memories, packing)
    gates, weights = cast(Tensor, unrolled.gates), unrolled.looks[copying.source]
    found = copying.log_probabilities(logits.unsqueeze(1), gates.unsqueeze(1), weights.unsqueeze(1), places)
    return found.squeeze(1)


def costs(
    decoder: RecurrentSteps,
    unrolled: Unrolled,
    readouts: Tensor,
    words: Tensor,
    memories: Mapping[str, Memory],
    packing: Packing,
) -> Tensor:
    """(N) −log p of the words, written or copied."""
    copying = cast(Copying, decoder.copying)
    places = _packed_places(copying, memories, packing)
    taken = copied_mass(unrolled.looks[copying.source], places, words)
    return copying.costs(decoder.output(readouts), cast(Tensor, unrolled.gates), taken, words)


def distilled(
    decoder: RecurrentSteps,
    unrolled: Unrolled,
    readouts: Tensor,
    probabilities: Tensor,
    memories: Mapping[str, Memory],
    packing: Packing,
) -> Tensor:
    """−Σ p log q for another model's probabilities p, (N, V), or (N, V + S) if that model copies too."""
    logs = log_mixture(decoder, unrolled, decoder.output(readouts), memories, packing)
    probabilities = nn.functional.pad(probabilities, (0, logs.shape[1] - probabilities.shape[1]))
    possible = logs.masked_fill(logs == -torch.inf, 0.0)  # impossible for the other model too
    return -(probabilities * possible).sum()


def copies_of(decoder: RecurrentSteps, found: Hypotheses, memories: Mapping[str, Memory]) -> Tensor:
    """(B, T, S) the probability that each word of the best answers was copied from each position, given that it was
    written: (1 − g_t) α_tj [x_j = y_t] / p(y_t)."""
    copying = cast(Copying, decoder.copying)
    previous, packing = previous_tokens(found)
    unrolled = decoder.unroll_plain(memories, previous, packing)
    words, places = packing.pack(found.tokens[:, 0]), _packed_places(copying, memories, packing)
    weights, gates = unrolled.looks[copying.source], cast(Tensor, unrolled.gates)
    cost = costs(decoder, unrolled, unrolled.readouts, words, memories, packing)
    taken = torch.sigmoid(-gates).unsqueeze(-1) * weights * (places == words.unsqueeze(-1))
    return packing.unpack((taken * cost.exp().unsqueeze(-1)).clamp(max=1.0))


def shown(
    decoder: RecurrentSteps,
    answers: Sequence[Prediction],
    found: Hypotheses,
    memories: Mapping[str, Memory],
) -> list[Prediction]:
    """The answers, with traces that show where the words of the best answer were copied from."""
    source, table = cast(Copying, decoder.copying).source, copies_of(decoder, found, memories).cpu().numpy()
    traced = []
    for row, answer in enumerate(answers):
        if (trace := answer.trace) is not None:
            copies = table[row, : len(trace.output), : len(trace.input[source])]
            answer = replace(answer, trace=replace(trace, copied={source: copies}))
        traced.append(answer)
    return traced


def spelled(copying: Copying, ids: Sequence[int], column: Any, view: BatchView, row: int) -> list[str]:
    """The pieces of choices, up to the first END; those outside the vocabulary come from the source."""
    found: list[str] = []
    for number in column.vocabulary.content(ids):
        found += (
            [_taken(copying, number, view, row)] if _is_taken(copying, number) else column.spell([number])
        )
    return found


def readable(copying: Copying, ids: Sequence[int], column: Any, view: BatchView, row: int) -> list[str]:
    """The choices as readable pieces."""
    found: list[str] = []
    for number in ids:
        if _is_taken(copying, number):
            found.append(column.cutter.show(_taken(copying, number, view, row)))
        else:
            found += column.tokens([number])
    return found


def _is_taken(copying: Copying, number: int) -> bool:
    return number >= copying.vocabulary


def _taken(copying: Copying, number: int, view: BatchView, row: int) -> str:
    return view.verbatim[copying.source][row][number - copying.vocabulary]
