"""All random number generators: seeded before anything is built, saved with the training state, restored."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


def seed_everything(seed: int) -> None:
    """Seed Python, numpy and torch (all devices)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


@dataclass(frozen=True)
class Generators:
    """The state of every generator of this process.

    values    Python's and numpy's, as plain numbers
    tensors   torch's by device ("cpu", "cuda"), each a vector of bytes
    """

    values: dict[str, Any]
    tensors: dict[str, Tensor]

    @classmethod
    def capture(cls) -> Generators:
        version, numbers, gauss = random.getstate()
        _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
        values = {
            "python": [version, list(numbers), gauss],
            "numpy": [np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
        }
        tensors = {"cpu": torch.get_rng_state()}
        if torch.cuda.is_available():
            tensors["cuda"] = torch.cuda.get_rng_state()
        if torch.backends.mps.is_available():
            tensors["mps"] = torch.mps.get_rng_state()
        return cls(values, tensors)

    def restore(self) -> None:
        version, numbers, gauss = self.values["python"]
        random.setstate((version, tuple(numbers), gauss))
        keys, position, has_gauss, cached = self.values["numpy"]
        np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, cached))
        torch.set_rng_state(self.tensors["cpu"])
        if "cuda" in self.tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(self.tensors["cuda"])
        if "mps" in self.tensors and torch.backends.mps.is_available():
            torch.mps.set_rng_state(self.tensors["mps"])


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the generators and the environment afterwards."""
    generators, environment = Generators.capture(), {**os.environ}
    try:
        yield
    finally:
        generators.restore()
        for name in {*os.environ, *environment}:
            if name not in environment:
                del os.environ[name]
            elif os.environ.get(name) != environment[name]:
                os.environ[name] = environment[name]
