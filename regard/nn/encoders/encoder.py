"""What every encoder has in common: it reads an input and leaves a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from regard import parts
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan


@dataclass(frozen=True)
class LastStates:
    """What an encoder holds when it has read everything: the states of its layers, or its summary alone.

    size      features of a layer, of both directions together; None where the options alone do not say it
    carries   whether each layer's cell carries as much again beside its state
    """

    layers: int = 1
    size: int | None = None
    carries: bool = False


class Encoder(nn.Module):
    """An input as its column collates it → Memory with values (B, S, value_size) and summary (B, summary_size).

    A new encoder derives from this class and writes `build`, `board` and `forward`.

    reads   the types of columns it can read
    by_word whether each position of the memory is a word of the input, in order
    of_words whether its positions are sentences, and their words the `parts` of its memory
    for_hops whether it leaves a key and a value of each sentence, as a memory network reads them
    keyed   whether what is compared with a query is something else than the values, of `key_size` features
    gain    what the values are to be multiplied with so that their features are of about one
    """

    class Options(parts.Options):
        """An encoder has the options its own file names."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    by_word: ClassVar[bool] = False
    of_words: ClassVar[bool] = False
    for_hops: ClassVar[bool] = False
    keyed: bool = False
    key_size: int
    value_size: int
    summary_size: int
    gain: float = 1.0

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> Encoder:
        """The encoder for an input, with fresh weights.

        column       the input's fitted column, which knows its vocabulary or its size
        read_files   False leaves pretrained vectors unread: the weights are about to be loaded or only counted
        """
        raise NotImplementedError

    @classmethod
    def board(cls, options: Any) -> list[str]:
        """What it computes, as `regard describe` prints it: the lines that end in what `symbols` names."""
        raise NotImplementedError

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        """How its lines write the memory: h_j, j = 1 … S, and the summary h, unless it says otherwise."""
        return MemorySymbols()

    @classmethod
    def borrowed(cls, options: Any) -> Mapping[str, str]:
        """{symbol: input}: the symbols of its lines that are the embedding of another input."""
        return {}

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        """Report what cannot be about the encoder of the input `name`; most have nothing to refuse."""

    @classmethod
    def width(cls, options: Any) -> int | None:
        """Features of a position of its memory, where the options alone say it."""
        return None

    @classmethod
    def key_width(cls, options: Any) -> int | None:
        """Features by which a position is looked for, where they are others than those that are read there."""
        return cls.width(options)

    @classmethod
    def last_states(cls, options: Any) -> LastStates:
        """What it can hand on to a decoder that begins with it."""
        return LastStates()

    @classmethod
    def owner(cls, options: Any) -> str | None:
        """The input whose encoder this one is, where it has no weights of its own."""
        return None

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        """What it asks of its column beyond the column's own options, as keywords of the column's class."""
        return {}

    def connect(self, options: Any, encoders: Mapping[str, Any]) -> None:
        """Share weights with the other encoders of the model, where the options say so."""

    def hand_on(self) -> LastStates:
        """From now on its memories hold the last states of its layers (`Memory.last`), where it has them."""
        return LastStates(size=self.summary_size)

    def position_names(self, collated: Any) -> list[list[str]] | None:
        """For each row the readable names of its positions; None where they are the pieces of the column itself."""
        return None

    def self_looks(self, collated: Any) -> dict[str, Tensor]:
        """Where the positions of its input looked at each other, (B, heads, S, S) by layer; nothing for most."""
        return {}

    def forward(self, collated: Any) -> Memory:
        raise NotImplementedError


def build_encoder(options: Any, column: Any, *, read_files: bool = True) -> Any:
    """The encoder of an input; its positions beside their parents where the options ask for them."""
    encoder = options.part.build(options, column, read_files=read_files)
    parents = getattr(options, "parents", None)
    if parents is None:
        return encoder
    from regard.nn.encoders.parented import ParentedEncoder

    return ParentedEncoder.around(encoder, parents)


def positions_read(plan: Plan, options: Any) -> bool:
    """Whether some decoder reads the positions of what the encoder with these options leaves."""
    return _read(plan, options, "reads_positions")


def summary_read(plan: Plan, options: Any) -> bool:
    """Whether some decoder reads the summary of what the encoder with these options leaves."""
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
    """Refuse options about the positions, or the summary, of a memory of which no decoder reads them."""
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
    """The options of the encoder that reads an input, be it its own or another's."""
    options = plan.encoder[name]
    other = options.part.owner(options)
    return options if other is None else plan.encoder.get(other, options)
