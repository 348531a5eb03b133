"""The programs world (Zaremba and Sutskever 2014, "Learning to Execute")."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Annotated, ClassVar

from pydantic import Field

from regard.parts import register
from regard.worlds.levels import LevelWorld
from regard.worlds.programs.writing import ALPHABET, NAMES, ProgramWriter


@register("world", "programs")
class ProgramsWorld(LevelWorld):
    """A short program and its output: i=8827, c=(i-5347), print((c+8704)). → 12184."""

    length: Annotated[int, Field(ge=1, le=100)] = 3
    """Maximum number of digits of integers at the target level."""
    nesting: Annotated[int, Field(ge=1, le=len(NAMES))] = 2
    """Number of combined operations at the target level."""
    scramble: bool = False
    """Apply a fixed permutation of the characters to the program and its output."""

    fields: ClassVar[tuple[str, ...]] = ("program", "result", "length", "nesting")

    def target(self) -> Mapping[str, int]:
        return {"length": self.length, "nesting": self.nesting}

    def example(self, generator: Random, level: Mapping[str, int]) -> dict[str, str]:
        program, result = ProgramWriter(generator, level["length"]).write(level["nesting"])
        if self.scramble:
            code = permutation(self.seed)
            program, result = program.translate(code), result.translate(code)
        return {"program": program, "result": result}


@cache
def permutation(seed: int) -> Mapping[int, str]:
    """{character: its replacement} for `str.translate`; line ends stay."""
    others = Random(seed).sample(ALPHABET, len(ALPHABET))
    return {ord(character): other for character, other in zip(ALPHABET, others, strict=True)}
