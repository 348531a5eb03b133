"""Symbols: how the equations of parts write what the parts hand to each other.

A part gives its equations as lines of text in a strict notation, one equation a line; what follows — is a note. A test
evaluates the lines that `regard describe` prints with the weights of real networks. The notation in short:

    W x   u·v   u ⊙ v   [a; b]   A[i, j]   Σ_j a_j   softmax_j(e_j)   [a ≤ b]   √a   a²   W * x (convolution)
    j = 1 … S                      what an index goes over, once on a board
    s_t = …                        an equation; `     for t = 2 … T` narrows it
    gru_y(h, x) = …                a function; the lines indented below it are known inside alone
    — 128 units                    a note

Every weight has a symbol of its own: a letter, and below it what it belongs to. Where a model has several inputs or
outputs, the board marks all symbols of the second with a prime and of the third with two (`primed`): a part writes its
lines as if it were alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

LETTER = r"[^\W\d_²Σ][\u0300-\u036f]*"
TOKEN = re.compile(rf"(?P<name>[→←]?(?:{LETTER})+′*)(?P<below>_(?:{LETTER}|[\d→←′])+|_(?=\{{))?")
RANGE = re.compile(rf"(?:{LETTER})+′* (?:∈|= [^;]*…)")
FUNCTION = re.compile(rf"((?:{LETTER})+)(?:_\S+?)?\(([^)]*)\) = ")
PLACE = re.compile(rf"((?:{LETTER})+) = arg(?:min|max)")
FUNCTIONS = (
    "σ",
    "tanh",
    "exp",
    "log",
    "cos",
    "sin",
    "relu",
    "softmax",
    "max",
    "min",
    "argmax",
    "argmin",
    "mean",
)
SPARSE = ("sparsemax", "entmax")
KNOWN = frozenset((*FUNCTIONS, *SPARSE, "maxpool", "meanpool", "projective", "spanning", "for"))
"""Words of the notation, which are no symbols."""


@dataclass(frozen=True)
class MemorySymbols:
    """How the memory of an input is written.

    values      what is read at a position, and `keys`, what is compared with a query, where that is something else
    summary     the whole input in one vector
    index       of the positions, 1 … `length`
    embedding   the table of vectors of what is read
    last        the last states of the layers of a recurrent encoder, and `carried` what their cells carry beside them
    words       how the words are written that the positions are made of, where they are sentences
    gain        the square of what the values are to be multiplied with so that their features are of about one
    """

    values: str = "h_j"
    keys: str = ""
    summary: str = "h"
    index: str = "j"
    length: str = "S"
    embedding: str = "E_x"
    gain: int = 1
    last: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    words: MemorySymbols | None = None

    @property
    def key(self) -> str:
        return self.keys or self.values

    @property
    def gained(self) -> str:
        """The factor before the values, with a space behind it; nothing where it is 1."""
        return f"√{self.gain} " if self.gain > 1 else ""

    def primed(self, times: int, outer: tuple[str, ...] = ()) -> MemorySymbols:
        """outer: the indices of what the positions belong to."""
        letters = (self.index, self.length, *outer)

        def marked(one: str) -> str:
            return _primed_line(one, "′" * times, frozenset(letters), frozenset())

        written = [self.values, self.keys, self.summary, self.index, self.length, self.embedding]
        values, keys, summary, index, length, embedding = map(marked, written)
        return replace(
            self,
            values=values,
            keys=keys,
            summary=summary,
            index=index,
            length=length,
            embedding=embedding,
            last=tuple(map(marked, self.last)),
            carried=tuple(map(marked, self.carried)),
            words=None if self.words is None else self.words.primed(times, letters),
        )

    @property
    def names(self) -> frozenset[str]:
        """What others must leave as it is written here."""
        bases = {one.partition("_")[0] for one in (self.values, self.keys, self.summary) if one}
        bases |= {match["name"] for one in (*self.last, *self.carried) for match in TOKEN.finditer(one)}
        below = frozenset() if self.words is None else self.words.names
        return frozenset({*bases, self.index, self.length, self.embedding}) | below


@dataclass(frozen=True)
class LookSymbols:
    """How a look is written: energies e_tj of the queries t and the positions j, weights α_tj, what is read c_t.

    query     what asks, with its index: s_{t−1}
    memory    what is looked at
    step      the index of the queries; empty for a single one
    count     how many queries there are, where they are decided together
    mark      stands below the weights of the attention
    prime     after every letter, where there are several attentions
    where     the positions that may be looked at, where not all may: `p ≠ j`
    """

    query: str
    memory: MemorySymbols
    step: str = "t"
    count: str = "T"
    letters: tuple[str, str, str] = ("e", "α", "c")
    mark: str = "a"
    prime: str = ""
    where: str = ""

    def sub(self, letter: str, *below: str) -> str:
        """`β_tj` of the letter and its indices."""
        indices = "".join(below)
        return f"{letter}{self.prime}_{indices}" if indices else f"{letter}{self.prime}"

    @property
    def key(self) -> str:
        return self.memory.key

    @property
    def index(self) -> str:
        return self.memory.index

    @property
    def energy(self) -> str:
        return self.sub(self.letters[0], self.step, self.index)

    @property
    def weight(self) -> str:
        return self.sub(self.letters[1], self.step, self.index)

    @property
    def weights(self) -> str:
        """Of one query, a vector."""
        return self.sub(self.letters[1], self.step)

    @property
    def context(self) -> str:
        return self.sub(self.letters[2], self.step)

    @property
    def below(self) -> str:
        """What stands below a sum or softmax over the positions."""
        return f"{{{self.index}: {self.where}}}" if self.where else self.index

    @property
    def only(self) -> str:
        """A factor that is 0 where nothing may be looked at, with a space behind it; nothing where all may be."""
        return f"[{self.where}] " if self.where else ""


def side_by_side(parts: Sequence[str]) -> str:
    """`[a; b]`, or what there is where there is one."""
    return parts[0] if len(parts) == 1 else f"[{'; '.join(parts)}]"


def factor(number: float) -> str:
    """A number before what it multiplies, with a space; nothing for 1."""
    return "" if number == 1 else f"{number:g} "


def primed(lines: Sequence[str], times: int, kept: Iterable[str] = (), sign: str = "′") -> list[str]:
    """The lines with so many primes after their symbols.

    kept   symbols that are somebody else's, by letter (`h`) or whole (`E_x`), and stay
    sign   another sign than a prime: a combining one
    """
    if not times:
        return list(lines)
    kept, letters = frozenset(kept), _letters(lines)
    found, inside = [], frozenset[str]()
    for place, line in enumerate(lines):
        if not line[:1].isspace():
            inside = _known_inside(lines, place) | _labels(line)
        found.append(_primed_line(line, sign * times, letters - kept, inside | kept))
    return found


def _letters(lines: Iterable[str]) -> frozenset[str]:
    """The indices and sizes of the lines: what is marked below other letters too."""
    found: set[str] = set()
    for line in lines:
        said = line.partition("—")[0]
        if RANGE.match(said):
            found |= {match["name"] for match in TOKEN.finditer(said)} - KNOWN - _labels(line)
        elif place := PLACE.match(said):
            found.add(place[1])
    return frozenset(found)


def _labels(line: str) -> frozenset[str]:
    """A and C of the range `l ∈ {A, C}`."""
    listed = re.search(r"∈ \{([^…}]*)\}", line)
    return frozenset(re.findall(LETTER, listed[1])) if listed else frozenset()


def _known_inside(lines: Sequence[str], place: int) -> frozenset[str]:
    """The parameters of the function that a line defines, and what the lines below it define inside."""
    function = FUNCTION.match(lines[place])
    if function is None or function[1] == "p":
        return frozenset()
    found = {match["name"] for match in TOKEN.finditer(function[2])}
    for line in lines[place + 1 :]:
        if not line[:1].isspace():
            break
        found.add(line.split()[0])
    return frozenset(found)


def _primed_line(line: str, primes: str, letters: frozenset[str], kept: frozenset[str]) -> str:
    said, dash, note = line.partition("—")

    def marked(match: re.Match[str]) -> str:
        name, below = match["name"], match["below"] or ""
        call = match.string[match.end() : match.end() + 1] == "("
        if name + below in kept:
            return name + below
        before = match.string[: match.start()]
        label = before.rfind("_{") > before.rfind("}") and not below and name not in letters
        if not (label or name in kept or name in KNOWN or (name == "p" and call)):
            name += primes
        pieces = re.findall(rf"(?:{LETTER}|[→←])′*|\d+|_", below)
        return name + "".join(piece + primes if piece in letters else piece for piece in pieces)

    def noted(match: re.Match[str]) -> str:
        return marked(match) if match["below"] or match["name"] in letters else match[0]

    return TOKEN.sub(marked, said) + dash + TOKEN.sub(noted, note)
