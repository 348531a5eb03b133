"""Text, split into words, characters, bytes or subwords."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field

from regard.data.batch import UNKNOWN, Tokens
from regard.data.brackets import bracket_fault
from regard.data.columns.column import Column
from regard.data.columns.subword import Algorithm, Subwords
from regard.data.columns.text_check import check_copied, check_repeat, check_shared, check_units
from regard.data.columns.verbatim import verbatim
from regard.data.columns.vocabulary import SPECIAL, Bytes, Characters, Unit, Vocabulary, Words
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Count, Mistakes, Plan, part, register

UnitName = Literal["word", "char", "byte", "subword"]
NormalForm = Literal["NFC", "NFKC", "NFD", "NFKD"]
Case = Literal["keep", "lower", "marked"]
Split = Literal["space", "punctuation"]
Spaces = Literal["keep", "drop"]

VocabularySize = Annotated[int, Field(gt=len(SPECIAL), le=1_000_000_000)]

DEFAULT_SUBWORDS = 8000
UNITS = {"word": "words", "char": "characters", "byte": "bytes", "subword": "subwords"}


@register("column", "text")
class TextColumn(Column):
    """A text as the ids of its pieces.

    unit         unit of tokenization
    vocabulary   maximum number of entries, including the four special ones; None: no limit (8,000 for subwords)
    min_count    rarer words or characters are unknown
    normalize    Unicode normal form, applied first
    case         keep; lower (irreversible); marked (lower case preceded by marks, from which `decode` restores the
                 case)
    split        words only: at spaces, or also at punctuation, with joiners from which `decode` restores the spacing
    spaces       characters only: keep; drop (write words without spaces, as in Japanese)
    max_length   longest text allowed, in pieces; None: no limit
    algorithm    subwords only: the training algorithm
    repeat       number of times the ids are repeated; `decode` returns all repetitions
    brackets     whether a text is a tree in brackets; others are refused
    verbatim     whether batches also contain the pieces themselves, for decoders that copy
    copied_from  words only: the input whose words are left out of the vocabulary, see `learn_beside`
    further      words only: reads words that join the vocabulary although the texts lack them

    decode(encode(x)) == normalize(x) for every x whose pieces are in the vocabulary; for bytes, this is every x.
    `normalize` applies the normal form and case: lower. For words and subwords, it also replaces each run of white
    space by one space and strips both ends; with spaces: drop, it removes all white space. Nothing else is lost.
    """

    class Options(Column.Options):
        """Text, split into words, characters, bytes or subwords."""

        unit: UnitName = "word"
        """Unit of tokenization."""
        vocabulary: VocabularySize | None = None
        """Maximum vocabulary size, including the four special entries; the most frequent units are kept. For subwords,
        the size of the model (default: 8000)."""
        min_count: Count = 1
        """Words or characters that occur fewer times in training are unknown."""
        normalize: NormalForm | None = "NFC"
        """Unicode normal form."""
        case: Case = "keep"
        """keep: no change; lower: convert to lower case; marked: lower case with marks that preserve the case."""
        split: Split = "space"
        """space: split at spaces; punctuation: split off punctuation too, with marks that preserve the spacing."""
        spaces: Spaces = "keep"
        """drop: remove the spaces between characters."""
        max_length: Count = 500
        """Longest text allowed, in units."""
        repeat: Count = 1
        """Number of times to read the text in succession (Zaremba and Sutskever 2014: 2). To read it backward, see
        `direction` of the recurrent encoder."""
        brackets: bool = False
        """The text is a tree in brackets, `(S (NP XX XX )NP XX )S`; rows with unmatched brackets are bad rows."""
        shared: str | None = None
        """Use the vocabulary of this other column, fitted to both."""
        copied_from: str | None = None
        """The input to copy from. Words that it contains in every training row whose output contains them, such as
        names and numbers, are left out of the vocabulary, so that the decoder copies them. The decoder must have
        `copy`."""

    type = "text"
    is_text = True
    shows_unknown = True
    has_units = True
    roles: ClassVar[tuple[str, ...]] = ("inputs", "outputs")
    usual: ClassVar[tuple[str, ...]] = ("bleu", "exact")
    encoder = "recurrent"
    decoder = "recurrent"
    copyable = True

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        given = {key: value for key, value in dict(options).items() if key != "shared"}
        given["verbatim"], given["further"] = bool(asked.get("verbatim")), asked.get("further")
        if asked.get("cut_by"):
            given["model"] = asked["cut_by"]
        kind = "cut-text" if asked.get("cut_by") else "spelled-text" if asked.get("spelled") else ""
        made: Column = (part("column", kind) if kind else cls)(name, **given)
        return made

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: {UNITS[options.unit]}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_shared(options, name, plan, mistakes)
        check_units(options, mistakes)
        check_repeat(options, name, plan, mistakes)
        check_copied(options, name, plan, mistakes)

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        unit: UnitName = "word",
        vocabulary: int | None = None,
        min_count: int = 1,
        normalize: NormalForm | None = "NFC",
        case: Case = "keep",
        split: Split = "space",
        spaces: Spaces = "keep",
        max_length: int | None = None,
        algorithm: Algorithm = "bpe",
        repeat: int = 1,
        brackets: bool = False,
        verbatim: bool = False,
        copied_from: str | None = None,
        further: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        super().__init__(name, field=field)
        self.unit, self.limit, self.min_count, self.form = unit, vocabulary, min_count, normalize
        self.case, self.split, self.max_length, self.algorithm = case, split, max_length, algorithm
        self.spaces, self.repeat, self.brackets, self.verbatim = spaces, repeat, brackets, verbatim
        self.copied_from, self._left_out, self.further = copied_from, frozenset[str](), further
        self._refuse_contradictions()
        self._cutter: Unit | None = None
        self._vocabulary: Vocabulary | None = None
        if unit == "byte":
            self._cutter, self._vocabulary = Bytes(), Vocabulary(Bytes.spellings)
        elif unit == "char":
            self._cutter = Characters(marked=case == "marked")
        elif unit == "word":
            self._cutter = Words(punctuation=split == "punctuation", marked=case == "marked")

    def _refuse_contradictions(self) -> None:
        known = {
            "unit": ("word", "char", "byte", "subword"),
            "form": ("NFC", "NFKC", "NFD", "NFKD", None),
            "case": ("keep", "lower", "marked"),
            "split": ("space", "punctuation"),
            "spaces": ("keep", "drop"),
            "algorithm": ("bpe", "unigram"),
        }
        for option, choices in known.items():
            if getattr(self, option) not in choices:
                option_name = "normalize" if option == "form" else option
                raise RegardError(
                    f"{option_name} is {getattr(self, option)!r}, expected one of {', '.join(map(str, choices))}.",
                    where=self.name,
                )
        if self.split == "punctuation" and self.unit != "word":
            what = f"split: punctuation is for unit: word, but the unit is {self.unit}."
            raise RegardError(what, where=self.name, fix="Leave it out.")
        if self.spaces == "drop" and self.unit != "char":
            what = f"spaces: drop is for unit: char, but the unit is {self.unit}."
            raise RegardError(what, where=self.name, fix="Leave it out.")
        if self.case == "marked" and self.unit == "byte":
            what = "case: marked needs letters, but the unit is byte."
            raise RegardError(what, where=self.name, fix="Use unit: char.")

    @property
    def vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            raise RegardError(
                "there is no vocabulary yet.", where=self.name, fix="Call learn with the training texts."
            )
        return self._vocabulary

    @property
    def cutter(self) -> Unit:
        if self._cutter is None:
            what = "there is no subword model yet."
            raise RegardError(what, where=self.name, fix="Call learn with the training texts.")
        return self._cutter

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self.vocabulary)

    def learn(self, values: Iterable[str]) -> None:
        texts = (self._compose(value) for value in values)
        if self.unit == "subword":
            try:
                subwords = Subwords.train(
                    texts,
                    size=self.limit or DEFAULT_SUBWORDS,
                    algorithm=self.algorithm,
                    marked=self.case == "marked",
                )
            except RegardError as error:
                raise RegardError(error.what, where=error.where or self.name, fix=error.fix) from error
            self._cutter, self._vocabulary = subwords, subwords.vocabulary
        elif self.unit != "byte":
            self._set_vocabulary(self._counted(texts))

    @property
    def learns_counts(self) -> bool:
        return self._by_words and self.unit in ("word", "char")

    @property
    def learns_from(self) -> Any:
        return None if self.further is not None or self._left_out else self.options()

    def learn_counts(self, counts: Iterable[tuple[str, int]]) -> None:
        found: Counter[str] = Counter()
        for text, count in counts:
            for piece in self.cutter.cut(self._compose(text)):
                found[piece] += count
        self._set_vocabulary(found)

    def _set_vocabulary(self, counts: Counter[str]) -> None:
        for piece in self._left_out:
            del counts[piece]
        self._vocabulary = Vocabulary.counted(counts, size=self.limit, min_count=self.min_count)
        if self.further is not None:
            cut = (self.cutter.cut(self._compose(word)) for word in self.further())
            known = self._vocabulary.pieces
            self._vocabulary = Vocabulary(
                list(dict.fromkeys([*known, *(one for some in cut if len(some) == 1 for one in some)]))
            )

    def _counted(self, texts: Iterable[str]) -> Counter[str]:
        """The frequency of each piece."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(self.cutter.cut(text))
        return counts

    @property
    def learns_beside(self) -> str | None:
        return self.copied_from

    def learn_beside(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Leave out words that the text beside contains in every pair in which the column's own text contains them."""
        found, missed = set[str](), set[str]()
        for mine, beside in pairs:
            words = set(self.pieces(mine))
            found |= words
            missed |= words.difference(self.pieces(beside))
        self._left_out = frozenset(found - missed)

    def _compose(self, text: str) -> str:
        if self.spaces == "drop":
            text = "".join(text.split())
        if self.form is not None:
            text = unicodedata.normalize(self.form, text)
        if self.case == "lower":
            text = text.lower()
            # Lower case can undo composition: "İ" becomes two characters.
            text = text if self.form is None else unicodedata.normalize(self.form, text)
        return text

    def normalize(self, text: str) -> str:
        """The text as `decode` would return it."""
        return self.cutter.plain(self._compose(text))

    def reference(self, value: str) -> str:
        return self.normalize(value)

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        return bracket_fault(value) if self.brackets and reason is None and value is not None else reason

    def check_encoded(self, encoded: Array) -> str | None:
        count = len(encoded) // self.repeat
        if self.max_length is not None and count > self.max_length:
            return f"has {count} tokens, more than max_length {self.max_length}"
        return None if len(encoded) else "is empty"

    def copied(self, value: str) -> list[str]:
        return self.pieces(value)

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text, including those outside the vocabulary."""
        return self.cutter.cut(self._compose(text))

    def unknown_units(self, value: str) -> list[str]:
        pieces = self.pieces(value)
        ids = self.vocabulary.ids(pieces)
        return [piece for piece, number in zip(pieces, ids, strict=True) if number == UNKNOWN]

    def join(self, pieces: Sequence[str]) -> str:
        """The text of some pieces: the inverse of `pieces`."""
        return self.cutter.join(pieces)

    def spell(self, ids: Sequence[int]) -> list[str]:
        """The pieces of ids, up to the first END; unknown ones in the notation of the unit."""
        vocabulary, unknown = self.vocabulary, self.cutter.unknown
        return [
            unknown if number == UNKNOWN else vocabulary.piece(number) for number in vocabulary.content(ids)
        ]

    @property
    def _by_words(self) -> bool:
        """Whether the pieces of a text are those of its words and spaces, one after the other."""
        # Marks may span words, letters compose where a space is dropped, and a unigram model weighs whole texts.
        joined = self.case == "marked" or self.spaces == "drop" or self.algorithm == "unigram"
        return type(self) is TextColumn and not joined

    @property
    def between_words(self) -> Array | None:
        if not self._by_words or self.brackets or self.repeat > 1:
            return None
        return np.array(self.vocabulary.ids(self.pieces(" ")), dtype=np.int32)

    @property
    def most_numbers(self) -> int | None:
        return self.max_length

    def encode(self, value: str) -> Array:
        ids = np.array(self.vocabulary.ids(self.pieces(value)), dtype=np.int32)
        return ids if self.repeat == 1 else np.tile(ids, self.repeat)

    def decode(self, ids: Sequence[int]) -> str:
        return self.join(self.spell(ids))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        if isinstance(value, str):
            return [self.cutter.show(piece) for piece in self.pieces(value)]
        return [
            SPECIAL[number] if number < len(SPECIAL) else self.cutter.show(self.vocabulary.piece(number))
            for number in map(int, value)
        ]

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tokens:
        """ids (B, T), lengths (B,)"""
        rows = Ragged.of(encoded)
        return Tokens(torch.from_numpy(rows.padded()), torch.from_numpy(rows.lengths))

    @property
    def reads_texts(self) -> bool:
        return self.verbatim

    def collate_texts(self, encoded: Ragged, texts: Sequence[str]) -> Tokens:
        """Like `collate`, with the pieces of the texts if they are needed `verbatim`."""
        tokens = self.collate(encoded)
        if not self.verbatim:
            return tokens
        return replace(tokens, verbatim=verbatim([self.pieces(text) * self.repeat for text in texts]))

    def readable_texts(self, collated: Any, texts: Sequence[str]) -> list[list[str]]:
        rows = zip(collated.ids.tolist(), collated.lengths.tolist(), texts, strict=True)
        return [
            self.tokens(text) * self.repeat if UNKNOWN in ids[:length] else self.tokens(ids[:length])
            for ids, length, text in rows
        ]

    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        if len(kept) != len(encoded) or self.brackets:
            return None
        return np.where(kept, encoded, UNKNOWN).astype(encoded.dtype) if fill else encoded[kept]

    def reduced_text(self, text: str, kept: Array, *, words: bool = False, fill: bool = False) -> str:
        # A repeated text keeps what its first reading keeps.
        pairs = zip(self.pieces(text), kept.tolist(), strict=False)
        unknown = self.cutter.unknown
        return self.join([piece if one else unknown for piece, one in pairs if one or fill])

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "unit": self.unit,
            "vocabulary": self.limit,
            "min_count": self.min_count,
            "normalize": self.form,
            "case": self.case,
            "split": self.split,
            **({"spaces": "drop"} if self.spaces == "drop" else {}),
            "max_length": self.max_length,
            "algorithm": self.algorithm,
            **({} if self.repeat == 1 else {"repeat": self.repeat}),
            **({"brackets": True} if self.brackets else {}),
            **({"verbatim": True} if self.verbatim else {}),
            **({} if self.copied_from is None else {"copied_from": self.copied_from}),
        }

    def exported(self) -> dict[str, Any] | None:
        if type(self) is not TextColumn or self.verbatim:
            return None
        options = {
            "unit": self.unit,
            "normalize": self.form,
            "case": self.case,
            "split": self.split,
            "spaces": self.spaces,
            "repeat": self.repeat,
            "max_length": self.max_length,
        }
        return {"form": "tokens", "size": self.size, **options, "special": list(SPECIAL), **self.learned()}

    def learned(self) -> dict[str, Any]:
        if isinstance(self._cutter, Subwords):
            return self._cutter.learned()
        return {} if self._vocabulary is None or self.unit == "byte" else {"pieces": self._vocabulary.pieces}

    def pretend(self, size: int) -> None:
        self.relearn({"pieces": [f"unit{number}" for number in range(size)]})

    def units(self) -> dict[str, Sequence[Hashable]]:
        return {UNITS[self.unit]: self.vocabulary.units()}

    def grow(self, kind: str) -> None:
        self._vocabulary = self.vocabulary.grown()

    @property
    def inherits(self) -> bool:
        """Subwords depend on the model that cuts the text: another one would cut known words differently."""
        return self.unit == "subword"

    def relearn(self, learned: Mapping[str, Any]) -> None:
        if "model" in learned:
            subwords = Subwords.relearn(dict(learned), marked=self.case == "marked")
            self._cutter, self._vocabulary = subwords, subwords.vocabulary
        elif "pieces" in learned:
            self._vocabulary = Vocabulary(learned["pieces"])
