"""Lists of im2latex (Deng et al. 2016), which assign formulas to images.

    0 60ee748793 basic          number of the formula, name of the image, kind of rendering
    60ee748793.png 0            the same after the preprocessing of im2markup

A row is an image: its name (`image`, with .png if the list has no extension), its formula (`formula`), the tokens of
the formula (`tokens`, see `latex.py`), and its number (`number`). The file of formulas has one per line, counted from
0. It is named after a + ("train.lst+formulas.lst"), or else is formulas.lst or im2latex_formulas.lst beside the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.files import Line, find, read_lines, without_last_blank_lines
from regard.data.readers.latex import latex_tokens
from regard.data.readers.reader import Reader, joined
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

FORMULAS = ("formulas.lst", "im2latex_formulas.lst", "formulas.norm.lst", "im2latex_formulas.norm.lst")


@register("reader", "im2latex")
class Im2latexReader(Reader):
    """Images of formulas: lists of im2latex with a file of formulas."""

    about: ClassVar[str] = "an im2latex list"
    fields: ClassVar[tuple[str, ...]] = ("image", "formula", "tokens", "number")
    several: ClassVar[str] = "LIST+FORMULAS"

    def files(self, path: str) -> list[Path]:
        return [find(path), formulas_of(Path(path))] if len(joined(path)) == 1 else super().files(path)

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path, formulas = files
        written = list(read_lines(formulas))
        for line in without_last_blank_lines(read_lines(path)):
            values, problem = _pair(line, written, formulas)
            if problem:
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
            else:
                yield Row({field: values[field] for field in fields}, file=str(path), line=line.number)


def formulas_of(path: Path) -> Path:
    """The file of formulas beside a list."""
    found = next((path.parent / name for name in FORMULAS if (path.parent / name).is_file()), None)
    if found is None:
        raise RegardError(
            f"there is no file of formulas beside the list ({' or '.join(FORMULAS[:2])}).",
            where=str(path),
            fix=f"Name it after the list: {path}+FORMULAS",
        )
    return found


def _pair(line: Line, written: Sequence[Line], formulas: Path) -> tuple[dict[str, str], str | None]:
    cells = line.text.split()
    if line.problem:
        return {}, line.problem
    if len(cells) == 3 and cells[0].isdecimal():
        number, name = int(cells[0]), cells[1]
    elif len(cells) == 2 and cells[1].isdecimal():
        number, name = int(cells[1]), cells[0]
    else:
        return {}, "does not have the form  0 60ee748793 basic  or  60ee748793.png 0"
    if number >= len(written):
        return {}, f"names formula {number}, but {formulas.name} has {len(written)} (0 to {len(written) - 1})"
    if written[number].problem:
        return {}, f"names formula {number}, which {written[number].problem}"
    image = name if Path(name).suffix else f"{name}.png"
    formula = written[number].text.strip()
    return {"image": image, "formula": formula, "tokens": latex_tokens(formula), "number": str(number)}, None
