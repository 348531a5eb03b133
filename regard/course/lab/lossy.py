"""One vector as a summary: copying n symbols through D numbers, with a linear read-out and with another one.

A linear recurrence h_t = R h_{t−1} + E x_t (R orthogonal) writes all n symbols into one vector; the
least-squares linear map reads them back:

    x̂ = A⁺ h,   A = [R^{n−1} E, …, R E, E]   (D × n V)        rank A ≤ D

n symbols out of V have n (V − 1) degrees of freedom. A linear read-out recovers at most D of them, so the share
min(1, D / n (V − 1)) of the variance, whatever R, E and the read-out are.

That bound is one of linear read-outs, not of vectors. A single number holds n symbols as its digits:

    h_t = V h_{t−1} + x_t,   x_n = h mod V,   x_{n−1} = ⌊h / V⌋ mod V, …

exactly, as long as its bits last: n log₂ V ≤ 53 in float64, 24 in float32.

To recover the whole input is the most that one can ask of h: each answer about the input follows from it. For a part,
less is enough. With h_t = R h_{t−1} / 2 + E x_t, which forgets, the last symbol is read without error at any length.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import color_scale
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array

Length = Annotated[int, Field(ge=1, le=64)]
BITS = {"float32": 24, "float64": 53}
"""Bits of the integers that a number of this type holds exactly."""
KEPT = 0.5
"""The share of the state that the recurrence which forgets keeps at each step."""
MOST_ROWS = 200
"""Sequences that are read by remainders, one by one."""


@register("lab", "lossy")
class LossyLab(Lab):
    """How much of a sequence a read-out gets from one vector."""

    class Options(Lab.Options):
        """How much of a sequence a read-out gets from one vector."""

        symbols: Annotated[int, Field(ge=2, le=32)] = 5
        """V, the number of symbols."""
        lengths: Annotated[tuple[Length, ...], Field(min_length=1, max_length=9)] = (1, 2, 4, 6, 8, 12, 16)
        """n, the lengths to copy."""
        sizes: Annotated[tuple[Length, ...], Field(min_length=1, max_length=9)] = (4, 8, 16, 32, 64)
        """D, the sizes of the state."""
        rows: Annotated[int, Field(ge=10, le=5000)] = 400
        """Random sequences on which the accuracy is measured."""
        seed: Seed = 0
        """Seed of R, E and the sequences."""

    summary = "copying through one vector: a linear read-out is exact while D ≥ n (V − 1); another one can do better"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        V = options.symbols
        shape = (len(options.lengths), len(options.sizes))
        accuracy, kept, bound = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        whole, last_symbol = np.zeros(shape), np.zeros(shape)
        for i, n in enumerate(options.lengths):
            for j, D in enumerate(options.sizes):
                right, kept[i, j] = copying(n, D, V, options.rows, options.seed)
                accuracy[i, j], whole[i, j] = right.mean(), right.all(1).mean()
                last_symbol[i, j] = copying(n, D, V, options.rows, options.seed, KEPT)[0][:, -1].mean()
                bound[i, j] = min(1.0, D / (n * (V - 1)))
        digits = {
            name: np.array([digits_copied(n, V, name, options.rows, options.seed) for n in options.lengths])
            for name in BITS
        }
        enough = np.array([[n * (V - 1) <= D for D in options.sizes] for n in options.lengths])
        matrix = Matrix(
            tuple(str(n) for n in options.lengths),
            tuple(str(D) for D in options.sizes),
            accuracy,
            truth=enough.astype(float),
            title="Symbols that a linear read-out returns",
            numbers=True,
            outlined="D ≥ n (V − 1)",
            row_name="n",
            column_name="D",
        )
        middle = len(options.sizes) // 2
        D = options.sizes[middle]
        at = np.array(options.lengths)
        curves = {
            "last symbol, R / 2": Curve(at, last_symbol[:, middle]),
            "accuracy": Curve(at, accuracy[:, middle]),
            "all n symbols": Curve(at, whole[:, middle]),
            "variance kept": Curve(at, kept[:, middle]),
            "D / n (V − 1)": Curve(at, bound[:, middle], "dashes", "muted"),
            "guessing": Curve(at, np.full(len(at), 1 / V), "dashes", "series-4"),
        }
        longest = np.arange(1.0, 2 * int(BITS["float64"] / np.log2(V)) + 1)
        single = {
            f"one {name}": Curve(
                longest,
                np.array(
                    [
                        digits_copied(n, V, name, options.rows, options.seed)
                        for n in range(1, len(longest) + 1)
                    ]
                ),
            )
            for name in BITS
        }
        single["guessing"] = Curve(longest, np.full(len(longest), 1 / V), "dashes", "muted")
        rows = [
            (
                f"n = {n}",
                n * (V - 1),
                float(accuracy[i, middle]),
                float(kept[i, middle]),
                float(bound[i, middle]),
                float(digits["float64"][i]),
            )
            for i, n in enumerate(options.lengths)
        ]
        last = max((n for n in options.lengths if n * (V - 1) <= D), default=0)
        return LabResult(
            title="One vector is a lossy summary for a linear read-out",
            see=f"With {V} kinds of symbols, a linear read-out of D = {D} numbers copies "
            f"{f'sequences of up to {last}' if last else 'none of these lengths'} without error; of sequences "
            f"of {at[-1]} it returns {100 * accuracy[-1, middle]:.0f} % of the symbols, and "
            f"{100 * whole[-1, middle]:.0f} % of the sequences without an error. From a state of the same "
            f"size that forgets, R / 2, it returns "
            f"{100 * last_symbol[-1, middle]:.0f} % of the last symbols. Where D ≥ n (V − 1), outlined, "
            f"nothing is lost. Other read-outs are not bound by that: one float64, written as h ← {V} h + x and read "
            f"by remainders, returns all of up to {int(BITS['float64'] / np.log2(V))} symbols.",
            blocks=[
                draw_matrix(matrix),
                color_scale(name="accuracy", truth=True, outlined="D ≥ n (V − 1)"),
                draw_plot(
                    curves, title=f"A linear read-out, D = {D}", x_name="n", y_range=(0, 1), height=120
                ),
                draw_plot(
                    single,
                    title=f"Digits of one number: h ← {V} h + x",
                    x_name="n",
                    y_range=(0, 1),
                    height=120,
                ),
            ],
            table=(
                ("", "n (V − 1)", f"accuracy, D = {D}", "variance kept", "D / n (V − 1)", "digits, D = 1"),
                rows,
            ),
            numbers={
                "lengths": options.lengths,
                "sizes": options.sizes,
                "accuracy": accuracy,
                "whole": whole,
                "last_symbol": last_symbol,
                "variance_kept": kept,
                "bound": bound,
                "digits": digits,
                "digits_exact_up_to": {name: int(bits / np.log2(V)) for name, bits in BITS.items()},
            },
        )


def copying(
    length: int, size: int, symbols: int, rows: int, seed: int, keep: float = 1.0
) -> tuple[Array, float]:
    """Which symbols of random sequences a linear copy returns, (rows, length), and the recovered share of their
    variance, where the recurrence is h_t = keep · R h_{t−1} + E x_t."""
    generator = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(generator.standard_normal((size, size)))
    embedding = generator.standard_normal((size, symbols))
    embedding -= embedding.mean(1, keepdims=True)  # x is centered too: V one-hot rows span V − 1 directions
    parts, part = [], embedding
    for _ in range(length):
        parts.append(part)
        part = keep * rotation @ part
    writing = np.concatenate(parts[::-1], 1)  # (D, n V)
    drawn = generator.integers(0, symbols, (rows, length))
    centered = (np.eye(symbols)[drawn] - 1 / symbols).reshape(rows, -1)  # (rows, n V)
    reading = np.linalg.pinv(writing, rcond=1e-10)
    returned = centered @ writing.T @ reading.T
    chosen = returned.reshape(rows, length, symbols).argmax(-1)
    # All n (V − 1) directions of the sequences have variance 1/V; a projection of rank k keeps k of them.
    kept = float(np.trace(reading @ writing)) / (length * (symbols - 1))
    return chosen == drawn, kept


def digits_copied(length: int, symbols: int, kind: str, rows: int, seed: int) -> float:
    """The share of symbols that one number h ← V h + x returns, read by division and remainder."""
    drawn = np.random.default_rng(seed).integers(0, symbols, (min(rows, MOST_ROWS), length))
    h = np.zeros(len(drawn), kind)
    for x in drawn.T:
        h = h * np.asarray(symbols, kind) + x.astype(kind)
    left = [int(one) for one in h]  # the integers that the numbers hold, read without further rounding
    returned = np.zeros_like(drawn)
    for place in reversed(range(length)):
        returned[:, place] = [one % symbols for one in left]
        left = [one // symbols for one in left]
    return float((returned == drawn).mean())
