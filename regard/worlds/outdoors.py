"""Outdoors: what people do outside, in the words of the sentences of a lecture, with the constituents of each."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar

from regard.data.brackets import read_brackets
from regard.data.provider import RowCount, Splits
from regard.parts import register
from regard.worlds.world import SplitWorld

PEOPLE = {
    "boy": "boys",
    "girl": "girls",
    "man": "men",
    "woman": "women",
    "child": "children",
    "friend": "friends",
}
PLACES = ("deli", "house", "park", "station", "shop", "school", "river", "bank")
ADJECTIVES = ("young", "old", "tired", "happy", "tall", "loud")
DOING = ("running", "fighting", "sleeping", "playing", "talking", "waiting", "dancing", "eating", "sitting")
DOING_SOMETHING = {
    "watching": PEOPLE,
    "following": PEOPLE,
    "eating": ("sandwich", "apple"),
    "kicking": ("ball", "can"),
}
WORN = ("hat", "bag", "coat", "camera")
WHERE = ("outside", "in", "near", "behind")
ADVERBS = ("outside", "inside", "here", "quietly", "again")
SLIDES = (
    "(S (NP (DET A) (NOUN boy)) (VP (AUX is) (VERB running) (ADV outside)) (PUNCT .))",
    "(S (NP (DET The) (NOUN men)) (VP (AUX are) (VERB fighting)"
    " (PP (ADP outside) (NP (DET a) (NOUN deli)))) (PUNCT .))",
)
"""The sentences of lecture 002; always the first of the split `test`, never in train."""


@register("world", "outdoors")
class OutdoorsWorld(SplitWorld):
    """English sentences with their constituents, small enough to train a parser in a minute.

    "outside" is an adverb or a preposition; a phrase with "with" belongs to the person it describes (with a hat) or to
    what is done (with a friend). The two sentences of lecture 002 are the first two rows of the split `test`.
    """

    train: RowCount = 2_000
    """Number of sentences; all are distinct, also across splits."""
    dev: RowCount = 200
    """Rows of the split `dev`."""
    test: RowCount = 500
    """Rows of the split `test`, the sentences of the lecture among them."""

    fields: ClassVar[tuple[str, ...]] = ("words", "phrases", "parse")

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set(SLIDES)
        return self.tests_first(lambda split, size: _rows(generator, size, seen, split == "test"))


def _rows(generator: Random, size: int, seen: set[str], test: bool) -> Iterator[dict[str, str]]:
    first = SLIDES[:size] if test else ()
    for phrases in first:
        yield _row(phrases)
    size -= len(first)
    while size > 0:
        phrases = _sentence(generator)
        if phrases not in seen:
            seen.add(phrases)
            size -= 1
            yield _row(phrases)


def _row(phrases: str) -> dict[str, str]:
    tree = read_brackets(phrases)
    return {"words": " ".join(tree.leaves), "phrases": phrases, "parse": tree.linear()}


def _sentence(generator: Random) -> str:
    plural = generator.random() < 0.5
    subject = _person(generator, plural)
    first, rest = subject.removeprefix("(NP (DET ").split(")", 1)
    parts = [f"(AUX {'are' if plural else 'is'})", *_doing(generator)]
    return f"(S (NP (DET {first.capitalize()}){rest} (VP {' '.join(parts)}) (PUNCT .))"


def _doing(generator: Random) -> list[str]:
    """A verb, perhaps with an object, and up to two phrases about it."""
    if generator.random() < 0.5:
        parts = [f"(VERB {generator.choice(DOING)})"]
    else:
        verb = generator.choice(sorted(DOING_SOMETHING))
        things = DOING_SOMETHING[verb]
        seen = (
            _person(generator, False)
            if things is PEOPLE
            else _thing(generator.choice(sorted(things)), generator)
        )
        parts = [f"(VERB {verb})", seen]
    if generator.random() < 0.3:
        parts.append(f"(PP (ADP with) {_thing(generator.choice(('friend', 'child')), generator)})")
    if generator.random() < 0.5:
        parts.append(f"(PP (ADP {generator.choice(WHERE)}) {_thing(generator.choice(PLACES), generator)})")
    elif generator.random() < 0.5:
        parts.append(f"(ADV {generator.choice(ADVERBS)})")
    return parts


def _person(generator: Random, plural: bool) -> str:
    """A person, perhaps with what they wear."""
    noun = generator.choice(sorted(PEOPLE))
    determiner = generator.choice(("the", "two", "some") if plural else ("the", "a"))
    worn = f" (PP (ADP with) {_thing(generator.choice(WORN), generator)})" if generator.random() < 0.2 else ""
    return f"(NP (DET {determiner}){_adjective(generator)} (NOUN {PEOPLE[noun] if plural else noun}){worn})"


def _thing(noun: str, generator: Random) -> str:
    article = generator.choice(("the", "a"))
    adjective = _adjective(generator)
    return f"(NP (DET {article}){adjective} (NOUN {noun}))"


def _adjective(generator: Random) -> str:
    return f" (ADJ {generator.choice(ADJECTIVES)})" if generator.random() < 0.3 else ""
