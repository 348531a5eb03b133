"""A notation: the board of a model in the letters of a lecture or a book, and where each of its weights is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import Message, Option, RegardError
from regard.parts import find, names
from regard.parts.contract import base, required

if TYPE_CHECKING:
    from regard.spec import Spec

NOTATION = Option("as")
WITHOUT = Message("Leave ", NOTATION, " out: `regard describe` prints any model in its own notation.")


@dataclass(frozen=True)
class Weight:
    """The part of a parameter that one letter stands for.

    name    the parameter, as `named_parameters` of the network calls it
    index   slice of the parameter; empty for all of it
    sides   its shape, as text: V(target) if it depends on a vocabulary
    """

    letter: str
    name: str
    index: tuple[slice | int, ...]
    sides: tuple[str, ...]

    @property
    def place(self) -> str:
        """decoders.target.stack.cells.0.weight_ih[0:256]"""
        told = [f"{one.start}:{one.stop}" if isinstance(one, slice) else str(one) for one in self.index]
        return f"{self.name}[{', '.join(told)}]" if told else self.name


@dataclass(frozen=True)
class Lettered:
    """A model in another notation.

    answers      the six answers: {question: lines}
    weights      the location of each weight
    remarks      where this model departs from what the lecture or the book computes
    parameters   the parameters as the source prints them; empty if it prints none
    """

    answers: dict[str, list[str]]
    weights: list[Weight]
    remarks: list[str] = field(default_factory=list)
    parameters: str = ""


@base("notation", options=False)
class Notation:
    """Base class of notations. The docstring of a notation says whose letters it has."""

    @classmethod
    @required("by `regard describe --as`")
    def write(cls, spec: Spec, columns_file: Path | None = None) -> Lettered:
        """A model in this notation; a `RegardError` names anything for which it has no letters.

        columns_file   columns.json of the trained model; default: sizes of vocabularies are symbols
        """
        raise NotImplementedError

    @classmethod
    def declared_wrong(cls) -> str:
        """What is wrong with its declarations; empty if nothing."""
        return "" if vars(cls).get("__doc__") else "lacks a docstring, which says whose letters it has"


def lettered(spec: Spec, notation: str, columns_file: Path | None = None) -> Lettered:
    """A model in a notation; a `RegardError` names anything for which the notation has no letters."""
    known = names("notation")
    if notation not in known:
        fix = Message(f"Use one of {', '.join(known)}.") if known else WITHOUT
        raise RegardError(f"there is no notation {notation!r}.", where=NOTATION, fix=fix)
    found: Lettered = find("notation", notation).write(spec, columns_file)
    return found


def has_letters(spec: Spec, notation: str) -> bool:
    """Whether a notation has letters for every part of a model."""
    try:
        lettered(spec, notation)
    except RegardError:
        return False
    return True
