"""Random English sentences with their tags and trees (relations of Universal Dependencies)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from regard.worlds.grammar.attachment import choose_meaning
from regard.worlds.grammar.lexicon import (
    ADJECTIVES,
    DEGREES,
    DIRECTIONS,
    LATE_ADVERBS,
    NAMES,
    NOUNS,
    NUMBERS,
    OBJECTS,
    PLURAL_DETERMINERS,
    POSSESSIVES,
    PRONOMINAL,
    SINGULAR_DETERMINERS,
    SUBJECTS,
    SUBORDINATORS,
    VERBS,
    EnglishVerb,
)
from regard.worlds.grammar.sentence import Node, ParsedSentence
from regard.worlds.grammar.verbs import be, inflect

T = TypeVar("T")
KINDS = sorted({kind for noun in NOUNS for kind in noun.kind})
NOUNS_OF = {kind: [noun for noun in NOUNS if kind in noun.kind] for kind in KINDS}
VERBS_OF = {
    frame: [verb for verb in VERBS if verb.frame == frame] for frame in {verb.frame: None for verb in VERBS}
}
FRAMES = {
    "transitive": 36, "intransitive": 18, "ditransitive": 10, "locating": 8, "clausal": 8, "controlling": 6,
    "particle": 7, "telling": 4, "copular": 10,
}  # fmt: skip
DEEPEST = 2
"""Maximum depth of nested clauses: "the rat the cat the dog chased saw slept" has depth 2."""


class Grammar:
    """Draws sentences, determined by the seed.

    seed       a number, or a generator to continue
    crossing   share of sentences whose relative clause is moved to the end, where its arc may cross others: "a man
               slept today who sang". With 0, every tree is projective

    Ambiguities: the attachment of prepositional phrases (the words decide, `lexicon.LICENSES`); whether "and" joins
    noun phrases, verb phrases or clauses (the words after it decide); whether a noun phrase after a noun starts a
    relative clause ("the cat the dog chased slept"); the tags of words such as walks, saw, her, that and to.
    """

    def __init__(self, seed: int | Random = 1, *, crossing: float = 0.0) -> None:
        self.generator = seed if isinstance(seed, Random) else Random(seed)
        self.crossing = crossing

    def sentence(self) -> ParsedSentence:
        root = self.clause(depth=0)
        if self.crossing and self.chance(self.crossing):
            self._extrapose(root)
        joined = self.generator.random()
        if joined < 0.12:
            self._join(root, self.clause(depth=1), comma=self.chance(0.4))
        elif joined < 0.22:
            self._subordinate(root)
        root.after.append(Node(".", "PUNCT", "punct"))
        return root.sentence()

    def clause(self, *, depth: int) -> Node:
        subject = self.subject(depth)
        root = self.predicate(subject, depth=depth)
        if self.chance(0.12):
            second = self.predicate(subject, depth=depth + 1, subjectless=True)
            self._join(root, second)
        return root

    def _join(self, first: Node, second: Node, *, comma: bool = False) -> None:
        second.relation = "conj"
        second.before.insert(0, Node(self.one_of(("and", "and", "but")), "CCONJ", "cc"))
        if comma:
            second.before.insert(0, Node(",", "PUNCT", "punct"))
        first.after.append(second)

    def _subordinate(self, root: Node) -> None:
        inner = self.clause(depth=1)
        inner.relation = "advcl"
        inner.before.insert(0, Node(self.one_of(SUBORDINATORS), "SCONJ", "mark"))
        if self.chance(0.4):
            root.before[:0] = [inner, Node(",", "PUNCT", "punct")]
        else:
            root.after.append(inner)

    def _extrapose(self, root: Node) -> None:
        """Move a relative clause of the subject to the end of the sentence."""
        subject = next((node for node in root.before if node.relation.startswith("nsubj")), None)
        if (
            subject is None
            or subject.tag != "NOUN"
            or any(node.relation == "acl:relcl" for node in subject.after)
        ):
            return
        subject.late.append(self._relative_of(subject, depth=1))

    def subject(self, depth: int) -> Node:
        if self.chance(0.25):
            pronouns = PRONOMINAL if self.chance(0.35) else SUBJECTS
            word = self.one_of(list(pronouns))
            return Node(word, "PRON", plural=pronouns[word])
        return self.noun_phrase(
            ("person",) if self.chance(0.7) else ("animal",), depth=depth, coordinate=0.12
        )

    def noun_phrase(
        self, kinds: Sequence[str], *, depth: int, bare: bool = False, coordinate: float = 0.0
    ) -> Node:
        """bare: without phrases or clauses after it; coordinate: probability of a coordination of two."""
        kind = self.one_of(kinds)
        if kind == "person" and self.chance(0.15):
            node = Node(self.one_of(NAMES), "PROPN", kind=frozenset({"name"}))
        else:
            node = self._common_noun(kind)
            if not bare:
                self._modify(node, depth)
        if coordinate and self.chance(coordinate):
            self._join_nouns(node, self.noun_phrase(kinds, depth=depth, bare=True))
        return node

    def _join_nouns(self, first: Node, second: Node) -> None:
        second.relation = "conj"
        second.before.insert(0, Node(self.one_of(("and", "and", "or")), "CCONJ", "cc"))
        first.after.append(second)
        first.plural = True

    def _common_noun(self, kind: str) -> Node:
        noun, plural = self.one_of(NOUNS_OF[kind]), self.chance(0.35)
        node = Node(noun.plural if plural else noun.singular, "NOUN", kind=noun.kind, plural=plural)
        first = self.generator.random()
        if first < 0.15:
            node.before.append(Node(self.one_of(POSSESSIVES), "DET", "nmod:poss"))
        elif plural and first < 0.35:
            node.before.append(Node(self.one_of(NUMBERS), "NUM", "nummod"))
        elif not plural or first < 0.8:
            node.before.append(
                Node(self.one_of(PLURAL_DETERMINERS if plural else SINGULAR_DETERMINERS), "DET", "det")
            )
        for _ in range(self.generator.choices((0, 1, 2), (60, 32, 8))[0]):
            node.before.append(Node(self.one_of(ADJECTIVES), "ADJ", "amod"))
        if kind in ("thing", "furniture", "clothing") and self.chance(0.12):
            node.before.append(Node(self.one_of(NOUNS_OF["place"]).singular, "NOUN", "compound"))
        if node.before and node.before[0].word == "a" and (*node.before, node)[1].word[0] in "aeiou":
            node.before[0].word = "an"
        return node

    def _modify(self, node: Node, depth: int) -> None:
        """Add phrases and a relative clause after a noun."""
        while self.chance(0.22) and self._attach(node, node, "nmod", depth):
            pass
        if depth < DEEPEST and self.chance(0.16):
            node.after.append(self._relative_of(node, depth + 1))

    def _relative_of(self, noun: Node, depth: int) -> Node:
        if self.chance(0.5):
            pronoun = Node("who" if "person" in noun.kind else "that", "PRON", plural=noun.plural)
            clause = self.predicate(pronoun, depth=depth)
        else:
            clause = self._object_relative(noun, depth)
        clause.relation = "acl:relcl"
        return clause

    def _object_relative(self, noun: Node, depth: int) -> Node:
        """the cat (that) the dog chased: a clause without its object."""
        verbs = [verb for verb in VERBS_OF["transitive"] if noun.kind & set(verb.objects)] or VERBS_OF[
            "transitive"
        ]
        subject = self.subject(depth)
        clause = inflect(self.one_of(verbs), subject, self.generator)
        if self.chance(0.5):
            clause.before.insert(0, Node("that", "PRON", "obj"))
        return clause

    def predicate(self, subject: Node, *, depth: int, subjectless: bool = False) -> Node:
        frames = [frame for frame in FRAMES if depth < DEEPEST or frame not in ("clausal", "controlling")]
        frame = self.generator.choices(frames, [FRAMES[frame] for frame in frames])[0]
        if frame == "copular":
            root = self._copular(subject, depth)
        else:
            verb = self.one_of(VERBS_OF[frame])
            passive = frame == "transitive" and not subjectless and self.chance(0.1)
            root = inflect(verb, subject, self.generator, passive=passive)
            self._complete(root, verb, depth, passive=passive)
        if subjectless:
            root.before.remove(subject)
        return root

    def _copular(self, subject: Node, depth: int) -> Node:
        if self.chance(0.6):
            root = Node(self.one_of(ADJECTIVES), "ADJ")
            if self.chance(0.3):
                root.before.append(Node(self.one_of(DEGREES), "ADV", "advmod"))
        else:
            root = self.noun_phrase(("person",), depth=DEEPEST)
        subject.relation = "nsubj"
        root.before[:0] = [subject, Node(be(subject, past=self.chance(0.4)), "AUX", "cop")]
        return root

    def _complete(self, root: Node, verb: EnglishVerb, depth: int, *, passive: bool) -> None:
        """Add the complements of the frame, then phrases and adverbs."""
        if passive:
            if self.chance(0.5):
                self._add_phrase(root, "by", self.noun_phrase(("person",), depth=depth), "obl:agent")
        elif verb.frame == "controlling":
            inner = self._infinitive(depth)
            root.after.append(inner)
            return
        elif verb.frame == "clausal":
            inner = self.clause(depth=depth + 1)
            inner.relation = "ccomp"
            if self.chance(0.5):
                inner.before.insert(0, Node("that", "SCONJ", "mark"))
            root.after.append(inner)
            return
        else:
            self._add_objects(root, verb, depth)
        if self.chance(0.3):
            self._attach(root, root, "obl", depth)
        if self.chance(0.12):
            root.after.append(Node(self.one_of(LATE_ADVERBS), "ADV", "advmod"))

    def _infinitive(self, depth: int) -> Node:
        verb = self.one_of(VERBS_OF[self.one_of(("transitive", "intransitive", "ditransitive"))])
        inner = Node(verb.base, "VERB", "xcomp", kind=verb.traits)
        inner.before.append(Node("to", "PART", "mark"))
        self._complete(inner, verb, depth + 1, passive=False)
        return inner

    def _add_objects(self, root: Node, verb: EnglishVerb, depth: int) -> None:
        if verb.frame == "intransitive":
            if "motion" in verb.traits and self.chance(0.25):
                root.after.append(Node(self.one_of(DIRECTIONS), "ADV", "advmod"))
            return
        recipient = self.noun_phrase(("person",), depth=DEEPEST, bare=True)
        shifted = verb.frame == "ditransitive" and self.chance(0.5)
        if shifted:
            recipient.relation = "iobj"
            root.after.append(recipient)
        particle = Node(verb.particle, "ADP", "compound:prt")
        before = verb.frame == "particle" and self.chance(0.5)
        if before:
            root.after.append(particle)
        thing = self._object(verb, depth, bare=verb.frame in ("locating", "particle", "telling"))
        root.after.append(thing)
        if verb.frame == "particle" and not before:
            root.after.append(particle)
        elif verb.frame == "ditransitive" and not shifted:
            self._add_phrase(root, "to", recipient, "obl")
        elif verb.frame == "locating":
            preposition, kind = self.one_of((("in", "container"), ("on", "furniture")))
            self._add_phrase(root, preposition, self.noun_phrase((kind,), depth=depth), "obl")

    def _object(self, verb: EnglishVerb, depth: int, *, bare: bool) -> Node:
        living = set(verb.objects) & {"person", "animal"}
        if living and verb.frame == "transitive" and self.chance(0.15):
            return Node(self.one_of(OBJECTS), "PRON", "obj")
        node = self.noun_phrase(verb.objects, depth=depth, bare=bare, coordinate=0.1)
        node.relation = "obj"
        return node

    def _attach(self, host: Node, edge: Node, relation: str, depth: int) -> bool:
        """Attach a prepositional phrase that only `host` licenses there; False if there is none."""
        meaning = choose_meaning(host, edge, self.generator)
        if meaning is None or any(node.relation == "acl:relcl" for node in host.after):
            return False
        preposition, kind = meaning
        self._add_phrase(host, preposition, self.noun_phrase((kind,), depth=max(depth, 1)), relation)
        return True

    def _add_phrase(self, host: Node, preposition: str, noun: Node, relation: str) -> None:
        noun.relation = relation
        noun.before.insert(0, Node(preposition, "ADP", "case"))
        host.after.append(noun)

    def one_of(self, things: Sequence[T]) -> T:
        return self.generator.choice(things)

    def chance(self, share: float) -> bool:
        return self.generator.random() < share
