"""Pairs of sentences in which one entails the other, contradicts it, or neither."""

from regard.worlds.inference.meaning import Entity, Meaning, Situation, relation
from regard.worlds.inference.reading import follows
from regard.worlds.inference.wording import say
from regard.worlds.inference.world import InferenceWorld

__all__ = ["Entity", "InferenceWorld", "Meaning", "Situation", "follows", "relation", "say"]
