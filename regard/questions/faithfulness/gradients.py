"""Gradient × input: the sum over features of a position's vector times the gradient of log p of a piece.

For texts, the vector of a position is its embedding (of a sentence: those of its words). For images, videos and audio
it is the encoder's output at that position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.data import Batch
from regard.data.ragged import Array
from regard.nn.memory import Memory
from regard.nn.network import answering
from regard.nn.path import without_fast_paths
from regard.nn.search import Stepper
from regard.questions.faithfulness.forced import forced_logs
from regard.questions.faithfulness.rows import Examined, Looked, in_chunks
from regard.questions.faithfulness.vectors import exchanged, units_of, with_marked

ROWS = 32


def gradient_times_input(examined: Examined, looked: Sequence[Looked]) -> dict[tuple[int, str], Array]:
    """{(row, input): (T, S)} signed: positive where the position raises log p of the piece, to first order."""
    found: dict[tuple[int, str], Array] = {}
    for name in dict.fromkeys(one.input for one in looked):
        mine = [one for one in looked if one.input == name]
        for chunk in in_chunks(mine, ROWS):
            batch = examined.batch([(one.row, name, None) for one in chunk], fill=False, looked={})
            with answering(examined.model), torch.enable_grad(), without_fast_paths():
                tables = _of_batch(examined, batch.to(examined.model.device), name, chunk)
            for one, table in zip(chunk, tables, strict=True):
                found[one.row, name] = table
    return found


def _of_batch(examined: Examined, batch: Batch, name: str, chunk: Sequence[Looked]) -> list[Array]:
    network = examined.model.network
    units = units_of(batch[name], words=chunk[0].words)
    if units is None:
        encoded = network.encode(batch)
        memory = encoded[name]
        values = memory.values.detach().requires_grad_()
        encoded = {**encoded, name: replace(memory, values=values)}
        found = [
            (values * gradient).sum(-1).detach()
            for gradient in _gradients(examined, batch, encoded, [values])
        ]  # T times (B, S)
        return [
            torch.stack([table[place] for table in found[: one.steps]])[:, : one.positions].cpu().numpy()
            for place, one in enumerate(chunk)
        ]
    with exchanged(network.reader(name), units, lambda table: table.requires_grad_()) as tables:
        encoded = network.encode(with_marked(batch, name, units))
        rows, places = units.rows.to(batch_device(encoded)), units.positions.to(batch_device(encoded))
        longest = int(places.max()) + 1
        summed = []
        for gradients in _gradients(examined, batch, encoded, tables, several=True):
            each = sum((table * one).sum(-1) for table, one in zip(tables, gradients, strict=True))
            empty = each.new_zeros(len(chunk), longest)
            summed.append(empty.index_put((rows, places), each, accumulate=True).detach())
    return [
        torch.stack([table[place] for table in summed[: one.steps]])[:, : one.positions].cpu().numpy()
        for place, one in enumerate(chunk)
    ]


def batch_device(encoded: Mapping[str, Memory]) -> torch.device:
    return next(iter(encoded.values())).mask.device


def _gradients(
    examined: Examined,
    batch: Batch,
    encoded: Mapping[str, Memory],
    of: Sequence[Tensor],
    *,
    several: bool = False,
) -> list[Any]:
    """For each step, the gradient of log p of its pieces, summed over the rows, which do not meet."""
    network = examined.model.network
    memories = network.memories(examined.output, encoded)
    decoder: Any = network.decoders[examined.output]
    if examined.stepwise:
        logs, written = forced_logs(Stepper(decoder, memories), batch[examined.output])
        known = batch[examined.output].lengths + 1
        chosen = logs.gather(2, written.unsqueeze(2)).squeeze(2)
        steps = torch.arange(chosen.shape[1], device=chosen.device)
        totals = list((chosen * (steps < known[:, None])).sum(0).unbind(0))
    else:
        totals = [-decoder.loss(memories, batch[examined.output]).total]
    found: list[Any] = []
    for number, total in enumerate(totals):
        gradients = torch.autograd.grad(
            total, list(of), retain_graph=number + 1 < len(totals), allow_unused=True
        )
        filled = [
            torch.zeros_like(one) if grad is None else grad for one, grad in zip(of, gradients, strict=True)
        ]
        found.append(filled if several else filled[0])
    return found
