# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The most probable word of a few rows without reading the output layer in single precision.

With few rows a step takes as long as reading its weights, and most of them are those of the output layer. As bytes they
are a quarter. With weights w = ŵ + r and a row x = x̂ + e, where ŵ and x̂ are bytes times a scale,

    |w · x − ŵ · x̂| ≤ ‖r‖ ‖x‖ + ‖ŵ‖ ‖e‖

So the bytes say between which limits each logit lies. Only panels with a word whose upper limit reaches the highest
lower limit are multiplied in single precision. The result is the same in every bit. Log-probabilities need all logits:
they are computed later, for many steps at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numba import types
from numba.extending import overload
from torch import Tensor

from regard.fast.cpu.best import above
from regard.fast.cpu.bytes import ByteRows, ByteWeight, as_bytes, byte_panels
from regard.fast.cpu.either import multiply_rows, some_panels
from regard.fast.cpu.product import Target, Window
from regard.fast.cpu.step import Layers
from regard.fast.cpu.tile import WIDTH
from regard.fast.cpu.together import SCREEN, Team, multiply_together
from regard.structures.kernels.cpu.compilation import part, reduction
from regard.structures.kernels.cpu.mathematics import larger
from regard.structures.kernels.cpu.rows import copy

Array = Any
FEW = 4
"""Rows for which the output layer takes as long as reading its weights."""
SMALLEST = 512
"""Words of a vocabulary that is worth it."""


class Screen(NamedTuple):
    """The output layer as bytes, and how far its logits may be from those in single precision; N = P · WIDTH words.

    weight     (V, O) as bytes   bias (N)
    residual   (N) ‖r‖, and what rounding adds for each ‖x‖
    norm       (N) ‖ŵ‖   slack (N) what rounding adds to the bias
    """

    weight: ByteWeight
    bias: Array
    residual: Array
    norm: Array
    slack: Array


def screen_of(weight: Tensor, bias: Tensor) -> Screen:
    """The screen of an output layer; without panels if a number is not finite."""
    weight, bias = weight.detach().float(), bias.detach().float()
    if not bool(weight.isfinite().all() and bias.isfinite().all()):
        return no_screen()
    packed = byte_panels(weight)
    count, depth = len(packed.values) * WIDTH, weight.shape[1]
    scales = torch.from_numpy(packed.scales).reshape(-1)[: len(weight), None]
    bytes_ = torch.from_numpy(packed.values).view(-1, packed.values.shape[1], WIDTH, 4).transpose(1, 2)
    near = bytes_.reshape(count, -1)[: len(weight), :depth].double() * scales.double()
    rounding = (depth + 8) * 2.0**-22
    exact = weight.double()
    residual = (exact - near).norm(dim=1) + rounding * exact.norm(dim=1)

    def filled(numbers: Tensor) -> Array:
        """In single precision, a little larger, and with zeros for words that do not exist."""
        return torch.nn.functional.pad(numbers * (1 + 1e-5), (0, count - len(numbers))).float().numpy().copy()

    slack = rounding * bias.double().abs() + 1e-30
    padded = torch.nn.functional.pad(bias, (0, count - len(bias)), value=-torch.inf)
    return Screen(packed, padded.numpy().copy(), filled(residual), filled(near.norm(dim=1)), filled(slack))


def no_screen() -> Screen:
    """One that serves no search."""
    nothing = np.zeros(0, np.float32)
    weight = byte_panels(torch.zeros(1, 4))
    empty = ByteWeight(4, weight.values[:0], weight.scales[:0], weight.starts[:0])
    return Screen(empty, nothing, nothing, nothing, nothing)


@reduction
def _norm(row: Array) -> Any:
    total = np.float64(0)
    for k in range(len(row)):
        total += np.float64(row[k]) * np.float64(row[k])
    return np.sqrt(total)


@reduction
def _distance(row: Array, values: Array, scale: Any) -> Any:
    """‖x − x̂‖."""
    total = np.float64(0)
    for k in range(len(row)):
        missing = np.float64(row[k]) - np.float64(scale) * np.float64(np.int32(values[k]) - 128)
        total += missing * missing
    return np.sqrt(total)


@reduction
def _highest_lower(near: Array, residual: Array, norm: Array, slack: Array, size: Any, lost: Any) -> Any:
    highest = near[0] - (residual[0] * size + norm[0] * lost + slack[0])
    for j in range(len(near)):
        highest = larger(highest, near[j] - (residual[j] * size + norm[j] * lost + slack[j]))
    return highest


@reduction
def _highest_upper(near: Array, residual: Array, norm: Array, slack: Array, size: Any, lost: Any) -> Any:
    highest = near[0] + (residual[0] * size + norm[0] * lost + slack[0])
    for j in range(len(near)):
        highest = larger(highest, near[j] + (residual[j] * size + norm[j] * lost + slack[j]))
    return highest


@part
def _best_of_row(
    near: Array, given: Array, row: int, size: Any, lost: Any, layers: Layers, screen: Screen, exact: Array
) -> int:
    """The word with the highest logit of those that `near` (N) allows; −1 if the limits do not help."""
    floor = _highest_lower(near, screen.residual, screen.norm, screen.slack, size, lost)
    if not np.isfinite(floor):
        return -1
    panels = len(near) // WIDTH
    best, word, read = exact.dtype.type(-np.inf), -1, 0
    for panel in range(panels):
        low, high = panel * WIDTH, (panel + 1) * WIDTH
        upper = _highest_upper(
            near[low:high],
            screen.residual[low:high],
            screen.norm[low:high],
            screen.slack[low:high],
            size,
            lost,
        )
        if upper < floor:
            continue
        read += 1
        if 4 * read > panels:
            return -1
        copy(screen.bias[low:high], exact[0])
        weight = some_panels(layers.output, panel, panel + 1)
        multiply_rows(1, Window(given, row, 1, 0), weight, Target(exact, 0, 1, 0, True))
        for j in range(WIDTH):
            if near[low + j] > -np.inf and above(exact[0, j], best):
                best, word = exact[0, j], low + j
    return word


def best_of_few(
    team: Team,
    count: int,
    said: Window,
    layers: Layers,
    screen: Any,
    forbidden: Array,
    only: Array,
    words: Array,
    given: Array,
) -> bool:
    """Write the most probable word of each of a few rows into words (n), and their readouts into given (n, O), starting
    with the first. Returns False if the screen does not serve these rows; then `rank` must.

    forbidden, only   as in `rank`
    """
    raise NotImplementedError


@overload(best_of_few, strict=False)
def _best_of_few(
    team: Any,
    count: Any,
    said: Any,
    layers: Any,
    screen: Any,
    forbidden: Any,
    only: Any,
    words: Any,
    given: Any,
) -> Any:
    if isinstance(screen, types.NoneType):
        return lambda team, count, said, layers, screen, forbidden, only, words, given: False
    return lambda team, count, said, layers, screen, forbidden, only, words, given: _screened(
        team, count, said, layers, screen, forbidden, only, words, given
    )


@part
def _screened(
    team: Team,
    count: int,
    said: Window,
    layers: Layers,
    screen: Screen,
    forbidden: Array,
    only: Array,
    words: Array,
    given: Array,
) -> bool:
    panels = len(screen.weight.values)
    if count > FEW or panels == 0:
        return False
    array, first, step, column = said
    depth = given.shape[1]
    for i in range(count):
        copy(array[first + i * step, column : column + depth], given[i])
        if only[i] >= 0:
            for word in forbidden:
                if word == only[i]:
                    return False
    rounded = ByteRows(
        np.empty((count, screen.weight.values.shape[1] * 4), np.uint8), np.empty(count, np.float32)
    )
    as_bytes(count, given, 0, 1, 0, depth, rounded)
    near, exact = np.empty((count, panels * WIDTH), np.float32), np.empty((1, WIDTH), np.float32)
    for i in range(count):
        copy(screen.bias, near[i])
    into = Target(near, 0, 1, 0, True)
    multiply_together(team, SCREEN, 0, count, Window(given, 0, 1, 0), rounded, screen.weight, into)
    for i in range(count):
        if only[i] >= 0:
            words[i] = only[i]
            continue
        for word in forbidden:
            near[i, word] = -np.inf
        size = np.float32(_norm(given[i]) * 1.0001)
        lost = np.float32(_distance(given[i], rounded.values[i], rounded.scales[i]) * 1.0001)
        words[i] = _best_of_row(near[i], given, i, size, lost, layers, screen, exact)
        if words[i] < 0:
            return False
    return True
