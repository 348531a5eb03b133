"""The operations of the notation on numbers, vectors, matrices and maps.

A vector is (D), a matrix (D', D), and a map (D, rows, columns) holds a vector at every position. Operations
on vectors apply to maps position by position. Everything is in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.notation.tokens import NotationError
from regard.testing.board.listing import Configuration

Value = Any
"""A number, a Tensor, a Family, a Configuration structure, a label (str), or a tuple of them."""


@dataclass(frozen=True)
class Family:
    """A tensor whose entries along the first axes are indexed, beginning with `first`."""

    tensor: Tensor
    first: tuple[int, ...] = (1,)


def tensor(value: Value) -> Tensor:
    if isinstance(value, Family):
        value = value.tensor
    if isinstance(value, (bool, int, float)):
        return torch.tensor(float(value), dtype=torch.float64)
    if not isinstance(value, Tensor):
        raise NotationError(f"a number, a vector or a matrix was expected; received {value!r}")
    return value.double()


def shaped(value: Value) -> str:
    names = ["a number", "a vector of", "a matrix of", "a map of", "filters of"]
    shape = tensor(value).shape
    return f"{names[len(shape)]} {' × '.join(map(str, shape))}".strip()


def matched(left: Value, right: Value, sign: str) -> tuple[Tensor, Tensor]:
    """Bring both to one shape; a number broadcasts to anything, a vector to a map with as many features."""
    a, b = tensor(left), tensor(right)
    if a.ndim == 0 or b.ndim == 0 or a.shape == b.shape:
        return a, b
    if a.ndim == 1 and b.ndim == 3 and len(a) == len(b):
        return a[:, None, None], b
    if b.ndim == 1 and a.ndim == 3 and len(a) == len(b):
        return a, b[:, None, None]
    if a.ndim == b.ndim == 3 and 1 in (len(a), len(b)) and a.shape[1:] == b.shape[1:]:
        return a, b  # a number at every position
    raise NotationError(f"{shaped(left)} {sign} {shaped(right)} is not defined")


def plainly(left: Value, right: Value) -> bool:
    """Whether both are exact numbers, such as positions."""
    return all(isinstance(value, (int, float)) for value in (left, right))


def add(left: Value, right: Value) -> Value:
    if plainly(left, right):
        return left + right
    a, b = matched(left, right, "+")
    return a + b


def subtract(left: Value, right: Value) -> Value:
    if plainly(left, right):
        return left - right
    a, b = matched(left, right, "−")
    return a - b


def divide(left: Value, right: Value) -> Value:
    if plainly(left, right):
        return left // right if isinstance(left, int) and left % right == 0 else left / right
    a, b = matched(left, right, "/")
    return a / b


def hadamard(left: Value, right: Value) -> Value:
    a, b = matched(left, right, "⊙")
    return a * b


def dot(left: Value, right: Value) -> Value:
    """The dot product of two vectors; with a number, the plain product."""
    if plainly(left, right):
        return left * right
    a, b = tensor(left), tensor(right)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim != 1 or a.shape != b.shape:
        raise NotationError(f"{shaped(left)} · {shaped(right)} is not defined")
    return (a * b).sum()


def times(left: Value, right: Value) -> Value:
    """The product by juxtaposition: matrix and vector, matrix and matrix, number and anything."""
    if plainly(left, right):
        return left * right
    a, b = tensor(left), tensor(right)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim == 2 and 1 <= b.ndim <= 3 and a.shape[1] == b.shape[0]:
        return torch.tensordot(a, b, 1)
    hint = "; write · or ⊙ between vectors" if a.ndim == b.ndim == 1 else ""
    raise NotationError(f"{shaped(left)} times {shaped(right)} is not defined{hint}")


def convolve(filters: Value, seen: Value, *, whole: bool) -> Tensor:
    """Σ_k W_k x_{i+k} at every position i, zero outside; `whole`: only where all of W fits.

    Filters of width w see the positions i − ⌊(w − 1)/2⌋ … i + ⌊w/2⌋.
    """
    W, x = tensor(filters), tensor(seen)
    if W.ndim not in (3, 4) or x.ndim != W.ndim - 1 or W.shape[1] != len(x):
        sign = "⋆" if whole else "*"
        raise NotationError(f"filters of {tuple(W.shape)} {sign} {shaped(seen)} is not defined")
    if not whole:
        pads = [side for width in reversed(W.shape[2:]) for side in ((width - 1) // 2, width // 2)]
        x = nn.functional.pad(x, pads)
    return (nn.functional.conv1d if W.ndim == 3 else nn.functional.conv2d)(x[None], W)[0]


OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "+": add,
    "−": subtract,
    "·": dot,
    "⊙": hadamard,
    "/": divide,
    "times": times,
    "*": lambda filters, seen: convolve(filters, seen, whole=False),
    "⋆": lambda filters, seen: convolve(filters, seen, whole=True),
}


def square(value: Value) -> Value:
    return value * value if isinstance(value, (int, float)) else tensor(value).square()


def every_second(value: Value) -> Tensor:
    """The rows and columns 1, 3, 5 … of a map."""
    return tensor(value)[:, ::2, ::2]


SINGLES: dict[str, Callable[[Value], Value]] = {
    "−": lambda value: -value if isinstance(value, (int, float)) else -tensor(value),
    "√": lambda value: tensor(value).sqrt(),
    "|": lambda value: abs(value) if isinstance(value, (int, float)) else tensor(value).abs(),
    "²": square,
    "↓": every_second,
}


def extreme(name: str) -> Callable[..., Value]:
    def of(left: Value, right: Value) -> Value:
        if plainly(left, right):
            return (max if name == "max" else min)(left, right)
        a, b = tensor(left), tensor(right)
        if a.ndim and b.ndim:
            a, b = matched(a, b, name)
        return torch.maximum(a, b) if name == "max" else torch.minimum(a, b)

    return of


def pooled(value: Value, pool: Callable[..., Tensor], **options: Any) -> Tensor:
    return pool(tensor(value)[None], 2, **options)[0]


def softmax(value: Value) -> Value:
    spread = torch.softmax(tensor(value), 0)
    return Family(spread, value.first) if isinstance(value, Family) else spread


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "σ": lambda value: torch.sigmoid(tensor(value)),
    "tanh": lambda value: torch.tanh(tensor(value)),
    "exp": lambda value: torch.exp(tensor(value)),
    "log": lambda value: torch.log(tensor(value)),
    "cos": lambda value: torch.cos(tensor(value)),
    "sin": lambda value: torch.sin(tensor(value)),
    "relu": lambda value: torch.relu(tensor(value)),
    "softmax": softmax,
    "max": extreme("max"),
    "min": extreme("min"),
    # over the features, at every position of a map
    "mean": lambda value: tensor(value).mean(0, keepdim=tensor(value).ndim == 3),
    # over every 2 × 2 positions; at an odd edge, over those that exist
    "maxpool": lambda value: pooled(value, nn.functional.max_pool2d, ceil_mode=True),
    # over every full 2 × 2 positions
    "meanpool": lambda value: pooled(value, nn.functional.avg_pool2d),
}


def join(parts: Sequence[Value]) -> Tensor:
    """[a; b]: concatenate numbers and vectors; for maps at every position."""
    found = [tensor(part) for part in parts]
    if any(part.ndim == 3 for part in found):
        return torch.cat(found)
    if any(part.ndim > 1 for part in found):
        raise NotationError(f"[{'; '.join(shaped(part) for part in parts)}] is not defined")
    return torch.cat([part.reshape(-1) for part in found])


def entry(value: Value, indices: Sequence[int]) -> Value:
    """`A[i, j]`, from 1 unless a Family says otherwise; of a map, the vector at a position."""
    if isinstance(value, Configuration):
        for index in indices:
            value = _within(value, index, 1)
        return value
    family = value if isinstance(value, Family) else Family(tensor(value))
    if family.tensor.ndim == 3 and family is not value:
        features = family.tensor.movedim(0, -1)
        family = Family(features if len(indices) == 2 else features.flatten(0, 1))
    found: Any = family.tensor
    firsts = [*family.first, *[1] * len(indices)]
    for index, first in zip(indices, firsts, strict=False):
        if not found.ndim:
            raise NotationError(f"{shaped(value)} has no entry {list(indices)}")
        found = _within(found, index, first)
    left = family.first[len(indices) :]
    return Family(found, left) if left else found


def _within(several: Any, index: int, first: int) -> Any:
    if not isinstance(index, int):
        raise NotationError(f"an entry is asked for by a whole number; received {index!r}")
    if not 0 <= index - first < len(several):
        raise NotationError(f"entry {index} is asked for; there are {first} … {first + len(several) - 1}")
    return several[index - first]


def sparse(energies: Tensor, degree: float) -> Tensor:
    """max((a − 1) e − τ, 0)^(1 / (a − 1)) of degree a, with τ found by bisection such that the sum is 1."""
    scaled, power = (degree - 1) * energies, 1 / (degree - 1)
    low, high = scaled.max() - 1, scaled.max()
    for _ in range(100):
        middle = (low + high) / 2
        if (scaled - middle).clamp(min=0).pow(power).sum() >= 1:
            low = middle
        else:
            high = middle
    return (scaled - low).clamp(min=0).pow(power)


def nearest_shares(point: Tensor) -> Tensor:
    """The distribution nearest to a point."""
    ordered = point.sort(descending=True).values
    thresholds = (ordered.cumsum(0) - 1) / torch.arange(1, len(point) + 1)
    return (point - thresholds[int((ordered > thresholds).sum()) - 1]).clamp(min=0)


def sparse_mean(scores: Tensor, structures: Sequence[Value]) -> Value:
    """The mean of structures under the q with the highest E_q[score] − ½ ‖mean‖²: by projected gradient."""
    table = torch.tensor([list(one) for one in structures])
    parts = table if int(table.max()) <= 1 else nn.functional.one_hot(table, table.shape[1] + 1)
    parts = parts.double().flatten(1)  # (N, D)
    step = 1 / torch.linalg.matrix_norm(parts @ parts.T, 2)
    q = ahead = torch.full((len(parts),), 1 / len(parts), dtype=torch.float64)
    pace = 1.0
    for _ in range(1500):
        new = nearest_shares(ahead + step * (scores - parts @ (parts.T @ ahead)))
        faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
        q, ahead, pace = new, new + (pace - 1) / faster * (new - q), faster
    mean = parts.T @ q
    return mean if parts.shape[1] == table.shape[1] else Family(mean.view(table.shape[1], -1), (1, 0))


def gathered(
    kind: str, bodies: Tensor, held: Sequence[Value], values: Sequence[Value], degree: float | None = None
) -> Value:
    """Reduce the bodies (N, …) of the N values that hold; softmax is 0 for the other values."""
    if kind == "Σ":
        return bodies.sum(0)
    if kind == "mean":
        return bodies.mean(0)
    if kind in ("max", "min"):
        return bodies.amax(0) if kind == "max" else bodies.amin(0)
    if kind in ("argmax", "argmin"):
        return held[int(bodies.argmax() if kind == "argmax" else bodies.argmin())]
    if kind == "sparsemap":
        return sparse_mean(bodies, held)
    weights = torch.softmax(bodies, 0) if kind == "softmax" else sparse(bodies, degree or 2)
    spread = dict(zip(held, weights, strict=True))
    nothing = torch.zeros((), dtype=torch.float64)
    spaced = torch.stack([spread.get(value, nothing) for value in values])
    return Family(spaced, (values[0],)) if isinstance(values[0], int) else spaced


COMPARED = {
    "=": lambda left, right: left == right,
    "≠": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "≤": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    "≥": lambda left, right: left >= right,
}
