"""The parameters of a network with the letters that its parts declare for them (`regard.nn.letters`).

A parameter without a letter, such as one of a part that declares none, is assigned to unused letters of the same part,
or else drawn as a box of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from regard.nn.letters import Letter, Letters, renamed
from regard.notation import NotationError, Symbol, primed
from regard.notation.grammar import Parser

FIRST = "first state"


@dataclass(frozen=True)
class LetteredWeight:
    """A parameter, or the part of it that one letter stands for.

    name       its name in the network, `encoders.source.embedding.weight`
    letters    its letters on the board of its part; several if they stand for pieces of different sizes
    count      its size
    owner      the part or module it belongs to: "gru", "additive", "bridge"
    kind       the kind of that part; empty for a module
    numbered   how many modules on its path are numbered: the first indices of its letter are their numbers
    whole      whether the letter is a value that its module computes, with all of its parameters
    piece      its place among the pieces of one tensor
    """

    name: str
    tensor: Tensor
    letters: tuple[Symbol, ...]
    count: int
    owner: str
    kind: str = ""
    numbered: int = 0
    whole: bool = False
    piece: int = 0

    @property
    def identity(self) -> tuple[int, int]:
        """Equal for the same weight under different names, and different for parts of one tensor."""
        return id(self.tensor), self.piece

    @property
    def rows(self) -> int:
        """Rows of the tensor that its letter stands for."""
        return int(self.tensor.shape[0] * self.count // max(1, self.tensor.numel()))


def primed_letters(letters: Letters, lines: Sequence[str], times: int, kept: set[str]) -> Letters:
    """The letters, renamed like the lines of their part."""
    names = sorted({name for one in letters.values() for name in _names(one)})
    found = dict(zip(names, primed([*lines, *names], times, kept)[len(lines) :], strict=True))
    return renamed(letters, found.__getitem__)


def held(part: nn.Module, letters: Letters, path: str) -> list[LetteredWeight]:
    """Every parameter of an encoder or a decoder, including shared ones; `path` is that of the part."""
    modules = dict(part.named_modules(remove_duplicate=False))
    patterns = [(pattern.split("."), pattern, one) for pattern, one in letters.items()]
    found: list[LetteredWeight] = []
    for name, tensor in part.named_parameters(remove_duplicate=False):
        steps = name.split(".")
        pattern, declared = next(
            ((text, one) for pattern, text, one in patterns if _matches(pattern, steps)), ("", "")
        )
        owner, kind = _owner(name, modules)
        shared = isinstance(declared, frozenset)
        pieces = [_parsed(_names(declared))] if shared else [_parsed((one,)) for one in _names(declared)]
        for place, piece in enumerate(pieces or [()]):
            count = tensor.numel() // len(pieces or [()])
            numbered, whole = pattern.count("*"), pattern.endswith("**")
            full = f"{path}.{name}"
            found.append(LetteredWeight(full, tensor, piece, count, owner, kind, numbered, whole, place))
    return found


def _names(letter: Letter) -> tuple[str, ...]:
    if isinstance(letter, str):
        return (letter,) if letter else ()
    return tuple(letter) if isinstance(letter, tuple) else tuple(sorted(letter))


def _parsed(names: Sequence[str]) -> tuple[Symbol, ...]:
    """The symbols; what is not of the notation is left out."""
    found = []
    for name in names:
        try:
            symbol = Parser(name).factor()
        except NotationError:
            continue
        if isinstance(symbol, Symbol):
            found.append(symbol)
    return tuple(found)


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path is the declared one: * is a number, ** any rest."""
    if pattern[-1] == "**":
        return list(pattern[:-1]) == list(path[: len(pattern) - 1])
    pairs = zip(pattern, path, strict=False)
    return len(pattern) == len(path) and all(
        one == other or (one == "*" and other.isdigit()) for one, other in pairs
    )


def _owner(path: str, modules: Mapping[str, Any]) -> tuple[str, str]:
    """The innermost registered part of a parameter and its kind, else the name of its module."""
    steps = path.split(".")
    for length in range(len(steps) - 1, 0, -1):
        options = getattr(type(modules[".".join(steps[:length])]), "Options", None)
        kind, name = getattr(options, "kind", ""), getattr(options, "type", "")
        if name and kind not in ("encoder", "decoder"):
            return name if kind == "cell" else f"{name} {kind}", kind
    if steps[-1].startswith("first"):
        return FIRST, ""
    if len(steps) == 1:
        return steps[0].replace("_", " "), ""
    named = [step for step in steps[:-1] if not step.isdigit() and step not in ("layer", "linear")]
    return named[-1] if named else "weights", ""
