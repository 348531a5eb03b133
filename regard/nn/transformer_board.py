"""The equations of a Transformer, for both encoder and decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regard.nn.letters import Letters, linear
from regard.nn.symbols import side_by_side
from regard.nn.transformer_layers import LEARNED_POSITIONS, Norm

NORM_LINE = "layernorm(x, g, b) = g ⊙ (x − mean(x)) / √(mean((x − mean(x))²) + 0.00001) + b"


@dataclass(frozen=True)
class HeadsSymbols:
    """Symbols of the heads of a layer: energies ε_lηjm, weights π_lηj, the vectors read f_lηj.

    query, key   the query and the key, with the indices `at` and `over`
    layer, head  the indices of layers and heads
    mark         the subscript of the parameters, before the indices of layer and head
    where        the condition on positions, if not all are allowed: `υ ≤ t`
    itself       whether this is self-attention
    turn         the rotations of rotary positions; empty without them
    """

    options: Any
    query: str
    key: str
    at: str
    over: str
    layer: str
    head: str
    letters: tuple[str, str, str]
    mark: str = ""
    where: str = ""
    itself: bool = False
    turn: str = ""

    @property
    def energy(self) -> str:
        return f"{self.letters[0]}_{self.layer}{self.head}{self.at}{self.over}"

    @property
    def weight(self) -> str:
        return f"{self.letters[1]}_{self.layer}{self.head}{self.at}{self.over}"

    @property
    def read(self) -> str:
        return f"{self.letters[2]}_{self.layer}{self.head}{self.at}"

    def projected(self, letter: str, what: str) -> str:
        """`(Q_lη x_lj + b_Qlη)`; all memories share the projection of the query."""
        mark = self.mark.strip("′") if letter == "Q" else self.mark
        below = f"{mark}{self.layer}{self.head}"
        return f"({letter}_{below} {what} + b_{letter}{below})"

    def energy_line(self) -> str:
        scale = self.options.size // self.options.heads
        asked, found = self.projected("Q", self.query), self.projected("K", self.key)
        if self.turn:
            asked, found = (f"({self.turn}_{at} {one})" for at, one in ((self.at, asked), (self.over, found)))
        return f"{self.energy} = {asked}·{found} / √{scale}{self.distance()}"

    @property
    def distances(self) -> str:
        """The table of learned scores of distances; empty without `distances` or outside self-attention."""
        return f"D_{self.mark}{self.layer}{self.head}" if self.itself and self.options.distances else ""

    def distance(self) -> str:
        """The learned score of the distance between the two positions."""
        far = self.options.distances
        if not self.distances:
            return ""
        if self.where:
            return f" + {self.distances}[min({self.at} − {self.over}, {far}) + 1]"
        return f" + {self.distances}[min(max({self.over} − {self.at}, −{far}), {far}) + {far + 1}]"

    def lines(self) -> list[str]:
        below = f"{{{self.over}: {self.where}}}" if self.where else self.over
        weights = f"{self.letters[1]}_{self.layer}{self.head}{self.at}"
        return [
            self.energy_line(),
            *([f"— {self.distances}: a learned score for each distance"] if self.distances else []),
            f"{weights} = softmax_{below}({self.energy})",
            f"{self.read} = Σ_{self.over} {self.weight} {self.projected('V', self.key)}",
        ]

    def together(self) -> str:
        """The output projection of all heads."""
        below, heads = f"{self.mark}{self.layer}", self.options.heads
        reads = [f"{self.letters[2]}_{self.layer}{head}{self.at}" for head in range(1, heads + 1)]
        whole = side_by_side(reads if heads < 3 else [reads[0], "…", reads[-1]])
        return f"O_{below} {whole} + b_O{below}"


def scaled_vector(word: str, width: int, options: Any, mark: str) -> str:
    """The vector of a unit at the size of the layers."""
    return f"√{width} {word}" if width == options.size else f"√{width} W_{mark} {word} + b_{mark}"


def first_line(symbol: str, word: str, width: int, options: Any, mark: str, place: str) -> str:
    """The input of the first layer: the vector of the unit plus that of its position."""
    vector = scaled_vector(word, width, options, mark)
    if options.positions == "learned":
        return f"{symbol} = {vector} + P_{mark}[min({place}, {LEARNED_POSITIONS})]     — P_{mark}: learned"
    waves = "sines and cosines of several frequencies"
    return f"{symbol} = {vector} + P_{mark}[{place}]     — P_{mark}: {waves}"


def heads_letters(path: str, mark: str, layer: str, head: str) -> Letters:
    """The letters of a `MultiHead`."""
    found: Letters = {f"{path}.distance": f"D_{mark}{layer}{head}"}
    for name, letter in {"query": "Q", "key": "K", "value": "V"}.items():
        below = f"{mark}{layer}{head}"
        found |= linear(f"{path}.{name}", f"{letter}_{below}", f"b_{letter}{below}")
    return found | linear(f"{path}.output", f"O_{mark}{layer}", f"b_O{mark}{layer}")


def feed_letters(layer: str, mark: str = "") -> Letters:
    """The letters of a feed-forward network."""
    own = f"{mark}{layer}"
    return linear("feed.0", f"A_{own}", f"b_A{own}") | linear("feed.3", f"B_{own}", f"b_B{own}")


def first_letters(mark: str) -> Letters:
    """The letters of the input of the first layer."""
    return linear("widen", f"W_{mark}", f"b_{mark}") | {"positions.learned": f"P_{mark}"}


def normed(what: str, below: str) -> str:
    return f"layernorm({what}, g_{below}, b_{below})"


def around(what: str, found: str, below: str, norm: Norm) -> str:
    """A residual connection, followed by normalization if `norm` is post."""
    return f"{what} + {found}" if norm == "pre" else normed(f"{what} + {found}", below)


def feed(what: str, layer: str, below: str, norm: Norm, mark: str = "") -> str:
    """The feed-forward network, with normalization of its input if `norm` is pre."""
    seen, own = normed(what, below) if norm == "pre" else what, f"{mark}{layer}"
    return f"B_{own} relu(A_{own} {seen} + b_A{own}) + b_B{own}"


def sizes_line(options: Any) -> str:
    dropout = f", dropout {options.dropout}" if options.dropout else ""
    hidden = options.hidden or 4 * options.size
    return f"— {options.size} features, {hidden} in the feed-forward networks{dropout}"
