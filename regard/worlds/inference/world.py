"""The inference world: pairs of sentences and their logical relation."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.grammar.sentence import ParsedSentence
from regard.worlds.inference.edits import Edits
from regard.worlds.inference.meaning import Meaning, relation
from regard.worlds.inference.premises import Premises
from regard.worlds.inference.wording import say
from regard.worlds.world import SplitWorld

LABELS = ("entailment", "contradiction", "neutral")
UNTOLD = ("the", "was")
"""Words whose head carries no information: every phrase of their kind has one."""


@register("world", "inference")
class InferenceWorld(SplitWorld):
    """Pairs of sentences in natural logic, about a third each of entailment, contradiction and neutral.

    Fields: premise, hypothesis, relation, and the trees premise_tree and hypothesis_tree. Words and trees are those of
    the grammar world. A hypothesis omits parts of its premise, uses the passive, or calls a dog an animal. In a neutral
    one, some word has another head; in a contradiction, something is denied. A neutral hypothesis must contain a pair
    of a word and its head that the premise lacks. (Agent and patient of an active verb have the same head, so they are
    not exchanged.)
    """

    train: RowCount = 12_000
    """Number of pairs; all are distinct, also across splits."""
    joined: float = 0.35
    """Share of premises that join two events with "and"."""
    max_words: int = 18
    """Maximum number of words of a sentence."""
    relation: Literal["all", "entailment", "contradiction", "neutral"] = "all"
    """Generate only pairs of this relation. With entailment, a hypothesis never equals its premise."""

    fields: ClassVar[tuple[str, ...]] = (
        "premise",
        "hypothesis",
        "relation",
        "premise_tree",
        "hypothesis_tree",
    )

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        if not 0.0 <= self.joined <= 1.0:
            raise RegardError(f"joined is {self.joined}, expected a share from 0 to 1.")
        if self.max_words < 10:
            raise RegardError(f"max_words is {self.max_words}, expected at least 10.")
        return self

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[tuple[str, str]]()
        return self.tests_first(lambda _, size: self._rows(generator, size, seen))

    def _rows(self, generator: Random, size: int, seen: set[tuple[str, str]]) -> Iterator[dict[str, str]]:
        premises, edits = Premises(generator, joined=self.joined), Edits(generator)
        while size:
            label = generator.choice(LABELS) if self.relation == "all" else self.relation
            premise, hypothesis = draw_pair(label, premises, edits)
            first, second = say(premise), say(hypothesis)
            if max(len(first), len(second)) > self.max_words or (first.text, second.text) in seen:
                continue
            if self.relation == "entailment" and first.text == second.text:
                continue
            seen.add((first.text, second.text))
            size -= 1
            yield {
                "premise": first.text,
                "hypothesis": second.text,
                "relation": label,
                "premise_tree": first.tree,
                "hypothesis_tree": second.tree,
            }


def draw_pair(label: str, premises: Premises, edits: Edits) -> tuple[Meaning, Meaning]:
    """Draw a premise and a hypothesis until they have this relation."""
    while True:
        premise = premises.draw()
        hypothesis: Meaning | None = edits.shrink(premise)
        if hypothesis is not None and label == "contradiction":
            hypothesis = edits.deny(hypothesis)
        elif hypothesis is not None and label == "neutral":
            hypothesis = edits.disturb(hypothesis)
        if hypothesis is None or relation(premise, hypothesis) != label:
            continue
        if label == "neutral" and not _shows(say(premise), say(hypothesis)):
            continue
        return premise, edits.generalize(hypothesis, premise)


def _shows(premise: ParsedSentence, hypothesis: ParsedSentence) -> bool:
    """Whether a word of the hypothesis that is also in the premise has a head that it lacks there."""
    known = _pairs(premise)
    return any(
        pair not in known for pair in _pairs(hypothesis) if pair[0] in premise.words and pair[0] not in UNTOLD
    )


def _pairs(sentence: ParsedSentence) -> set[tuple[str, str]]:
    words = ("", *sentence.words)
    return {(word, words[head]) for word, head in zip(sentence.words, sentence.heads, strict=True)}
