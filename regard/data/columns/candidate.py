"""A response chosen from candidates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import UNSEEN, Tokens
from regard.data.columns.column import Column
from regard.data.columns.document import documents, split_sentences
from regard.data.columns.text import TextColumn
from regard.data.columns.vocabulary import new_unit
from regard.data.ragged import Array, Ragged
from regard.data.readers.files import find, read_lines
from regard.data.turns import plain, shortened
from regard.errors import RegardError
from regard.parts import Count, Mistakes, Plan, nearest, register

NUMBERED = re.compile(r"\d+ ")


@register("column", "candidate")
class CandidateColumn(Column):
    """A text of a list, as its number from 0. The list is read from a file or made of the distinct training texts.

    A response outside the list cannot be chosen. In training data, it is an error if the list is from a file. In other
    data, every prediction for it counts as an error, and the number of such rows is printed once.

    words   splits the candidates into words
    """

    class Options(Column.Options):
        """A text that is chosen from candidates, not generated."""

        candidates: str | None = None
        """A file with one candidate per line. If every line starts with a number, the numbers are ignored. Default: the
        distinct texts of the training data."""
        of: str | None = None
        """The input of type candidates that holds the candidates of each row; default: one list for all rows."""
        min_count: Count = 1
        """Words that occur fewer times in the candidates and the training data are unknown."""

        @property
        def shared(self) -> str | None:
            """The column whose vocabulary it uses."""
            return self.of

    type = "candidate"
    classed = True
    learns_own = True
    has_remark = True
    has_units = True
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("accuracy",)
    decoder = "retrieval"
    scalar = True

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        given = {key: value for key, value in dict(options).items() if key != "of"}
        if options.of is None:
            return cls(name, **given)
        return OfferedColumn(name, of=options.of, field=options.field)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        among = f"those of {options.of}" if options.of else options.candidates or "those of the training data"
        return f"{name}: one of the candidates, {among}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.of is None:
            return
        lists = [one for one, column in plan.inputs.items() if column.type == "candidates"]
        if options.of not in lists:
            mistakes.add(
                f"no input of type candidates is named {options.of!r}.",
                "of",
                fix=nearest(options.of, lists) or f"Add  inputs: {{{options.of}: {{type: candidates}}}}.",
            )
        for option in ("candidates", "min_count"):
            if option in options.model_fields_set:
                mistakes.add(
                    f"{option} has no effect: {options.of} holds the candidates.",
                    option,
                    fix=f"Leave {option} out.",
                )

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        candidates: str | None = None,
        min_count: int = 1,
    ) -> None:
        super().__init__(name, field=field)
        self.file = candidates
        self.words = TextColumn(name, field=field, min_count=min_count)
        self._set([])

    def _set(self, candidates: Sequence[str]) -> None:
        self.candidates = list(candidates)
        self._numbers = {text: number for number, text in enumerate(self.candidates)}

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    def learn(self, values: Iterable[str]) -> None:
        """Fit the vocabulary to the words of the candidates and of these values."""
        self.words.learn(chain(self.candidates, values))

    def learn_own(self, values: Iterable[str]) -> None:
        counts = Counter(map(plain, values))
        self._set(sorted(counts) if self.file is None else read_candidates(self.file))
        missing = [text for text in counts if text not in self._numbers]
        if missing:
            rows = sum(counts[text] for text in missing)
            raise RegardError(
                f"{rows:,} of {sum(counts.values()):,} training rows have a {self.name} that is not among the "
                f"candidates of {self.file}, for instance {shortened(missing[0])!r}.",
                where=self.name,
                fix="Add them to the file, or leave candidates out to choose from the texts of the training data.",
            )

    def encode(self, value: str) -> Array:
        return np.array(self._numbers.get(plain(value), UNSEEN), dtype=np.int32)

    def unseen(self, value: str) -> list[str]:
        return [] if plain(value) in self._numbers else [plain(value)]

    def reference(self, value: str) -> str:
        return plain(value)

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of rows whose response is not a candidate."""
        absent: list[str] = []
        total = 0
        for text, encoded in rows:
            total += 1
            if int(np.reshape(encoded, -1)[0]) == UNSEEN:
                absent.append(plain(text))
        return absent_remark(absent, total, self.name)

    def decode(self, ids: Sequence[int] | int) -> str:
        return self.candidates[int(np.reshape(ids, -1)[0])]

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return [plain(value) if isinstance(value, str) else self.decode(value)]

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B,) int64, UNSEEN if the response is not a candidate"""
        return torch.from_numpy(Ragged.of(encoded).values.astype(np.int64))

    def candidate_words(self) -> Tokens:
        """The words of all candidates, (C, L)."""
        rows = Ragged.of([self.words.encode(text) for text in self.candidates])
        return Tokens(torch.from_numpy(rows.padded()), torch.from_numpy(rows.lengths))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "candidates": self.file, "min_count": self.words.min_count}

    def learned(self) -> dict[str, Any]:
        return {"candidates": self.candidates, **self.words.learned()}

    def pretend(self, size: int) -> None:
        self._set([f"unit{number}" for number in range(size)])
        self.words.pretend(size)

    def units(self) -> dict[str, Sequence[Hashable]]:
        return {"candidates": self.candidates, **self.words.units()}

    def grow(self, kind: str) -> None:
        if kind == "candidates":
            self._set([*self.candidates, new_unit(self.candidates)])
        else:
            self.words = copy(self.words)
            self.words.grow(kind)

    def inner_sizes(self) -> dict[str, int]:
        return {f"words of {self.name}": self.words.size}

    def pretend_inner(self, name: str, size: int) -> None:
        self.words.pretend(size)

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self._set(learned["candidates"])
        self.words.relearn(learned)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Column:
        kind = OfferedColumn if "of" in state["options"] else CandidateColumn
        column = kind(state["name"], **state["options"])
        column.relearn(state["learned"])
        return column


class OfferedColumn(CandidateColumn):
    """A response chosen from the candidates of its own row, which the input `of` holds.

    It is encoded as words, with the vocabulary of that input. In a batch it is the index among the candidates, UNSEEN
    if it is not one of them.
    """

    scalar = False
    classed = learns_own = has_remark = False  # the rows hold the candidates: there is nothing to fit

    def __init__(self, name: str, *, of: str, field: str | None = None) -> None:
        super().__init__(name, field=field)
        self.of = (of,)

    def encode(self, value: str) -> Array:
        return self.words.encode(plain(value))

    def decode(self, ids: Sequence[int] | int) -> str:
        return self.words.decode(np.reshape(ids, -1).tolist())

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        assert beside is not None
        offered, rows = documents(beside[self.of[0]]), Ragged.of(encoded)
        found = []
        for row, candidates in enumerate(offered):
            wanted = rows[row].tolist()
            found.append(candidates.index(wanted) if wanted in candidates else UNSEEN)
        return torch.tensor(found, dtype=torch.int64)

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0]}

    def learned(self) -> dict[str, Any]:
        return self.words.learned()

    def pretend(self, size: int) -> None:
        self.words.pretend(size)

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.words.relearn(learned)

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        wanted = encoded.tolist()
        if any(words == wanted for words in split_sentences(beside[self.of[0]])):
            return None
        return f"is not among the candidates of {self.of[0]}"


def absent_remark(absent: Sequence[str], total: int, name: str) -> str | None:
    if not absent:
        return None
    verb = "has" if len(absent) == 1 else "have"
    return (
        f"{len(absent):,} of {total:,} rows {verb} a {name} that is not among the candidates "
        f"({shortened(absent[0])}): counted as errors"
    )


def read_candidates(path: str) -> list[str]:
    """The distinct candidates of a plain or compressed file, in order."""
    texts = []
    for line in read_lines(find(path)):
        if line.problem:
            raise RegardError(f"the line {line.problem}.", where=f"{path}:{line.number}")
        if line.text.strip():
            texts.append(plain(line.text))
    if not texts:
        raise RegardError("the file has no candidates.", where=path, fix="Write one per line.")
    if all(NUMBERED.match(text) for text in texts):
        texts = [text.partition(" ")[2] for text in texts]
    return list(dict.fromkeys(texts))
