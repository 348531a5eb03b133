"""Soft comprehensiveness and sufficiency (Zhao and Aletras 2023), for texts.

Removing words cuts the input in a way that the model never saw. Softly, every feature of the embedding of position s is
kept with a probability: a_s for sufficiency, 1 − a_s for comprehensiveness, where a are the weights.

    soft comprehensiveness = max(0, p(y|x) − p(y|x')) / (1 − S₀)
    soft sufficiency       = (1 − max(0, p(y|x) − p(y|x')) − S₀) / (1 − S₀)
    S₀                     = 1 − max(0, p(y|x) − p(y|0)), with all embeddings zero

Here both are better if they are higher. Pieces whose probability hardly falls even without any input (1 − S₀ < 0.01)
say nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.ragged import Array
from regard.model.inference import BatchInference
from regard.nn.network import answering
from regard.questions.faithfulness.rows import Examined, Looked, in_chunks
from regard.questions.faithfulness.vectors import exchanged, units_of, with_marked

LEAST = 0.01
BATCH = 256


@dataclass(frozen=True)
class Soft:
    """One variant of an answer: features of position s are kept with probability `keep[s]`, for piece `step`."""

    looked: Looked
    step: int
    keep: Array


def soft_scores(examined: Examined, asked: Sequence[Soft], seed: int) -> list[Array] | None:
    """(T,) log p of each variant; None if the input is not a text. Same seed, same features."""
    found: list[Array] = []
    generator = torch.Generator().manual_seed(seed)
    for chunk in in_chunks(asked, BATCH):
        scores = _of_batch(examined, chunk, generator)
        if scores is None:
            return None
        found += scores
    return found


@torch.inference_mode()
def _of_batch(examined: Examined, chunk: Sequence[Soft], generator: torch.Generator) -> list[Array] | None:
    model, name = examined.model, chunk[0].looked.input
    batch = examined.batch([(one.looked.row, name, None) for one in chunk], fill=False, looked={})
    batch = batch.to(model.device)
    units = units_of(batch[name], words=chunk[0].looked.words)
    if units is None:
        return None
    keep = torch.zeros(len(chunk), max(one.looked.positions for one in chunk))
    for place, one in enumerate(chunk):
        keep[place, : len(one.keep)] = torch.from_numpy(np.asarray(one.keep, dtype=np.float32))
    share = keep[units.rows.cpu(), units.positions.cpu()]  # (N,)

    def change(table: Tensor) -> Tensor:
        drawn = torch.rand(table.shape, generator=generator) < share.unsqueeze(1)
        return table * drawn.to(table.device)

    network, output = model.network, examined.output
    with answering(model):
        with exchanged(network.reader(name), units, change):
            memories = network.memories(output, network.encode(with_marked(batch, name, units)))
        decoder: Any = network.decoders[output]
        if examined.stepwise:
            hypotheses = decoder.score(memories, batch[output])
            scores = hypotheses.token_scores[:, 0].double().cpu().numpy()
            return [scores[place, : one.looked.steps] for place, one in enumerate(chunk)]
        inference = BatchInference(model.spec, model.columns, network, batch, output)
        answers = inference.answers(decoder.predict(memories), trace=False)
        return [
            np.log([max(one.probabilities[str(examined.answers[soft.looked.row].value)], 1e-300)])
            for one, soft in zip(answers, chunk, strict=True)
        ]


def soft_comprehensiveness(full: Array, softened: Array, empty: Array) -> Array:
    """From probabilities of a piece: with the input, with softened vectors, with none."""
    return _share(np.maximum(0.0, full - softened), full, empty)


def soft_sufficiency(full: Array, softened: Array, empty: Array) -> Array:
    """(1 − max(0, p − p') − S₀) / (1 − S₀)."""
    return 1.0 - _share(np.maximum(0.0, full - softened), full, empty)


def _share(lost: Array, full: Array, empty: Array) -> Array:
    most = np.maximum(0.0, full - empty)
    return np.where(most >= LEAST, lost / np.where(most >= LEAST, most, 1.0), np.nan)
