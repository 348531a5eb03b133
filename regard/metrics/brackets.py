"""Labeled brackets of constituency trees, by the rules of EVALB (Sekine and Collins 1997).

A bracket is a label with its first and last word; the brackets of a sentence are a multiset.

    bracket_f1 = 2 · matched / (predicted brackets + true brackets),   summed over all sentences

`unlabeled_bracket_f1` compares first and last words alone; the brackets that count are the same. Tags of words are not
brackets, nor is a root that is named TOP or ROOT or has no name; a root of another name is one. Punctuation counts
like any word, whereas the parameter file of EVALB excludes it. An output that is not a tree, or a tree over another
number of words, matches nothing: its true brackets count as missed. EVALB excludes such sentences; `malformed` is their
share.

Two notations are read. If closing brackets have labels, `(S (NP XX XX )NP XX )S`, words have no tags. Otherwise,
`(S (NP (DT the) (NN dog)) (VBD slept))`, a bracket around a single word is its tag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register

Bracket = tuple[str, int, int]
ROOTS = frozenset({"", "TOP", "ROOT"})


def brackets(text: str) -> tuple[Counter[Bracket], int] | None:
    """The brackets of a tree and its number of words; None for a text that is not a tree."""
    tokens = (text if _linear(text) else text.replace("(", " (").replace(")", " ) ")).split()
    found: Counter[Bracket] = Counter()
    opened: list[
        tuple[str, int, bool]
    ] = []  # label, index of the first word, whether it contains more than words
    words, ended = 0, False
    for token in tokens:
        if ended:
            return None
        if token.startswith("("):
            opened[-1:] = [(*opened[-1][:2], True)] if opened else []
            opened.append((token[1:], words, False))
        elif token.startswith(")"):
            if not opened:
                return None
            label, first, inner = opened.pop()
            if first == words or (len(token) > 1 and token[1:] != label):
                return None
            tag = len(token) == 1 and not inner and words - first == 1
            if not tag and not (label in ROOTS and not opened):
                found[label, first, words] += 1
            ended = not opened
        elif not opened:
            return None
        else:
            words += 1
    return None if opened or not ended else (found, words)


def _linear(text: str) -> bool:
    """Whether the closing brackets have labels."""
    return any(token.startswith(")") and token.strip(")") for token in text.split())


@register("metric", "bracket_f1")
class BracketF1(OutputMetric):
    """F1 of labeled brackets."""

    suits = ("text", "constituents")
    labeled: ClassVar[bool] = True

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): twice the matching brackets, and the brackets of both sides, for the best-matching reference."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            candidates = [_compared(str(prediction), str(true), labeled=self.labeled) for true in row]
            lines.append(max(candidates, key=lambda pair: pair[0] / pair[1] if pair[1] else 1.0))
        return np.array(lines, dtype=np.float64)

    def describe(self, count: str) -> str:
        labels = "labelled" if self.labeled else "unlabelled"
        return f"F1 of {labels} brackets|evalb|punctuation:counts|malformed:0|refs:{count}"


@register("metric", "unlabeled_bracket_f1")
class UnlabeledBracketF1(BracketF1):
    """F1 of brackets without their labels."""

    labeled = False


@register("metric", "malformed")
class Malformed(OutputMetric):
    """The share of outputs that are not a tree over the words of the sentence."""

    suits = ("text", "constituents")
    higher_is_better = False

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): whether the output is malformed, and 1."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            mine, lengths = (
                brackets(str(prediction)),
                {true[1] for one in row if (true := brackets(str(one)))},
            )
            lines.append([float(mine is None or mine[1] not in lengths), 1.0])
        return np.array(lines)

    def describe(self, count: str) -> str:
        return f"share of outputs that are no tree over the same words|refs:{count}"


def _compared(prediction: str, reference: str, *, labeled: bool) -> tuple[float, float]:
    mine, true = brackets(prediction), brackets(reference)
    if not labeled:
        mine, true = _unlabeled(mine), _unlabeled(true)
    wanted = sum(true[0].values()) if true else 0
    if mine is None or true is None or mine[1] != true[1]:
        return 0.0, float(wanted + (sum(mine[0].values()) if mine else 0))
    return 2.0 * (mine[0] & true[0]).total(), float(mine[0].total() + wanted)


def _unlabeled(found: tuple[Counter[Bracket], int] | None) -> tuple[Counter[Bracket], int] | None:
    if found is None:
        return None
    counts: Counter[Bracket] = Counter()
    for (_, first, end), count in found[0].items():
        counts["", first, end] += count
    return counts, found[1]
