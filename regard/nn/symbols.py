"""Symbols: the notation of the equations, and the symbols that parts share.

A part writes its equations as lines of text in a strict notation, one equation per line; text after — is a
note. A test evaluates the lines that `regard describe` prints with the weights of real networks. The notation
in short:

    W x   u·v   u ⊙ v   [a; b]   A[i, j]   Σ_j a_j   softmax_j(e_j)   [a ≤ b]   √a   a²   W * x (convolution)
    j = 1 … S                      the range of an index, given once on a board
    s_t = …                        an equation; `     for t = 2 … T` narrows it
    gru_y(h, x) = …                a function; the indented lines below it are local to it
    — 128 units                    a note

Every weight has its own symbol: a letter, with a subscript for what it belongs to. If a model has several
inputs or outputs, the board adds a prime to all symbols of the second and two primes to those of the third
(`primed`). A part therefore writes its lines as if it were alone.
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
"""Words of the notation that are not symbols."""


@dataclass(frozen=True)
class MemorySymbols:
    """Symbols of the memory of an input.

    values      the value at a position; `keys`: the vector compared with a query, if it is not the value
    summary     the whole input in one vector
    index       index of the positions, 1 … `length`
    embedding   the embedding table of the input
    last        the last states of the layers of a recurrent encoder; `carried`: what their cells carry beside
                them
    words       symbols of the words, if the positions are sentences of words
    gain        the square of the factor that scales the features of the values to a magnitude of about one
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
        """The factor before the values, followed by a space; empty if it is 1."""
        return f"√{self.gain} " if self.gain > 1 else ""

    def primed(self, times: int, outer: tuple[str, ...] = ()) -> MemorySymbols:
        """outer: the indices of the memory that these positions belong to."""
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
        """The symbols that other parts must leave without primes."""
        bases = {one.partition("_")[0] for one in (self.values, self.keys, self.summary) if one}
        bases |= {match["name"] for one in (*self.last, *self.carried) for match in TOKEN.finditer(one)}
        below = frozenset() if self.words is None else self.words.names
        return frozenset({*bases, self.index, self.length, self.embedding}) | below


@dataclass(frozen=True)
class LookSymbols:
    """Symbols of an attention: energies e_tj of query t and position j, weights α_tj, context c_t.

    query     the query with its index: s_{t−1}
    memory    the attended memory
    step      the index of the queries; empty for a single one
    count     the number of queries, if they are selected jointly
    mark      the subscript of the attention's parameters
    prime     appended to every letter if there are several attentions
    where     the condition on positions, if not all are allowed: `p ≠ j`
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
        """`β_tj` from a letter and its indices."""
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
        """The weights of one query, a vector."""
        return self.sub(self.letters[1], self.step)

    @property
    def context(self) -> str:
        return self.sub(self.letters[2], self.step)

    @property
    def below(self) -> str:
        """The subscript of a sum or softmax over the positions."""
        return f"{{{self.index}: {self.where}}}" if self.where else self.index

    @property
    def only(self) -> str:
        """A factor that is 0 at positions that are not allowed, followed by a space; empty if all are."""
        return f"[{self.where}] " if self.where else ""


def side_by_side(parts: Sequence[str]) -> str:
    """`[a; b]`, or the part itself if there is only one."""
    return parts[0] if len(parts) == 1 else f"[{'; '.join(parts)}]"


def factor(number: float) -> str:
    """A number as a factor, followed by a space; empty for 1."""
    return "" if number == 1 else f"{number:g} "


def primed(lines: Sequence[str], times: int, kept: Iterable[str] = (), sign: str = "′") -> list[str]:
    """The lines with `times` primes after their symbols.

    kept   symbols of other parts that stay as they are, by letter (`h`) or in full (`E_x`)
    sign   a sign to use instead of a prime, such as a combining one
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
    """The indices and sizes of the lines, which are primed in subscripts too."""
    found: set[str] = set()
    for line in lines:
        said = line.partition("—")[0]
        if RANGE.match(said):
            found |= {match["name"] for match in TOKEN.finditer(said)} - KNOWN - _labels(line)
        elif place := PLACE.match(said):
            found.add(place[1])
    return frozenset(found)


def _labels(line: str) -> frozenset[str]:
    """The labels in a range: A and C of `l ∈ {A, C}`."""
    listed = re.search(r"∈ \{([^…}]*)\}", line)
    return frozenset(re.findall(LETTER, listed[1])) if listed else frozenset()


def _known_inside(lines: Sequence[str], place: int) -> frozenset[str]:
    """The parameters and the local symbols of the function that a line defines."""
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
        opened = before.rfind("_{")
        named = opened > before.rfind("}") and ":" not in before[opened:]  # after a colon stands a condition
        label = named and not below and name not in letters
        if not (label or name in kept or name in KNOWN or (name == "p" and call)):
            name += primes
        pieces = re.findall(rf"(?:{LETTER}|[→←])′*|\d+|_", below)
        return name + "".join(piece + primes if piece in letters else piece for piece in pieces)

    def noted(match: re.Match[str]) -> str:
        return marked(match) if match["below"] or match["name"] in letters else match[0]

    return TOKEN.sub(marked, said) + dash + TOKEN.sub(noted, note)
