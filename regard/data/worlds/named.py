"""Worlds by name."""

from __future__ import annotations

from typing import Any

from regard.data.choice import choose
from regard.data.worlds.films.world import FilmsWorld
from regard.data.worlds.formulas.world import FormulasWorld
from regard.data.worlds.grammar.world import GrammarWorld
from regard.data.worlds.inference.world import InferenceWorld
from regard.data.worlds.rooms.world import RoomsWorld
from regard.data.worlds.scenes.world import ScenesWorld
from regard.data.worlds.symbols import CopyWorld, ReverseWorld
from regard.data.worlds.tones.world import TonesWorld
from regard.data.worlds.translation.world import TranslationWorld
from regard.data.worlds.trees import TreesWorld
from regard.data.worlds.world import World

WORLDS: dict[str, type[World]] = {
    made.name: made
    for made in (
        TranslationWorld,
        ReverseWorld,
        CopyWorld,
        GrammarWorld,
        RoomsWorld,
        InferenceWorld,
        TreesWorld,
        FilmsWorld,
        FormulasWorld,
        ScenesWorld,
        TonesWorld,
    )
}


def world(name: str, **options: Any) -> World:
    """The world of that name: world("translation", seed=2, train=5000).splits()["train"]."""
    return choose("world", WORLDS, name, options)
