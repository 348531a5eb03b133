"""A dialog: turns, each with a speaker and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from regard.data.columns.document import DocumentColumn, SentenceOptions, sentence_lengths, split_sentences
from regard.data.columns.story import StoryColumn
from regard.data.ragged import Array
from regard.data.turns import MARK, Turn, TurnError, plain, read_turns, turns_of, write_turns
from regard.errors import RegardError
from regard.parts import Count, register


@register("column", "dialog")
class DialogColumn(StoryColumn):
    """Turns with their speakers: "U: can you suggest a film ? | B: how about Logan ?" (`regard.data.turns`).

    Collated like a story whose sentences are the turns: the speaker is the first word of a turn, `U:`.

    mark        separator between turns, with blanks around it; a line end separates them too
    speakers    whether a turn starts with its speaker; without, only the utterance is read
    max_turns   maximum number of turns
    """

    class Options(SentenceOptions):
        """Turns with speakers: `U: can you suggest a film ? | B: how about Logan ?`, or JSON: `[["U", "hi"], …]`."""

        mark: str = MARK
        """Separator between turns, with blanks around it. A line end separates them too."""
        speakers: bool = True
        """Read the speaker as the first word of a turn, `U:`."""
        max_turns: Count = 500
        """Maximum number of turns."""
        max_length: Count = 500
        """Longest turn allowed, in words."""

    type = "dialog"
    stands_for = ()
    layout = "dialog"
    listed = True

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: turns of words" + (", the speaker first" if options.speakers else "")

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        mark: str = MARK,
        speakers: bool = True,
        max_turns: int | None = None,
        **words: Any,
    ) -> None:
        super().__init__(name, field=field, mark=mark, **words)
        if plain(mark) != mark or " " in mark or mark.startswith("["):
            raise RegardError(f"the mark is {mark!r}, expected one word.", where=name)
        self.speakers, self.max_turns = speakers, max_turns

    def turns(self, text: str) -> list[Turn]:
        """The turns of a dialog; raises a RegardError if it cannot be parsed."""
        try:
            return read_turns(text, self.mark)
        except TurnError as error:
            raise RegardError(f"the dialog {error}.", where=self.name) from None

    def sentences(self, text: str) -> list[str]:
        """The text of each turn that the model reads."""
        return [str(turn) if self.speakers else turn.text for turn in self.turns(text)]

    def learn(self, values: Iterable[str]) -> None:
        """Fit the vocabulary. Values of a column that shares it are not dialogs: all of their words are used."""
        self.words.learn(sentence for value in values for sentence in self._readable(value))

    def _readable(self, value: str) -> list[str]:
        try:
            return [str(turn) if self.speakers else turn.text for turn in read_turns(value, self.mark)]
        except TurnError:  # a malformed dialog is refused, with its location, when it is encoded
            return [plain(value)]

    def check_value(self, value: str | None) -> str | None:
        if value is None:
            return "is missing"
        if not value.strip():
            return "is empty"
        try:
            read_turns(value, self.mark)
        except TurnError as error:
            return str(error)
        return None

    def check_encoded(self, encoded: Array) -> str | None:
        lengths = sentence_lengths(encoded)
        if self.max_turns is not None and len(lengths) > self.max_turns:
            return f"has {len(lengths)} turns, more than max_turns {self.max_turns}"
        if self.longest is not None and len(lengths) and int(lengths.max()) > self.longest:
            return f"has a turn of {int(lengths.max())} words, more than max_length {self.longest}"
        return None

    def written(self, value: Any) -> str:
        """Text as it is; a list of turns (pairs or mappings) as one line."""
        if isinstance(value, str):
            return value
        try:
            return write_turns(turns_of(value), self.mark)
        except TurnError as error:
            raise RegardError(f"the dialog {error}.", where=self.name) from None

    def decode(self, ids: Sequence[int]) -> str:
        return f" {self.mark} ".join(self.words.decode(turn) for turn in split_sentences(ids))

    def readable_texts(self, collated: Any, texts: Sequence[str]) -> list[list[str]]:
        """The turns as written, with their speakers."""
        return [[str(turn) for turn in self.turns(text)] for text in texts]

    def divide(self, words: Array) -> list[Array]:
        """In buckets, as for documents: facts of a knowledge base are short, utterances are long."""
        return DocumentColumn.divide(self, words)

    def options(self) -> dict[str, Any]:
        kept = {key: value for key, value in super().options().items() if key != "max_sentences"}
        return {**kept, "speakers": self.speakers, "max_turns": self.max_turns}
