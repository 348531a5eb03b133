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
(`regard.notation.primed`). A part therefore writes its lines as if it were alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.notation import marked, names_in


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

        def primed(one: str) -> str:
            return marked(one, "′" * times, letters)

        written = [self.values, self.keys, self.summary, self.index, self.length, self.embedding]
        values, keys, summary, index, length, embedding = map(primed, written)
        return replace(
            self,
            values=values,
            keys=keys,
            summary=summary,
            index=index,
            length=length,
            embedding=embedding,
            last=tuple(map(primed, self.last)),
            carried=tuple(map(primed, self.carried)),
            words=None if self.words is None else self.words.primed(times, letters),
        )

    @property
    def names(self) -> frozenset[str]:
        """The symbols that other parts must leave without primes."""
        bases = {one.partition("_")[0] for one in (self.values, self.keys, self.summary) if one}
        bases |= {name for one in (*self.last, *self.carried) for name in names_in(one)}
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
