"""The overview of docs/results.md, generated from the entries: the systems of each lecture and their scores.

python -m regard.course.lectures.overview docs/results.md      rewrites it between its two markers
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from regard.course.lectures.catalog import answered_by, decks
from regard.course.lectures.checks import TrainedCheck
from regard.course.lectures.entry import Deck
from regard.errors import RegardError
from regard.storage.files import write_text

BEGIN = "<!-- by lecture: python -m regard.course.lectures.overview docs/results.md -->"
END = "<!-- end of by lecture -->"


def overview(book: str) -> str:
    """A table for each lecture, whose figures link to the sections of the page that explain them."""
    sections = {}
    for part in re.split(r"(?m)^(?=##)", book):
        title, _, text = part.partition("\n")
        sections[title.lstrip("# ").strip()] = text
    lines: list[str] = []
    for deck in decks():
        rows = _rows(deck, sections)
        lines += [f"**{deck.deck}: {deck.title}** ([entries](lectures/{deck.deck}.md))", ""]
        lines += [
            "| system | what | on record | bar | told under | entries |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    return "\n".join(lines)


def _rows(deck: Deck, sections: Mapping[str, str]) -> list[str]:
    """The figures of a lecture, each once, in the order of the entries."""
    entries: dict[tuple[str, str, str, str], list[str]] = {}
    checks: dict[tuple[str, str, str, str], TrainedCheck] = {}
    for entry in deck.entries:
        for check in answered_by(f"{deck.deck}.{entry.number}").checks:
            if isinstance(check, TrainedCheck):
                key = (check.trained, check.of, check.figure, check.under)
                entries.setdefault(key, []).append(f"{deck.deck}.{entry.number}")
                checks[key] = check
    found = []
    for key, names in entries.items():
        system, what, figure, under = key
        told = [title for title, text in sections.items() if under in title and figure in text]
        title = under if under in told or not told else told[0]
        bar = checks[key].told().removeprefix(f"{what}: ")
        link = f"[{_safe(title)}](#{_anchor(title)})"
        found.append(
            f"| `{system}` | {_safe(what)} | {_safe(figure)} | {_safe(bar)} | {link} | {', '.join(names)} |"
        )
    return found


def _anchor(title: str) -> str:
    """GitHub's anchor of a heading."""
    return "".join(sign for sign in title.lower() if sign.isalnum() or sign in " -_").replace(" ", "-")


def _safe(text: str) -> str:
    return text.strip().replace("|", "\\|")


def renewed(book: str) -> str:
    """The page with its overview regenerated."""
    if book.count(BEGIN) != 1 or book.count(END) != 1:
        raise RegardError(
            "expected the two marks of the overview, once each.",
            where="docs/results.md",
            fix=f"Put a line {BEGIN} and a line {END} where it belongs.",
        )
    before, _, rest = book.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{overview(before + after)}\n{END}{after}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_text(target, renewed(target.read_text(encoding="utf-8")))
