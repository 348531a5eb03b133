"""Shared by the labs of dynamic programs: words, and tables of logarithms drawn as they fill."""

from __future__ import annotations

import numpy as np

from regard.errors import RegardError
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import Block
from regard.trace import Array

MOST_WORDS = 12


def words_of(sentence: str, *, least: int = 1) -> tuple[str, ...]:
    """Split a sentence into words; an error unless there are `least` to MOST_WORDS of them."""
    words = tuple(sentence.split())
    if not least <= len(words) <= MOST_WORDS:
        raise RegardError(
            f"the sentence has {len(words)} words, expected {least} to {MOST_WORDS}.",
            where="--set sentence",
            fix="For example  --set 'sentence=the dog saw the cat'",
        )
    return words


def log_sum(values: Array) -> float:
    """log Σ exp; −inf for no values."""
    top = float(np.max(values, initial=-np.inf))
    return top if not np.isfinite(top) else top + float(np.log(np.exp(np.asarray(values) - top).sum()))


def draw_log_table(
    title: str,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    values: Array,
    shades: Array,
    *,
    outlined: Array | None = None,
    digits: str = "{:.1f}",
) -> Block:
    """Draw a table of `values`, NaN for cells not filled yet, shaded by `shades`."""
    return draw_matrix(
        Matrix(
            rows,
            columns,
            values,
            title=title,
            truth=outlined,
            shades=np.nan_to_num(np.clip(shades, 0, 1)),
            numbers=True,
            digits=digits,
            outlined="filled last",
            outline="accent",
        )
    )


def checked_step(step: int | None, most: int) -> int:
    """The number of steps to show; default: all."""
    if step is not None and step > most:
        raise RegardError(
            f"there are {most} steps here, received {step}.", where="--set step", fix=f"Give 0 to {most}."
        )
    return most if step is None else step
