"""The base of all encoders: an encoder reads an input and returns a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from regard import parts
from regard.nn.letters import Letters
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan
from regard.parts.contract import base, declared, optional, required


@dataclass(frozen=True)
class LastStates:
    """The first states that an encoder can pass on to a decoder: its layers' last states, or its summary.

    size      features of a layer, both directions together; None if the options alone do not determine it
    states    number of vectors of this size in the state of each layer
    """

    layers: int = 1
    size: int | None = None
    states: int = 1


@base("encoder")
class Encoder(nn.Module):
    """A collated input → Memory with values (B, S, value_size) and summary (B, summary_size).

    To add an encoder, derive from this class and write `build`, `board` and `forward`.

    reads   the types of columns it can read
    by_word whether each position of the memory is a word of the input, in order
    of_words whether its positions are sentences, with their words as the `parts` of its memory
    for_hops whether it returns a key and a value for each sentence, as a memory network needs them
    unchanged whether its values are the vectors of the input as they are
    names_positions whether positions have names of their own for a trace: `position_names`
    looks_at_itself whether it has self-attention for a trace: `self_looks`
    keyed   whether the memory has keys apart from its values, of `key_size` features
    gain    factor that scales the features of the values to a magnitude of about one
    small   options for some thousand rows, which `regard train FILE` chooses; empty: it is not suggested there
    warmup  number of updates over which the learning rate should rise at first, if `regard train FILE` chooses it
    """

    class Options(parts.Options):
        """Each encoder defines its own options."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    by_word: ClassVar[bool] = False
    of_words: ClassVar[bool] = False
    for_hops: ClassVar[bool] = False
    unchanged: ClassVar[bool] = False
    names_positions: ClassVar[bool] = False
    looks_at_itself: ClassVar[bool] = False
    small: ClassVar[Mapping[str, Any]] = {}
    warmup: ClassVar[int] = 0
    keyed: bool = False
    key_size: int
    value_size: int
    summary_size: int
    gain: float = 1.0

    @classmethod
    @required("when a model is built or loaded")
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> Encoder:
        """A new encoder for an input.

        column       the input's fitted column, which knows its vocabulary or its size
        read_files   False: do not read pretrained vectors, because the weights will be loaded or are only
                     counted
        """
        raise NotImplementedError

    @classmethod
    @required("by `regard describe`")
    def board(cls, options: Any) -> list[str]:
        """The equations that `regard describe` prints; they define the symbols of `symbols`."""
        raise NotImplementedError

    @classmethod
    @optional("by `regard describe`, if its symbols are not h_j and h")
    def symbols(cls, options: Any) -> MemorySymbols:
        """The symbols of the memory in these equations; default: h_j, j = 1 … S, and the summary h."""
        return MemorySymbols()

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any) -> Letters:
        """The letter of each parameter in these equations (`regard.nn.letters`)."""
        return {}

    @classmethod
    def borrowed(cls, options: Any) -> Mapping[str, str]:
        """{symbol: input}: the symbols in its equations that are the embedding of another input."""
        return {}

    @classmethod
    @optional("when a spec is checked")
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        """Report invalid options of the encoder of the input `name`; by default there are none."""

    @classmethod
    @optional("when a spec is checked")
    def width(cls, options: Any) -> int | None:
        """Features of a position of its memory, if the options alone determine them."""
        return None

    @classmethod
    def key_width(cls, options: Any) -> int | None:
        """Features of a position's key; default: the same as those of its value."""
        return cls.width(options)

    @classmethod
    def last_states(cls, options: Any) -> LastStates:
        """What it can pass on as first states of a decoder."""
        return LastStates()

    @classmethod
    def owner(cls, options: Any) -> str | None:
        """The input whose encoder this one shares, if it has no weights of its own."""
        return None

    @classmethod
    @optional("before its column is built")
    def column_needs(cls, options: Any) -> dict[str, Any]:
        """Requirements on the input column beyond its own options, as keywords of the column's class."""
        return {}

    def connect(self, options: Any, encoders: Mapping[str, Any]) -> None:
        """Share weights with the other encoders of the model, if the options say so."""

    @optional("when a decoder begins with its last states")
    def hand_on(self) -> LastStates:
        """Make all later memories hold the last states of its layers (`Memory.last`), if it has them."""
        return LastStates(size=self.summary_size)

    @property
    def finds_heads(self) -> bool:
        """Whether it computes a head for each position, so that its `forward` also takes `arcs`."""
        return False

    @declared("names_positions")
    def position_names(
        self, collated: Any, pieces: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]] | None:
        """The readable names of the positions of each row; None if they are the pieces of the column itself.

        pieces   the readable pieces of each row, for names that are made of them
        """
        return None

    @declared("looks_at_itself")
    def self_looks(self, collated: Any) -> dict[str, Tensor]:
        """The weights of self-attention, (B, heads, S, S) by layer."""
        return {}

    @required("for every batch")
    def forward(self, collated: Any) -> Memory:
        """A batch of its column → values (B, S, D), mask (B, S) and summary (B, D')."""
        raise NotImplementedError


def positions_read(plan: Plan, options: Any) -> bool:
    """Whether a decoder reads the positions of the memory of the encoder with these options."""
    return _read(plan, options, "reads_positions")


def summary_read(plan: Plan, options: Any) -> bool:
    """Whether a decoder reads the summary of the encoder with these options."""
    return _read(plan, options, "reads_summaries")


def _read(plan: Plan, options: Any, what: str) -> bool:
    mine = [name for name in plan.encoder if owner_of(plan, name) is options]
    return any(
        name in getattr(decoder.part, what)(decoder, output, plan)
        for output, decoder in plan.decoder.items()
        for name in mine
    )


def refuse_unread(
    options: Any, names: Sequence[str], plan: Plan, mistakes: Mistakes, *, summary: bool = False
) -> None:
    """Refuse options about the positions, or the summary, of a memory if no decoder reads them."""
    if summary_read(plan, options) if summary else positions_read(plan, options):
        return
    what, remedy = ("summary", "") if summary else ("positions", "add an attention over this input, or ")
    for name in names:
        if name in options.model_fields_set and getattr(options, name) is not None:
            leave = f"leave {name} out."
            mistakes.add(
                f"{name} has no effect: no decoder reads the {what} of this input.",
                name,
                fix=(remedy + leave)[0].upper() + (remedy + leave)[1:],
            )


def owner_of(plan: Plan, name: str) -> Any:
    """The options of the encoder that reads an input, its own or a shared one."""
    options = plan.encoder[name]
    other = options.part.owner(options)
    return options if other is None else plan.encoder.get(other, options)
