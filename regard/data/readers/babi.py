"""Files of the bAbI tasks (Weston et al. 2015): numbered lines, with questions between the sentences of a story.

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary? <tab> bathroom <tab> 1
    4 Daniel went back to the hallway.

A line number of 1 starts a new story. Each question becomes a row of four fields: `story`, the sentences before the
question, without earlier questions; `question`, without its question mark; `answer`, one label even for a list
("apple,milk"); and `facts`, the indices of the supporting facts in that story, from 0. The questions of one story form
a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.files import Line, read_lines, without_last_blank_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.parts import register


@register("reader", "babi")
class BabiReader(Reader):
    """Stories with questions, in the format of the bAbI tasks."""

    about: ClassVar[str] = "a bAbI file"
    fields: ClassVar[tuple[str, ...]] = ("story", "question", "answer", "facts")

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        sentences: list[str] = []
        places: dict[int, int] = {}
        began = 0
        for line in without_last_blank_lines(read_lines(path)):
            number, _, text = line.text.partition(" ")
            problem = line.problem or _problem(number, text)
            if problem:
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
                continue
            if int(number) == 1:
                sentences, places, began = [], {}, line.number
            if "\t" in text:
                row = _question(text, line, path, sentences, places)
                row.group = f"the story of line {began}"
                yield row
            else:
                places[int(number)] = len(sentences)
                sentences.append(text.strip().removesuffix(".").strip())


def _problem(number: str, text: str) -> str | None:
    if not number.isdecimal() or int(number) < 1:
        return f"begins with {number!r}, expected the number of the line in its story"
    return None if text.strip() else "has a number and nothing after it"


def _question(text: str, line: Line, path: Path, sentences: Sequence[str], places: dict[int, int]) -> Row:
    cells = [cell.strip() for cell in text.split("\t")]

    def bad(problem: str) -> Row:
        return Row(file=str(path), line=line.number, problem=problem, source=line.text)

    if len(cells) != 3:
        return bad(f"has {len(cells)} cells, expected question, answer and supporting facts between tabs")
    facts = cells[2].split()
    wrong = next((fact for fact in facts if not fact.isdecimal() or int(fact) not in places), None)
    if wrong is not None:
        return bad(
            f"names {wrong!r} as a supporting fact, which is no sentence of this story before the question"
        )
    values = {
        "story": " ".join(f"{sentence}." for sentence in sentences),
        "question": cells[0].removesuffix("?").strip(),
        "answer": cells[1],
        "facts": " ".join(str(places[int(fact)]) for fact in facts),
    }
    return Row(values, file=str(path), line=line.number)
