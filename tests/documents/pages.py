"""The examples in README, docs, CONTRIBUTING and the headers of recipes, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*.yaml"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "notebooks").glob("*.md")),
]
KEYS = "inputs|outputs|truth|encoder|decoder|attention|search|training|data|metrics|sweep"


@dataclass(frozen=True)
class Example:
    """A piece of a page: code in a language, or a command."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def fenced(language: str) -> Iterator[Example]:
    """Blocks between ``` of one language."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(rf"^```{language}\n(.*?)^```", text, re.S | re.M):
            yield Example(page.name, text[: found.start()].count("\n") + 2, found[1])


def indented_specs() -> Iterator[Example]:
    """Indented blocks that begin with a key of a spec, such as `    inputs:   {source: {type: bits}}`."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(rf"(?<=\n\n)    (?:{KEYS}):.*\n(?:    .*\n)*", text):
            lines = [line[4:] for line in found[0].splitlines()]
            yield Example(page.name, text[: found.start()].count("\n") + 1, "\n".join(lines))


def commands(program: str = "regard") -> Iterator[Example]:
    """Lines that a reader can type: indented, in a block, after $, between backquotes, or in the header of a
    recipe. Without their remarks."""
    for page in [*PAGES, *RECIPES]:
        text = page.read_text(encoding="utf-8")
        for number, line in enumerate(re.sub(r"\\\n(?:#|\$)?\s*", "", text).splitlines(), 1):
            found = re.match(rf"(?:    |#\s+)?(?:\$ )?({program} .*)", line)
            typed = (
                [found[1]] if found and _is_command(found[1]) else re.findall(rf"`({program} [^`]*)`", line)
            )
            for text in typed:
                for part in text.split(" && "):
                    yield Example(page.name, number, re.split(r"\s+#|\s{4,}| [|<>]{1,2} ", part)[0].strip())


def _is_command(text: str) -> bool:
    """Whether a line that begins with the program's name is a command and not a sentence."""
    return re.match(r"(regard [a-z]+(?: [\w./:-]+| --?\w|$)|python )", text) is not None
