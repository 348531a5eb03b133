"""The overview of docs/results.md, generated from the entries: the systems of each lecture and their scores.

python -m regard.course.lectures.overview docs/results.md      rewrites it between its two markers
"""

from __future__ import annotations

import sys
from pathlib import Path

from regard.course.lectures.catalog import answered_by, decks
from regard.course.lectures.checks import OrderCheck, TrainedCheck
from regard.course.lectures.entry import Deck
from regard.course.lectures.evidence import NoEvidence, evidence_for
from regard.errors import RegardError
from regard.storage.files import write_text

BEGIN = "<!-- by lecture: python -m regard.course.lectures.overview docs/results.md -->"
END = "<!-- end of by lecture -->"


def overview() -> str:
    """A table for each lecture: the figures of its trainings, and where each comes from."""
    lines: list[str] = []
    for deck in decks():
        lines += [f"**{deck.deck}: {deck.title}** ([entries](lectures/{deck.deck}.md))", ""]
        lines += [
            "| training | what | figure | bar | seeds | entries |",
            "|---|---|---|---|---|---|",
            *_rows(deck),
            "",
        ]
    return "\n".join(lines)


def _rows(deck: Deck) -> list[str]:
    """The figures of a lecture, each once, in the order of the entries."""
    entries: dict[tuple[str, str, str], list[str]] = {}
    checks: dict[tuple[str, str, str], TrainedCheck | OrderCheck] = {}
    for entry in deck.entries:
        for check in answered_by(f"{deck.deck}.{entry.number}").checks:
            if isinstance(check, TrainedCheck | OrderCheck):
                key = (_trainings(check), check.of, str(check.score))
                entries.setdefault(key, []).append(f"{deck.deck}.{entry.number}")
                checks[key] = check
    found = []
    for key, names in entries.items():
        check = checks[key]
        try:
            figure, seeds = check.said(check.value()), _seeds(check)
        except NoEvidence as error:
            figure, seeds = f"unknown: {error}", ""
        bar = check.told().removeprefix(f"{check.of}: ")
        cells = (_trainings(check), check.of, figure, bar, seeds, ", ".join(names))
        found.append(f"| {' | '.join(map(_safe, cells))} |")
    return found


def _trainings(check: TrainedCheck | OrderCheck) -> str:
    names = check.order if isinstance(check, OrderCheck) else (check.trained,)
    return " < ".join(f"`{name}`" for name in names)


def _seeds(check: TrainedCheck | OrderCheck) -> str:
    names = check.order if isinstance(check, OrderCheck) else (check.trained,)
    return ", ".join(str(len(evidence_for(name))) for name in names)


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
    return f"{before}{BEGIN}\n\n{overview()}\n{END}{after}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_text(target, renewed(target.read_text(encoding="utf-8")))
