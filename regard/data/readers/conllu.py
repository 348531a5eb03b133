"""CoNLL-U: treebanks of Universal Dependencies, a word per line, read so that they can be written back losslessly.

A line of ten tab-separated cells is a word (numbered from 1), a multiword token ("3-4") or an empty node ("5.1"). A
line that starts with # is a comment, and a blank line ends a sentence. Rows do not contain multiword tokens, empty
nodes and comments, but these are preserved when a sentence is written back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

from regard.data.readers.entries import Entries, Entry
from regard.data.readers.files import opened
from regard.data.readers.reader import Field, Reader, Sides
from regard.data.readers.row import Row
from regard.parts import register

CELLS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FIELDS = {"words": 1, "lemmas": 2, "upos": 3, "tags": 3, "xpos": 4, "feats": 5, "deps": 8, "misc": 9}
"""Field of a row → its cell. `tree` is made of head and deprel; `tags` is another name for upos."""
NEVER_MISSING = ("words", "lemmas", "feats", "deps", "misc")
SAMPLE = 2000
"""Number of lines that are inspected to recognize the format."""
BLANK = "␣"
"""Replaces white space within a cell, because a row separates words by spaces."""

_WHITE = re.compile(r"[^\S\t\r\n]")
_SPECIAL_ID = re.compile(r"[0-9]+-[0-9]+|[0-9]+\.[0-9]+", re.ASCII)


@dataclass(frozen=True)
class ConlluSentence:
    """A sentence as written in a file.

    lines     its lines, including the blank one at the end, with their line ends
    number    number of the first line, from 1
    words     the indices of the lines that are words
    problem   why it cannot be read, with the line number; None if it can
    """

    lines: tuple[str, ...]
    number: int = 1
    words: tuple[int, ...] = ()
    problem: tuple[int, str] | None = None

    @property
    def text(self) -> str:
        """The original text."""
        return "".join(self.lines)

    def cells(self) -> list[list[str]]:
        """The ten cells of each word."""
        return [self.lines[place].rstrip("\r\n").split("\t") for place in self.words]

    def fields(self, wanted: Collection[str] = (*FIELDS, "tree")) -> dict[str, str]:
        """The fields of a row; upos, xpos and tree are missing if the file has "_" for them."""
        table = self.cells()
        if any(_WHITE.search(self.lines[place]) for place in self.words):
            table = [[_one_word(cell) for cell in row] for row in table]
        found = {}
        for name, cell in FIELDS.items():
            if name not in wanted:
                continue
            column = [row[cell] for row in table]
            if name in NEVER_MISSING or any(value != "_" for value in column):
                found[name] = " ".join(column)
        if "tree" in wanted and all(row[6] != "_" for row in table):
            found["tree"] = " ".join(row[6] if row[7] == "_" else f"{row[6]}:{row[7]}" for row in table)
        return found

    def replaced(self, columns: Mapping[str, Sequence[str]]) -> ConlluSentence:
        """The sentence with other values in some of the fields, one per word."""
        lines = list(self.lines)
        for word, place in enumerate(self.words):
            bare = lines[place].rstrip("\r\n")
            cells = bare.split("\t")
            for name, values in columns.items():
                if name == "tree":
                    head, _, relation = values[word].partition(":")
                    cells[6], cells[7] = head, relation or "_"
                else:
                    cells[FIELDS[name]] = values[word]
            lines[place] = "\t".join(cells) + lines[place][len(bare) :]
        return replace(self, lines=tuple(lines))


def _one_word(cell: str) -> str:
    return BLANK.join(cell.split()) or BLANK


def parse_conllu(lines: Iterator[bytes]) -> Iterator[ConlluSentence]:
    """The sentences of a file; their concatenated texts equal the file, byte for byte."""
    gathered: list[str] = []
    start, damage = 1, None
    for number, content in enumerate(lines, start=1):
        try:
            line = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.decode("utf-8", errors="surrogateescape")
            damage = damage or (
                number,
                f"is not UTF-8: byte {error.start + 1} is 0x{content[error.start]:02x}",
            )
        gathered.append(line)
        if not line.strip("\r\n"):
            yield _sentence(gathered, start, damage)
            gathered, start, damage = [], number + 1, None
    if gathered:
        yield _sentence(gathered, start, damage)


def _sentence(lines: Sequence[str], start: int, damage: tuple[int, str] | None) -> ConlluSentence:
    words: list[int] = []
    problem = damage
    for place, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        # A file may start with a byte order mark.
        if not bare or bare.startswith(("#", "\ufeff#")):
            continue
        cells = bare.split("\t")
        reason = _fault(cells, len(words) + 1)
        if reason and problem is None:
            problem = start + place, reason
        elif cells[0].isdigit():
            words.append(place)
    if not words and problem is None and any(line.strip() for line in lines):
        problem = start, "is a sentence without words"
    return ConlluSentence(tuple(lines), start, tuple(words), problem)


def _fault(cells: Sequence[str], expected: int) -> str | None:
    """Why a line is not valid, to follow its location in a message."""
    if len(cells) != len(CELLS):
        return f"has {len(cells)} cells between tabs, expected {len(CELLS)}: {' '.join(CELLS)}"
    if "" in cells:
        return f"has an empty cell {CELLS[cells.index('')]}, expected _ for a missing value"
    if not cells[0].isdigit() and _SPECIAL_ID.fullmatch(cells[0]):
        return None
    if cells[0] != str(expected):
        return (
            f"has the id {cells[0]!r}, expected {expected}, a range such as 3-4 or an empty node such as 5.1"
        )
    if cells[6] != "_" and not (cells[6].isascii() and cells[6].isdigit()):
        return f"has the head {cells[6]!r}, expected a number or _"
    return None


@register("reader", "conllu")
class ConlluReader(Reader):
    """Universal Dependencies. A row is a sentence; fields: words lemmas upos xpos feats tree deps misc, one value per
    word."""

    suffixes: ClassVar[tuple[str, ...]] = (".conllu",)
    about: ClassVar[str] = "a treebank"
    recognized_in: ClassVar[tuple[str, ...] | None] = ("blocks",)
    replaces: ClassVar[tuple[str, ...]] = ("tree", *(name for name in FIELDS if name != "words"))

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether the sentences are words with ten cells; treebanks often have the extension .conll or .txt."""
        if not path.is_file():
            return False
        with opened(path) as stream:
            found = list(parse_conllu(islice(stream, SAMPLE)))[:-1]  # the sample may cut the last one
        return any(one.words for one in found) and not any(one.problem for one in found)

    def sides(self, files: Sequence[Path]) -> Sides | None:
        tags = {name: {"type": "tags"} for name in FIELDS}
        columns = {**tags, "words": {"type": "text", "unit": "word"}, "tree": {"type": "tree"}}
        return Sides("words", "upos", columns)

    def found(self, files: Sequence[Path]) -> list[Field]:
        return [Field(name, "") for name in (*FIELDS, "tree")]

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        with opened(path) as stream:
            for sentence in parse_conllu(iter(stream)):
                if sentence.problem:
                    line, reason = sentence.problem
                    yield Row(file=str(path), line=line, problem=reason, source=sentence.text)
                elif sentence.words:
                    yield Row(sentence.fields(fields), file=str(path), line=sentence.number)

    def entries(self, path: Path, fields: Sequence[str], new: str = "") -> Entries:
        return Entries(_entries(path, fields))


def _entries(path: Path, fields: Sequence[str]) -> Iterator[Entry]:
    """Every sentence; written back, everything but the new values stays unchanged, byte for byte."""
    with opened(path) as stream:
        for sentence in parse_conllu(iter(stream)):

            def written(values: Mapping[str, str], sentence: ConlluSentence = sentence) -> str:
                return sentence.replaced({name: text.split() for name, text in values.items() if text}).text

            line, problem = sentence.problem or (sentence.number, None)
            values = sentence.fields(fields) if sentence.words and problem is None else {}
            lacking = next((name for name in fields if sentence.words and name not in values), None)
            if problem is None and lacking is not None:
                problem = f"the sentence has no {lacking}, which this model reads"
            elif problem is not None:
                problem = f"the line {problem}"
            yield Entry(line, values, written, problem)
