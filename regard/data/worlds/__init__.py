"""Worlds: generators of data whose truth is known."""

from regard.data.worlds.films import FilmsWorld
from regard.data.worlds.formulas import FormulasWorld
from regard.data.worlds.grammar import GrammarWorld
from regard.data.worlds.inference import InferenceWorld
from regard.data.worlds.named import WORLDS, world
from regard.data.worlds.rooms import RoomsWorld
from regard.data.worlds.scenes import ScenesWorld
from regard.data.worlds.symbols import CopyWorld, ReverseWorld
from regard.data.worlds.translation import TranslationWorld
from regard.data.worlds.trees import TreesWorld
from regard.data.worlds.world import Splits, World

__all__ = [
    "WORLDS",
    "CopyWorld",
    "FilmsWorld",
    "FormulasWorld",
    "GrammarWorld",
    "InferenceWorld",
    "ReverseWorld",
    "RoomsWorld",
    "ScenesWorld",
    "Splits",
    "TranslationWorld",
    "TreesWorld",
    "World",
    "world",
]
