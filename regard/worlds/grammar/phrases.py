"""Constituents of a sentence in brackets, derived from its dependency tree by rules.

    (S (NP (DET the) (NOUN dog)) (VP (VERB slept) (PP (ADP in) (NP (DET the) (NOUN house)))) (PUNCT .))

A word with its dependents is a phrase, named after the word: NP for nouns, names and pronouns, VP for verbs, ADJP and
ADVP for adjectives and adverbs. With a subject, it becomes an S of everything before the subject, the subject, and a VP
of the rest. A preposition makes it a PP, a subordinating conjunction an SBAR, a coordinating one a CONJP. Words of
other kinds, and adjectives, adverbs and compound nouns without dependents, are not phrases. Crossing arcs are lifted
first. The innermost bracket of each word is its tag.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.data.columns.projectivity import projectivize
from regard.worlds.grammar.sentence import ParsedSentence

PHRASES = {"NOUN": "NP", "PROPN": "NP", "PRON": "NP", "VERB": "VP", "ADJ": "ADJP", "ADV": "ADVP"}
AROUND = {"case": "PP", "mark": "SBAR", "cc": "CONJP"}
"""Relation of a function word → the phrase that it makes of the one it introduces, from the inside out."""


def brackets(sentence: ParsedSentence) -> str:
    """The sentence as a tree in brackets."""
    return _Phrases(sentence).phrase(list(sentence.relations).index("root"))


class _Phrases:
    def __init__(self, sentence: ParsedSentence) -> None:
        self.words, self.tags, self.relations = sentence.words, sentence.tags, sentence.relations
        heads = projectivize(sentence.heads)
        self.below = [
            [word for word, head in enumerate(heads) if head == place + 1] for place in range(len(heads))
        ]

    def word(self, place: int) -> str:
        return f"({self.tags[place]} {self.words[place]})"

    def phrase(self, place: int) -> str:
        """The phrase of a word and its dependents."""
        around = {self.relations[word]: word for word in self.below[place] if self._introduces(word, place)}
        inside = [word for word in self.below[place] if word not in around.values()]
        first: dict[str, list[int]] = {}
        for relation in (one for one in AROUND if one in around):  # a comma may precede "and"
            first[relation] = [word for word in inside if word < around[relation]]
            inside = [word for word in inside if word > around[relation]]
        found = self._core(place, inside)
        for relation, words in first.items():
            parts = [*map(self.phrase, words), self.word(around[relation]), found]
            found = f"({AROUND[relation]} {' '.join(parts)})"
        return found

    def _introduces(self, word: int, head: int) -> bool:
        """Whether a function word precedes its whole phrase; the "to" of an infinitive is part of the phrase."""
        return self.relations[word] in AROUND and self.tags[word] != "PART" and word < head

    def _core(self, place: int, inside: Sequence[int]) -> str:
        name = PHRASES.get(self.tags[place])
        alone = not inside and (name in (None, "ADJP", "ADVP") or self.relations[place] == "compound")
        if alone:
            return self.word(place)
        items = sorted([*inside, place])
        subject = next((word for word in inside if self.relations[word].startswith("nsubj")), None)
        if subject is None:
            return f"({name or 'X'} {self._written(items, place)})"
        before = [word for word in items if word < subject]
        after = [word for word in items if word > subject]
        rest = list(after)
        while rest[-1] > place and self._beside(rest[-1]):
            rest.pop()
        clauses = after[len(rest) :]
        parts = [self._written([*before, subject], place), f"(VP {self._written(rest, place)})"]
        return f"(S {' '.join([*parts, *([self._written(clauses, place)] if clauses else [])])})"

    def _beside(self, word: int) -> bool:
        """Whether a word belongs to the whole clause: the period, and a conjoined clause with its own subject."""
        own = any(self.relations[below].startswith("nsubj") for below in self.below[word])
        return self.relations[word] == "punct" or (self.relations[word] == "conj" and own)

    def _written(self, items: Sequence[int], head: int) -> str:
        return " ".join(self.word(word) if word == head else self.phrase(word) for word in items)
