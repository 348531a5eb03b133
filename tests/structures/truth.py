"""The true answers of a structure by enumeration of its support, without code under test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.structures.base import Structure

Support = list[
    tuple[np.ndarray, np.ndarray]
]  # for each structure: its value, and the parts of its first potential


@dataclass(frozen=True)
class Case:
    """An instance in a batch of B, and the enumeration of its support.

    build        makes the structure from potentials and lengths=, mask=, backend=
    potentials   finite tensors (B, ...), float64
    support      (b) -> all structures of batch entry b, regardless of their potentials
    score        (b, its potentials, value, parts) -> score of one structure of batch entry b
    counts       number of structures of non-zero weight of each entry, from a formula
    excluded     for each potential, None or a mask of the entries that become −inf
    """

    build: Callable[..., Structure]
    potentials: tuple[Tensor, ...]
    support: Callable[[int], Support]
    score: Callable[[int, list[np.ndarray], np.ndarray, np.ndarray], float]
    counts: Sequence[int]
    lengths: Tensor | tuple[Tensor, Tensor] | None = None
    mask: Tensor | None = None
    excluded: Sequence[Tensor | None] = ()

    def with_infinities(self, potentials: Sequence[Tensor]) -> list[Tensor]:
        excluded = list(self.excluded) or [None] * len(potentials)
        return [
            potential if where is None else torch.where(where, -torch.inf, potential)
            for potential, where in zip(potentials, excluded, strict=True)
        ]

    def make(self, potentials: Sequence[Tensor] | None = None, backend: str = "reference") -> Structure:
        potentials = self.with_infinities(self.potentials if potentials is None else potentials)
        return self.build(*potentials, lengths=self.lengths, mask=self.mask, backend=backend)

    def entry(self, b: int, backend: str = "reference") -> Structure:
        """Batch entry b by itself, without batch dimensions."""
        potentials = [potential[b] for potential in self.with_infinities(self.potentials)]
        return self.build(*potentials, lengths=self.lengths_of(b), mask=self.mask_of(b), backend=backend)

    def lengths_of(self, b: int) -> object:
        if isinstance(self.lengths, tuple):
            return tuple(lengths[b] for lengths in self.lengths)
        return None if self.lengths is None else self.lengths[b]

    def mask_of(self, b: int) -> Tensor | None:
        return None if self.mask is None else self.mask[b]

    def truth(self, potentials: Sequence[Tensor] | None = None) -> list[Truth]:
        potentials = self.with_infinities(self.potentials if potentials is None else potentials)
        entries = []
        for b in range(len(self.counts)):
            arrays = [potential[b].detach().numpy() for potential in potentials]
            if self.mask is not None:
                arrays[0] = np.where(self.mask[b].numpy(), arrays[0], -np.inf)
            support = self.support(b)
            scores = np.array(
                [self.score(b, arrays, value, parts) for value, parts in support], dtype=np.float64
            )
            entries.append(
                Truth(*(np.stack(column).astype(float) for column in zip(*support, strict=True)), scores)
            )
        return entries


def total(scores: np.ndarray, parts: np.ndarray) -> float:
    """The sum of scores where parts is 1; unlike in a dot product, −inf elsewhere has no effect."""
    return float(scores[parts.astype(bool)].sum())


def one_hot(index: Sequence[int], size: int, longest: int | None = None) -> np.ndarray:
    """(len(index), size) with a 1 in each row; zero rows up to `longest`."""
    result = np.zeros((longest or len(index), size))
    result[np.arange(len(index)), list(index)] = 1
    return result


@dataclass(frozen=True)
class Truth:
    """The structures (M, ...) of one batch entry, their scores (M,), and sums that define each query."""

    values: np.ndarray
    parts: np.ndarray
    scores: np.ndarray

    @property
    def log_partition(self) -> float:
        return log_sum(self.scores)

    @property
    def probabilities(self) -> np.ndarray:
        if self.log_partition == -np.inf:
            return np.zeros_like(self.scores)
        return np.exp(self.scores - self.log_partition)

    @property
    def marginals(self) -> np.ndarray:
        return np.tensordot(self.probabilities, self.parts, 1)

    @property
    def mean(self) -> np.ndarray:
        return np.tensordot(self.probabilities, self.values, 1)

    @property
    def best(self) -> np.ndarray:
        """The finite scores in descending order."""
        return np.sort(self.scores[self.scores > -np.inf])[::-1]

    def cross_entropy(self, other: Truth) -> float:
        possible = self.probabilities > 0
        return float((self.probabilities[possible] * -(other.scores[possible] - other.log_partition)).sum())

    def divergence(self, other: Truth) -> float:
        return self.cross_entropy(other) - self.cross_entropy(self)

    def max_marginals(self) -> np.ndarray:
        result = np.full(self.parts.shape[1:], -np.inf)
        for parts, score in zip(self.parts, self.scores, strict=True):
            result = np.where(parts == 1, np.maximum(result, score), result)
        return result

    def partial(self, required: np.ndarray, forbidden: np.ndarray) -> float:
        flat = self.values.reshape(len(self.values), -1).astype(bool)
        fits = (flat | ~required.reshape(-1)).all(-1) & ~(flat & forbidden.reshape(-1)).any(-1)
        return log_sum(self.scores[fits]) - self.log_partition if self.log_partition > -np.inf else -np.inf

    def expected_product(self, factors: np.ndarray) -> float:
        products = np.where(self.parts == 1, factors, 1.0).reshape(len(self.parts), -1).prod(-1)
        return float(self.probabilities @ products)


def log_sum(scores: np.ndarray) -> float:
    finite = scores[scores > -np.inf]
    return float(np.log(np.exp(finite - finite.max()).sum()) + finite.max()) if len(finite) else -np.inf
