"""The words of the inference world, a part of those of the grammar world, and the relations of their meanings."""

from __future__ import annotations

from regard.worlds.grammar.lexicon import POSSESSIVES

PEOPLE = ("man", "woman", "king", "doctor", "farmer", "cook")
ANIMALS = ("dog", "cat", "horse", "fox", "wolf")
THINGS = ("key", "cup", "lamp", "ring")
CLOTHES = ("hat", "coat", "mask")
PLACES = ("garden", "village", "park")

KINDS = {"person": PEOPLE, "animal": ANIMALS, "object": THINGS, "garment": CLOTHES, "place": PLACES}
KIND_OF = {noun: kind for kind, nouns in KINDS.items() for noun in nouns}
"""The hypernym of each noun: whatever is true of a dog is true of an animal."""

TRAITS = ("old", "big", "happy", "rich", "clean", "small", "tired", "quiet")
"""Intersective adjectives: a big happy dog is big, and it is happy."""
OWNERS = tuple(dict.fromkeys(POSSESSIVES))
MANNERS = ("quickly", "often", "again")

ABOUT_LIVING = (("chased", "hugged"), ("loved", "feared"))
ABOUT_THINGS = (("found", "lost"), ("bought", "sold"))
ALONE = (("slept", "worked"), ("walked", "waited"))
OPPOSITE = {
    verb: other for pair in (*ABOUT_LIVING, *ABOUT_THINGS, *ALONE) for verb, other in (pair, pair[::-1])
}
"""Verbs that exclude each other for the same people and things."""
