"""CoNLL columns: a word per line with its tags, a blank line between sentences (CoNLL-2000, CoNLL-2003).

EU      NNP  I-NP  I-ORG
rejects VBZ  I-VP  O
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar

from regard.data.columns.spans import is_span_tag
from regard.data.readers.files import Line, read_lines
from regard.data.readers.reader import Field, Reader, Sides
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

DOCUMENT = "-DOCSTART-"
SAMPLE = 2000
"""Number of lines that are inspected to recognize the format."""
ALIKE = 0.95
"""Minimum share of lines with equally many cells."""
MOST_TAGS = 100
_COMMENT = re.compile(r"#\s*[\w.-]+\s*[=:]")


@register("reader", "conll")
class ConllReader(Reader):
    """CoNLL columns: a word per line with its tags. A row is a sentence; a field holds one column, separated by spaces.

    The fields name the columns in order, with `_` for those not wanted. Fields may also be column numbers from 1 ("4"),
    in any selection. Cells are separated by tabs if the file has any, else by spaces. Lines that start with -DOCSTART-
    mark documents and are skipped, and so are comments: lines that start with # and have another number of cells, or
    that read `# name = value`.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".conll", ".iob", ".iob2", ".bio", ".bioes", ".bilou")
    about: ClassVar[str] = "a file with a word per line"
    recognized_in: ClassVar[tuple[str, ...] | None] = ("blocks",)

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether the lines are words with tags, in sentences with blank lines between them."""
        if not path.is_file():
            return False
        lines = [line.text for line in islice(read_lines(path), SAMPLE)]
        sentences = _sentences(lines)
        cells = [row for sentence in sentences for row in sentence]
        if len(sentences) < 2 or len(cells) < 2 * len(sentences):
            return False
        width, count = Counter(map(len, cells)).most_common(1)[0]
        if width < 2 or count < ALIKE * len(cells) or (_is_numbered(sentences) and width == 10):
            return False
        words, tags = ([row[place] for row in cells if len(row) == width] for place in (0, -1))
        if any(" " in cell for cell in (*words, *tags)):
            return False
        if any(map(is_span_tag, tags)):
            return all(tag == "O" or is_span_tag(tag) for tag in tags)
        return len(set(tags)) <= min(MOST_TAGS, len(tags) // 5) and len(set(words)) > len(set(tags))

    def sides(self, files: Sequence[Path]) -> Sides | None:
        """The words, and the tags of the last column."""
        found = self.found(files)
        if len(found) < 2:
            return None
        sentences = _sentences([line.text for line in islice(read_lines(files[0]), SAMPLE)])
        words = "2" if _is_numbered(sentences) and len(found) > 2 else "1"
        tags = {field.name: {"type": "tags"} for field in found}
        return Sides(words, found[-1].name, {**tags, words: {"type": "text", "unit": "word"}})

    def found(self, files: Sequence[Path]) -> list[Field]:
        sentences = _sentences([line.text for line in islice(read_lines(files[0]), SAMPLE)])
        first = sentences[0][0] if sentences else []
        return [Field(str(number), cell) for number, cell in enumerate(first, 1)]

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        places: list[int] | None = None
        gathered: list[Line] = []
        width = 0
        for line in _with_end(read_lines(path)):
            if line.text.strip():
                if not line.text.startswith(DOCUMENT):
                    gathered.append(line)
                continue
            gathered = _without_comments(gathered, width)
            if gathered:
                width = len(_cells(gathered[0].text))
                if places is None:
                    places = columns_of(fields, width, str(path))
                yield _row(gathered, fields, places, width, str(path))
                gathered = []


def _sentences(lines: Sequence[str]) -> list[list[list[str]]]:
    """The cells of each word of each sentence of a sample."""
    found: list[list[list[str]]] = []
    gathered: list[Line] = []
    for number, text in enumerate([*lines, ""]):
        if text.strip():
            if not text.startswith(DOCUMENT):
                gathered.append(Line(number, text))
            continue
        gathered = _without_comments(gathered, len(found[-1][0]) if found else 0)
        if gathered:
            found.append([_cells(line.text) for line in gathered])
            gathered = []
    return found


def _without_comments(sentence: list[Line], width: int) -> list[Line]:
    """A sentence without the comments in it; `#` may also be a word, with as many cells as the other words.

    width   number of cells of the sentence before
    """
    if not any(line.text.startswith("#") for line in sentence):
        return sentence
    widths = Counter(len(_cells(line.text)) for line in sentence if not line.text.startswith("#"))
    usual = widths.most_common(1)[0][0] if widths else width
    return [
        line
        for line in sentence
        if not line.text.startswith("#") or not (_COMMENT.match(line.text) or len(_cells(line.text)) != usual)
    ]


def _is_numbered(sentences: Sequence[Sequence[Sequence[str]]]) -> bool:
    """Whether the first column numbers the words of each sentence."""
    numbers = [[row[0] for row in sentence if row[0].isdecimal()] for sentence in sentences]
    return bool(numbers) and all(
        one and one == [str(number) for number in range(1, len(one) + 1)] for one in numbers
    )


def _with_end(lines: Iterator[Line]) -> Iterator[Line]:
    yield from lines
    yield Line(0, "")


def columns_of(fields: Sequence[str], width: int, where: str) -> list[int]:
    """The index of the column of each field, from 0."""
    if all(field.isdecimal() for field in fields):
        wrong = next((field for field in fields if not 1 <= int(field) <= width), None)
        if wrong:
            raise RegardError(f"there is no column {wrong}; the file has {width}.", where=where)
        return [int(field) - 1 for field in fields]
    if len(fields) == width:
        return list(range(width))
    raise RegardError(
        f"the file has {width} columns, but {len(fields)} fields are named: {', '.join(fields)}.",
        where=where,
        fix=f"List all columns in data.fields, with _ for unused ones, or choose them by number: field: '{width}'.",
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()


def _row(lines: Sequence[Line], fields: Sequence[str], places: Sequence[int], width: int, path: str) -> Row:
    table = []
    for line in lines:
        cells = _cells(line.text)
        problem = line.problem
        if problem is None and len(cells) != width:
            problem = f"has {len(cells)} columns, the first line of its sentence has {width}"
        elif problem is None and any(not cell or " " in cell for cell in cells):
            problem = "has a cell that is empty or contains a space"
        if problem:
            return Row(file=path, line=line.number, problem=problem, source=line.text)
        table.append(cells)
    if width <= max(places):
        reason = f"has {width} columns, expected at least {max(places) + 1}"
        return Row(file=path, line=lines[0].number, problem=reason, source=lines[0].text)
    values = {
        field: " ".join(cells[place] for cells in table)
        for field, place in zip(fields, places, strict=True)
        if field != "_"
    }
    return Row(values, file=path, line=lines[0].number)
