"""The inside-outside algorithm on a sentence: its charts as they fill.

    score(tree) = Σ span(i, j) over the spans of a binary tree, single words and the whole included
    inside(i, j) = span(i, j) + log Σ_k exp(inside(i, k) + inside(k+1, j))                    from short spans to long
    outside(i, j) = log Σ exp(outside(parent) + span(parent) + inside(sibling))               from long spans to short
    log Z = inside(1, n)        p(i, j) = exp(inside(i, j) + outside(i, j) − log Z)

With all potentials 0, Z counts the binary trees over n words: the Catalan number C_{n−1}.
`regard.structures.BinaryTree` computes the same, for batches and with gradients.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import comb
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.dynamic import checked_step, draw_log_table, log_sum, words_of
from regard.course.lab.forward_backward import Potential
from regard.course.lab.lab import Lab, LabResult, written
from regard.errors import RegardError
from regard.inspect.layout import Block, below, frame
from regard.inspect.section import Card
from regard.parts import register
from regard.trace import Array

SENTENCE = "the old man saw the dog"
SPANS = {"1-3": 1.5, "2-3": 0.5, "4-6": 1.0, "5-6": 2.0}
"""Potentials of the default sentence: its noun phrases and its verb phrase."""
SPAN = re.compile(r"(\d+)-(\d+)")


@register("lab", "inside-outside")
class InsideOutsideLab(Lab):
    """The charts of all binary trees over a sentence."""

    class Options(Lab.Options):
        """The charts of all binary trees over a sentence."""

        sentence: Annotated[str, Field(max_length=400)] = SENTENCE
        """The words, separated by spaces; at most 12."""
        spans: dict[str, Potential] = {}
        """Potentials of spans by their first and last word, from 1: `--set spans.2-3=4`. Others have 0,
        except the phrases of the default sentence."""
        step: Annotated[int | None, Field(ge=0)] = None
        """Show the charts after this many steps: inside by width, outside by width, then p. Default: all."""

    summary = "the inside-outside charts of your own sentence, filling step by step; potentials by --set"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        words = words_of(options.sentence)
        n = len(words)
        given = {**(SPANS if options.sentence == SENTENCE else {}), **options.spans}
        spans = potentials(n, given)
        inside, outside = charts(spans)
        log_z = float(inside[0, n - 1])
        marginals = np.exp(inside + outside - log_z)
        step = checked_step(options.step, 2 * n + 1)
        drawing = _Drawing(words, inside, outside, marginals)
        tree, score = best_tree(words, spans)
        trees = comb(2 * (n - 1), n - 1) // n
        likely = sorted(
            (
                (float(marginals[i, j]), i, j)
                for i in range(n)
                for j in range(i + 1, n)
                if (i, j) != (0, n - 1)
            ),
            reverse=True,
        )[:5]
        rows: list[tuple[object, ...]] = [
            ("binary trees", f"C_{n - 1}", trees),
            ("log Z", "", log_z),
            ("p of the best tree", "", float(np.exp(score - log_z))),
        ]
        rows += [(" ".join(words[i : j + 1]), f"{i + 1}–{j + 1}", p) for p, i, j in likely]
        return LabResult(
            title="Inside and outside",
            see="The inside chart fills from single words (the diagonal) to the whole sentence (the corner), the "
            "outside chart in the reverse order; p sums "
            f"over all {trees:,} binary trees, of which the best is {tree}.",
            blocks=drawing.blocks(step),
            table=(("", "", "value"), rows),
            numbers={
                "words": words,
                "spans": spans,
                "inside": inside,
                "outside": outside,
                "log_partition": log_z,
                "marginals": np.nan_to_num(marginals),
                "trees": trees,
                "best": tree,
                "best_score": score,
            },
            worked=_worked(words, spans, inside),
            steps=[drawing.card(one) for one in range(1, 2 * n + 2)],
        )


def potentials(n: int, given: Mapping[str, float]) -> Array:
    """(n, n) at [first, last], zero by default."""
    found = np.zeros((n, n))
    for key, value in given.items():
        match = SPAN.fullmatch(key)
        if match is None or not 1 <= int(match[1]) <= int(match[2]) <= n:
            raise RegardError(
                f"{key!r} is no span of these {n} words.",
                where=f"--set spans.{key}",
                fix=f"Write first-last, from 1-1 to 1-{n}.",
            )
        found[int(match[1]) - 1, int(match[2]) - 1] = value
    return found


def charts(spans: Array) -> tuple[Array, Array]:
    """inside and outside, (n, n) at [first, last], NaN below the diagonal."""
    n = len(spans)
    inside, outside = np.full((n, n), np.nan), np.full((n, n), np.nan)
    for width in range(n):
        for i in range(n - width):
            j = i + width
            splits = [inside[i, k] + inside[k + 1, j] for k in range(i, j)]
            inside[i, j] = spans[i, j] + (log_sum(np.array(splits)) if splits else 0.0)
    outside[0, n - 1] = 0.0
    for width in reversed(range(n - 1)):
        for i in range(n - width):
            j = i + width
            parents = [outside[i, k] + spans[i, k] + inside[j + 1, k] for k in range(j + 1, n)]
            parents += [outside[k, j] + spans[k, j] + inside[k, i - 1] for k in range(i)]
            outside[i, j] = log_sum(np.array(parents))
    return inside, outside


def best_tree(words: tuple[str, ...], spans: Array) -> tuple[str, float]:
    """The best tree in brackets, and its score."""
    n = len(words)
    best: dict[tuple[int, int], tuple[float, str]] = {}
    for width in range(n):
        for i in range(n - width):
            j = i + width
            ways = [
                (best[i, k][0] + best[k + 1, j][0], f"({best[i, k][1]} {best[k + 1, j][1]})")
                for k in range(i, j)
            ]
            score, tree = max(ways, key=lambda way: way[0]) if ways else (0.0, words[i])
            best[i, j] = (score + float(spans[i, j]), tree)
    return best[0, n - 1][1], best[0, n - 1][0]


class _Drawing:
    """Draws inside, outside and p below each other as they fill: n steps each of the first two, then p."""

    def __init__(self, words: tuple[str, ...], inside: Array, outside: Array, marginals: Array) -> None:
        self.words, self.tables = words, (inside, outside, marginals)

    def blocks(self, step: int) -> list[Block]:
        n = len(self.words)
        width = np.arange(n)[None] - np.arange(n)[:, None]  # width of the span at [first, last], minus 1
        filled = (width < step, width >= 2 * n - step, np.full((n, n), step > 2 * n))
        newest = (width == step - 1, width == 2 * n - step, np.zeros((n, n), bool))
        titles = ("inside (log)", "outside (log)", "marginal p")
        blocks = []
        for place, (title, values) in enumerate(zip(titles, self.tables, strict=True)):
            shown = np.where(filled[place], values, np.nan)
            low, high = np.nanmin(values), np.nanmax(values)
            shades = values if place == 2 else 0.1 + 0.8 * (values - low) / ((high - low) or 1.0)
            outlined = (newest[place] & (width >= 0)).astype(float) if step <= 2 * n else None
            blocks.append(
                draw_log_table(
                    title,
                    self.words,
                    self.words,
                    shown,
                    shades,
                    outlined=outlined,
                    digits="{:.2f}" if place == 2 else "{:.1f}",
                )
            )
        return blocks

    def card(self, step: int) -> Card:
        n = len(self.words)
        width = step if step <= n else 2 * n - step + 1
        many = f"spans of {width} {'word' if width == 1 else 'words'}"
        told = f"inside, {many}" if step <= n else f"outside, {many}" if step <= 2 * n else "marginals"
        return Card(
            frame(below(self.blocks(step), gap=16), description=f"The three charts: {told}."), heading=told
        )


def _worked(words: tuple[str, ...], spans: Array, inside: Array) -> list[str]:
    """inside of the spans from the first word, as equations with numbers."""
    lines = []
    for j in range(1, len(words)):
        splits = " + ".join(f"e^({inside[0, k]:.2f} + {inside[k + 1, j]:.2f})" for k in range(j))
        lines.append(
            f"inside(1, {j + 1}) = {spans[0, j]:g} + log({splits}) = {inside[0, j]:.2f}".replace("-", "−")
        )
    return [*lines, f"log Z = inside(1, {len(words)}) = {written(float(inside[0, -1]))}"]
