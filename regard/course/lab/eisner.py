"""Eisner's algorithm on a sentence: inside and outside of complete and incomplete spans, and the gradient.

    score(tree) = Σ θ(h, m) over its arcs, projective: no two of them cross
    p(h → m) = exp(inside + outside − log Z) of the incomplete span (h, m) = ∂ log Z / ∂θ(h, m)
    ∂p(a) / ∂θ(b) = p(a and b) − p(a) p(b)

The rules are in `eisner_chart.py`. `regard.structures.ProjectiveTree` computes the same, for batches, in kernels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import comb
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.dynamic import checked_step, draw_log_table, words_of
from regard.course.lab.eisner_chart import EisnerChart, best_heads, fill, gradients, rules
from regard.course.lab.eisner_key import draw_key
from regard.course.lab.forward_backward import Potential
from regard.course.lab.lab import Lab, LabResult, written
from regard.errors import RegardError
from regard.inspect.drawings.arcs import ArcDiagram
from regard.inspect.layout import Block, below, frame
from regard.inspect.section import Card
from regard.parts import register
from regard.trace import Arcs, Array

ROOT = "$"
SENTENCE = "A boy is running outside ."
ARCS: Mapping[str, Mapping[str, float]] = {
    SENTENCE: {
        "0-4": 1.5, "0-3": 0.5, "2-1": 2.5, "4-2": 1.5, "3-2": 1.0, "4-3": 1.5, "3-4": 0.5, "4-5": 1.5, "2-5": 0.5,
        "4-6": 1.0,
    },
    "The men are fighting outside a deli .": {
        "0-4": 1.5, "0-3": 0.5, "2-1": 2.5, "4-2": 1.5, "3-2": 1.0, "4-3": 1.5, "3-4": 0.5, "4-5": 1.5, "5-7": 1.5,
        "4-7": 0.8, "7-5": 0.5, "7-6": 2.5, "4-8": 1.0,
    },
}  # fmt: skip
"""Potentials of the two sentences of lecture 002, by hand; the auxiliary and the verb compete for the subject."""
ARC = re.compile(r"(\d+)-(\d+)")


@register("lab", "eisner")
class EisnerLab(Lab):
    """The chart of all projective dependency trees over a sentence."""

    class Options(Lab.Options):
        """The chart of all projective dependency trees over a sentence."""

        sentence: Annotated[str, Field(max_length=400)] = SENTENCE
        """The words, separated by spaces; at most 12."""
        arcs: dict[str, Potential] = {}
        """Potentials of arcs by head and word, from 1, the root is 0: `--set arcs.4-2=3`. Others have 0, except
        those of the two sentences of lecture 002."""
        single_root: bool = True
        """Whether one word alone depends on the root."""
        of: Annotated[str, Field(max_length=9)] = ""
        """The arc whose marginal is differentiated: `--set of=4-2`. Default: the one with p nearest to 0.5."""
        step: Annotated[int | None, Field(ge=0)] = None
        """Show the charts after this many steps: inside by width, outside by width, p, its gradient. Default: all."""

    summary = "Eisner's chart of your own sentence: complete and incomplete spans, arcs' marginals, gradients"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        words = words_of(options.sentence)
        n = len(words)
        arcs = potentials(n, {**ARCS.get(" ".join(words), {}), **options.arcs})
        chart = fill(arcs, single_root=options.single_root)
        p = chart.marginals
        chosen = _arc(options.of, n, "of") if options.of else _least_certain(p)
        first, second = gradients(arcs, chosen, single_root=options.single_root)
        apart = float(np.abs(first - p)[:, 1:].max())
        heads, score = best_heads(arcs, single_root=options.single_root)
        step = checked_step(options.step, 2 * n + 2)
        drawing = _Drawing(words, chart, heads, chosen, second)
        trees = comb(3 * n - 2, n - 1) // n if options.single_root else comb(3 * n, n) // (2 * n + 1)
        named = (ROOT, *words)
        rows: list[tuple[object, ...]] = [
            ("projective trees", "", trees),
            ("log Z", "", chart.log_partition),
            ("p of the best tree", "", float(np.exp(score - chart.log_partition))),
            ("p minus ∂ log Z / ∂θ, largest", "", apart),
            *(
                (
                    f"pairs of spans joined, {many} words",
                    "",
                    len(list(rules(many, single_root=options.single_root))),
                )
                for many in (n, 2 * n, 4 * n)
            ),
        ]
        rows += [
            (f"{m} {word}", f"← {named[heads[m - 1]]}", float(p[heads[m - 1], m]))
            for m, word in enumerate(words, 1)
        ]
        return LabResult(
            title="Eisner's chart",
            see="Incomplete spans (an arc and all between its ends) and complete spans (a head and all its words on "
            f"one side) make each other, from short to long; p sums over all {trees:,} projective trees and equals "
            f"the gradient of log Z (largest difference {written(apart)}). With twice the words the work tends to "
            "eight times as much, O(T³).",
            blocks=drawing.blocks(step),
            table=(("", "head", "value"), rows),
            numbers={
                "words": words,
                "arcs": arcs,
                "inside": {"complete": chart.inside["C"], "incomplete": chart.inside["I"]},
                "outside": {"complete": chart.outside["C"], "incomplete": chart.outside["I"]},
                "log_partition": chart.log_partition,
                "marginals": p,
                "gradient": first,
                "of": list(chosen),
                "gradient_of_marginal": second,
                "trees": trees,
                "heads": heads,
                "best_score": score,
            },
            worked=[
                *_worked(n, arcs, chart),
                _worked_tree(heads, arcs, score, chart),
                *_worked_gradient(named, chart, chosen, second),
            ],
            steps=[drawing.card(one) for one in range(1, 2 * n + 3)],
        )


def potentials(n: int, given: Mapping[str, float]) -> Array:
    """(n + 1, n + 1) at [head, word], zero by default."""
    found = np.zeros((n + 1, n + 1))
    for key, value in given.items():
        found[_arc(key, n, f"arcs.{key}")] = value
    return found


def _arc(key: str, n: int, where: str) -> tuple[int, int]:
    match = ARC.fullmatch(key)
    head, word = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (0 <= head <= n and 1 <= word <= n and head != word):
        raise RegardError(
            f"{key!r} is no arc over these {n} words.",
            where=f"--set {where}",
            fix=f"Write head-word: the head from 0, the root, to {n}, the word from 1 to {n}.",
        )
    return head, word


def _least_certain(p: Array) -> tuple[int, int]:
    """The arc with p nearest to 0.5, of the first word that has one."""
    allowed = np.where(np.eye(len(p), dtype=bool), np.inf, np.abs(p - 0.5))[:, 1:]
    head, word = np.unravel_index(int(allowed.argmin()), allowed.shape)
    return int(head), int(word) + 1


class _Drawing:
    """Draws the tables as they fill, and the best tree."""

    def __init__(
        self, words: tuple[str, ...], chart: EisnerChart, heads: list[int], of: tuple[int, int], second: Array
    ) -> None:
        self.words, self.chart, self.heads, self.of, self.second = words, chart, heads, of, second
        self.named = (ROOT, *words)

    def blocks(self, step: int) -> list[Block]:
        """The whole figure after `step` steps: the rules, inside, the outside that p needs, p, its gradient, a tree."""
        n = len(self.words)
        shown = [draw_key(), *self._charts("inside", min(step, n), newest=step <= n)]
        outside = self._charts("outside", min(max(step - n, 0), n), newest=n < step <= 2 * n)
        return [*shown, *outside[:1], *self._answers(step)]

    def card(self, step: int) -> Card:
        """The part of the figure that changes at a step, for a page."""
        n = len(self.words)
        width = step if step <= n else 2 * n - step + 1
        many = f"spans over {width} {'step' if width == 1 else 'steps'}"
        if step <= n:
            told, blocks = f"inside, {many}", [draw_key(), *self._charts("inside", step, newest=True)]
        elif step <= 2 * n:
            told, blocks = f"outside, {many}", self._charts("outside", step - n, newest=True)
        else:
            told = "marginals of arcs" if step == 2 * n + 1 else "gradient of a marginal"
            blocks = self._answers(step)
        return Card(frame(below(blocks, gap=16), description=f"Eisner's chart: {told}."), heading=told)

    def _charts(self, name: str, filled: int, *, newest: bool) -> list[Block]:
        n = len(self.words)
        place = np.arange(n + 1)
        width = np.abs(place[None] - place[:, None])
        ready = (width <= filled if name == "inside" else width > n - filled) if filled else width < 0
        last = width == (filled if name == "inside" else n - filled + 1)
        blocks = []
        for kind, title in (("I", "incomplete"), ("C", "complete")):
            values = getattr(self.chart, name)[kind].copy()
            values[~np.isfinite(values)] = np.nan
            if name == "inside" and kind == "C":
                np.fill_diagonal(values, 0.0)
            known = values[np.isfinite(values)]
            low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
            blocks.append(
                draw_log_table(
                    f"{name} of {title} spans (log)",
                    self.named,
                    self.words,
                    np.where(ready | ((width == 0) & (name == "inside")), values, np.nan)[:, 1:],
                    (0.1 + 0.8 * (values - low) / ((high - low) or 1.0))[:, 1:],
                    outlined=(last & np.isfinite(values))[:, 1:].astype(float) if newest and filled else None,
                )
            )
        return blocks

    def _answers(self, step: int) -> list[Block]:
        n = len(self.words)
        p = np.where(np.eye(n + 1, dtype=bool), np.nan, self.chart.marginals)[:, 1:]
        second = np.where(np.eye(n + 1, dtype=bool), np.nan, self.second.round(2) + 0.0)[:, 1:]
        best = np.zeros_like(p)
        for m, head in enumerate(self.heads):
            best[head, m] = 1.0
        above, word = (self.named[place] for place in self.of)
        empty = np.full_like(p, np.nan)
        known = step > 2 * n
        top = float(np.nanmax(np.abs(second))) or 1.0
        tree = ArcDiagram(
            self.words, Arcs(np.array(self.heads), marginals=self.chart.marginals), title="the best tree"
        )
        blocks = [
            draw_log_table(
                "p(head → word), best tree outlined", self.named, self.words, p if known else empty, p,
                outlined=best if known else None, digits="{:.2f}",
            ),
            draw_log_table(
                f"∂ p({above} → {word}) / ∂θ", self.named, self.words, second if step > 2 * n + 1 else empty,
                np.abs(second) / top, digits="{:.2f}",
            ),
        ]  # fmt: skip
        return [*blocks, tree.block()] if known else blocks


def _worked(n: int, arcs: Array, chart: EisnerChart) -> list[str]:
    """Spans that start at the first word, as equations with numbers."""
    complete, incomplete = chart.inside["C"], chart.inside["I"]
    lines = []
    for b in range(2, min(n, 4) + 1):
        ways = " + ".join(f"e^({complete[1, k]:.2f} + {complete[b, k + 1]:.2f})" for k in range(1, b))
        lines.append(f"I(1, {b}) = {arcs[1, b]:g} + log({ways}) = {incomplete[1, b]:.2f}")
        ways = " + ".join(f"e^({incomplete[1, m]:.2f} + {complete[m, b]:.2f})" for m in range(2, b + 1))
        lines.append(f"C(1, {b}) = log({ways}) = {complete[1, b]:.2f}")
    rooted = [f"e^({incomplete[0, m]:.2f} + {complete[m, n]:.2f})" for m in range(1, n + 1)]
    lines.append(f"log Z = C(0, {n}) = log({' + '.join(rooted)}) = {chart.log_partition:.3f}")
    return [line.replace("-", "−") for line in lines]


def _worked_tree(heads: list[int], arcs: Array, score: float, chart: EisnerChart) -> str:
    """p of the best tree as an equation with numbers: the potentials of its arcs, over Z."""
    inside = " + ".join(f"{arcs[head, word]:g}" for word, head in enumerate(heads, 1))
    z = chart.log_partition
    line = f"p(best tree) = exp({inside}) / Z = e^({score:g} - {z:.3f}) = {np.exp(score - z):.4g}"
    return line.replace("-", "−")


def _worked_gradient(
    named: tuple[str, ...], chart: EisnerChart, of: tuple[int, int], second: Array
) -> list[str]:
    """The gradient of p of an arc in its own potential and in that of its rival, another head of the word."""
    head, word = of
    p = chart.marginals
    own = f"p(a) - p(a)² = {p[of]:.4f} - {p[of] ** 2:.4f} = {second[of]:.4f}"
    lines = [f"∂p(a)/∂θ(a) = {own}, a = {named[head]} → {named[word]}"]
    others = [one for one in range(len(p)) if one not in (head, word)]
    if others:
        rival = max(others, key=lambda one: p[one, word])
        both = f"0 - p(a) p(b) = -{p[of]:.4f} · {p[rival, word]:.4f} = {second[rival, word]:.4f}"
        lines.append(f"∂p(a)/∂θ(b) = p(a and b) - p(a) p(b) = {both}, b = {named[rival]} → {named[word]}")
    return [line.replace("-", "−") for line in lines]
