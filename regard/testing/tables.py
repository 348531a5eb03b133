"""The contract tables of docs/extending.md: `python -m regard.testing.tables docs/extending.md` writes them anew."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from regard.parts.contract import contract_of, methods
from regard.parts.registry import KINDS, names
from regard.storage.files import write_text

BLOCK = re.compile(r"<!-- contract: (\w+) -->\n.*?<!-- end of contract -->", re.DOTALL)


def table(kind: str) -> str:
    """The methods of a kind in Markdown: what each takes and returns, and when it is called; required ones are bold."""
    names(kind)  # imports the base class
    lines = ["| method | returns | | called |", "|---|---|---|---|"]
    for owner in _bases(contract_of(kind).base):
        below = owner is not contract_of(kind).base
        if below:
            lines.append(f"| *{owner.__name__}* | | | |")
        for one in methods(owner):
            if below and one.name not in vars(owner):
                continue  # told above
            name = f"**`{one.takes}`**" if one.needed else f"`{one.takes}`"
            cells = (name, f"`{one.returns}`", one.about, one.when)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _bases(base: type) -> Iterator[type]:
    """The base class of a kind, and the classes below it that declare methods of their own for other parts."""
    yield base
    below: list[type] = base.__subclasses__()
    for one in below:
        own = [
            name
            for name, value in list(vars(one).items())
            if hasattr(getattr(value, "__func__", value), "__called__")
        ]
        if own and one.__module__.startswith("regard."):
            yield from _bases(one)


def filled(page: str) -> str:
    """The page with every table as the code has it."""
    return BLOCK.sub(lambda found: block(found[1]), page)


def block(kind: str) -> str:
    return f"<!-- contract: {kind} -->\n{table(kind)}\n<!-- end of contract -->"


if __name__ == "__main__":
    for kind in KINDS:
        names(kind)
    for argument in sys.argv[1:]:
        path = Path(argument)
        write_text(path, filled(path.read_text(encoding="utf-8")))
