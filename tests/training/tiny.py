"""A tiny sequence task over integers, fast enough to train in a test; also a program."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from regard.data.batch import Batch, Tokens
from regard.nn.loss import Loss
from regard.spec.sections import TrainingSpec
from regard.training import Result, fit, seed_everything
from regard.training.progress import Progress

VOCABULARY = 11


class TinyNetwork(nn.Module):
    """Tags each token with its double modulo the vocabulary, and predicts the row's parity."""

    def __init__(self, dropout: float = 0.1, penalty: float = 0.0) -> None:
        super().__init__()
        self.decay = penalty
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.dropout = nn.Dropout(dropout)
        self.recurrent = nn.GRU(16, 16, batch_first=True)
        self.tags = nn.Linear(16, VOCABULARY)
        self.label = nn.Linear(16, 2)

    def penalty(self) -> Tensor | None:
        return self.decay * self.label.weight.square().sum() if self.decay else None

    def forward(self, batch: Batch) -> dict[str, Loss]:
        words: Tokens = batch["words"]
        states, _ = self.recurrent(self.dropout(self.embedding(words.ids)))  # (B, T, D)
        scores, truth = self.tags(states).transpose(1, 2), words.ids * 2 % VOCABULARY  # (B, C, T), (B, T)
        losses = nn.functional.cross_entropy(scores, truth, reduction="none")
        mask = words.mask
        label = nn.functional.cross_entropy(self.label(states[:, 0]), words.ids.sum(1) % 2, reduction="sum")
        total = (losses * mask).sum()
        parts = {"likelihood": total.detach(), "words": words.ids.sum()}
        return {
            "tags": Loss(total, mask.sum(), parts),
            "label": Loss(label, torch.tensor(len(batch)), weight=0.5),
        }


class TinyBatches:
    """Rows of 1 to 7 tokens; `world_size` processes share each global batch.

    at_batch   called when batch number 1, 2, … of the run is made
    """

    def __init__(
        self,
        *,
        rows: int = 96,
        size: int = 8,
        seed: int = 1,
        world_size: int = 1,
        at_batch: Mapping[int, Callable[[], None]] = MappingProxyType({}),
        slow: float = 0.0,
    ) -> None:
        generator = np.random.default_rng(seed)
        self.rows = [generator.integers(1, VOCABULARY, size=generator.integers(1, 8)) for _ in range(rows)]
        self.size, self.seed, self.world_size = size, seed, world_size
        self.at_batch, self.slow, self.made = at_batch, slow, 0

    def __len__(self) -> int:
        return -(-len(self.rows) // self.size)

    def epoch(self, epoch: int, start: int = 0, *, rank: int = 0) -> Iterator[Batch]:
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.rows))
        for first in range(start * self.size, len(order), self.size):
            self.made += 1
            self.at_batch.get(self.made, lambda: None)()
            time.sleep(self.slow)
            chosen = order[first : first + self.size].tolist()
            part = chosen[rank :: self.world_size]
            yield self.batch(part) if part else replace(self.batch(chosen[:1]), idle=True)

    def batch(self, chosen: list[int]) -> Batch:
        lengths = torch.tensor([len(self.rows[row]) for row in chosen])
        ids = torch.zeros(len(chosen), int(lengths.max()), dtype=torch.int64)
        for place, row in enumerate(chosen):
            ids[place, : len(self.rows[row])] = torch.from_numpy(self.rows[row])
        return Batch({"words": Tokens(ids, lengths)}, tuple(chosen), int(ids.numel()))


def development_loss(network: nn.Module) -> Tensor:
    losses = network(TinyBatches(rows=32, seed=99).batch(list(range(32))))
    return losses["tags"].total / losses["tags"].count


def train(
    run: Path,
    *,
    network: nn.Module | None = None,
    batches: TinyBatches | None = None,
    evaluate: Callable[[], dict[str, float]] | Literal["development loss"] | None = "development loss",
    progress: Progress | None = None,
    resume: bool = False,
    at_batch: Mapping[int, Callable[[], None]] = MappingProxyType({}),
    slow: float = 0.0,
    locate: Callable[[int], str] | None = None,
    **options: Any,
) -> Result:
    """A complete run of four short epochs, unless the options say otherwise."""
    settings = TrainingSpec(**{"epochs": 4, "lr": 0.02, **options})
    seed_everything(settings.seed)
    trained = network or TinyNetwork()

    def development() -> dict[str, float]:
        torch.rand(3)  # drawing random numbers in an evaluation must not change the training
        return {"loss": float(development_loss(trained))}

    return fit(
        trained,
        TinyBatches(at_batch=at_batch, slow=slow) if batches is None else batches,
        options=settings,
        run=run,
        save_model=lambda folder: save_file(trained.state_dict(), folder / "model.safetensors"),
        evaluate=development if evaluate == "development loss" else evaluate,
        resume=resume,
        progress=progress or Progress(),
        device="cpu",
        locate=locate,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--rows", type=int, default=96)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--penalty", type=float, default=0.0)
    parser.add_argument("--options", default="{}")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    seed_everything(1)
    train(
        asked.run,
        network=TinyNetwork(dropout=asked.dropout, penalty=asked.penalty),
        batches=TinyBatches(rows=asked.rows, world_size=world_size),
        **json.loads(asked.options),
    )
