"""Subwords: units between characters and words, learned from the data with sentencepiece."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from regard.data.columns.casing import mark_case_within, restore_case_within
from regard.data.columns.marks import CAPITAL, ESCAPE, SPACE, UPPER, escape, unescape
from regard.data.columns.vocabulary import SPECIAL, Unit, Vocabulary
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.data.columns.writing import UnitWriting

Algorithm = Literal["bpe", "unigram"]

LONGEST_TRAINING_TEXT = 1 << 16
"""Bytes; sentencepiece ignores longer texts in training."""
TRAINING_TEXTS = 2_000_000
"""Maximum number of training texts that sentencepiece keeps in memory; from more, it draws a sample."""


class Subwords(Unit):
    """Pieces of a sentencepiece model; a piece that begins a word starts with "▁".

    Runs of white space become one space, with none at either end. Everything else is restored exactly if its characters
    occur in the training data (others are unknown). With `marked`, capitals become marks.
    """

    unknown = "<unk>"

    def __init__(self, model: bytes, *, marked: bool = False) -> None:
        import sentencepiece

        self.model, self.marked = model, marked
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(
        cls, texts: Iterable[str], *, size: int, algorithm: Algorithm = "bpe", marked: bool = False
    ) -> Subwords:
        """Train a model. Training is deterministic: one thread, a fixed seed, the texts in their order.

        size   maximum number of pieces, including the four special entries; small data yield fewer
        """
        import sentencepiece

        sentencepiece.set_random_generator_seed(1)
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(prepare(text, marked) for text in texts),
                model_writer=model,
                vocab_size=size,
                model_type=algorithm,
                hard_vocab_limit=False,
                character_coverage=1.0,
                normalization_rule_name="identity",
                max_sentence_length=LONGEST_TRAINING_TEXT,
                input_sentence_size=TRAINING_TEXTS,
                user_defined_symbols=[CAPITAL, UPPER] if marked else [],
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                # Spelled so that no prepared text contains them: sentencepiece would not learn from such a text.
                pad_piece=ESCAPE + SPECIAL[0],
                unk_piece=ESCAPE + SPECIAL[1],
                bos_piece=ESCAPE + SPECIAL[2],
                eos_piece=ESCAPE + SPECIAL[3],
                num_threads=1,
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            raise explain(str(error), size) from error
        return cls(model.getvalue(), marked=marked)

    @property
    def vocabulary(self) -> Vocabulary:
        """The pieces, numbered as in the model."""
        processor = self._processor
        return Vocabulary(processor.id_to_piece(number) for number in range(len(SPECIAL), len(processor)))

    def cut(self, text: str) -> list[str]:
        pieces: list[str] = self._processor.encode(prepare(self.plain(text), self.marked), out_type=str)
        return pieces

    def join(self, pieces: Sequence[str]) -> str:
        text = "".join(pieces).replace(SPACE, " ").removeprefix(" ")
        return unescape(restore_case_within(text) if self.marked else text)

    def plain(self, text: str) -> str:
        return " ".join(text.split())

    def writing(self, pieces: Sequence[str]) -> UnitWriting:
        from regard.data.columns.writing import of_subwords

        return of_subwords(pieces, marked=self.marked)

    def learned(self) -> dict[str, Any]:
        return {"model": base64.b64encode(self.model).decode("ascii")}

    @classmethod
    def relearn(cls, learned: dict[str, Any], *, marked: bool) -> Subwords:
        return cls(base64.b64decode(learned["model"]), marked=marked)


def prepare(text: str, marked: bool) -> str:
    """Text as the model sees it; "▁" and the marks of the text itself are escaped."""
    text = escape(" ".join(text.split()))
    return mark_case_within(text) if marked else text


def explain(message: str, size: int) -> RegardError:
    """An error for the two failures that data can cause, otherwise the message of sentencepiece."""
    if too_small := re.search(r"required_chars\. (\d+) vs (\d+)", message):
        characters = int(too_small[2]) - len(SPECIAL)
        what = f"vocabulary: {size} subwords cannot hold the {characters} characters of the training data."
        return RegardError(what, fix=f"Choose more than {too_small[2]}.")
    if "sentences_.empty()" in message:
        return RegardError(
            "there is no text to learn subwords from.", fix="Check that the training data have rows."
        )
    return RegardError(f"sentencepiece could not learn {size} subwords: {message}")
