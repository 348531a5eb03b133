"""The decks as pages, made from the entries: `python -m regard.lectures.reference docs` writes docs/lectures."""

from __future__ import annotations

import sys
from pathlib import Path

from regard.files import write_text
from regard.lectures.checks import Check, TrainedCheck
from regard.lectures.entry import Deck, Entry
from regard.lectures.shelf import answered_by, command, decks, drawing

HEAD = """# The lectures

Five lectures on recurrent networks and attention: what each claims, the command that shows it, and what to expect.
Made from the entries in `regard/lectures` (`python -m regard.lectures.reference docs`).

    regard lecture                        # list the decks
    regard lecture 004                    # walk through one: every entry is run, with what was expected and found
    regard lecture 000.32                 # one entry
    regard lecture --open 004.29          # its figure, in the terminal and as a page
    regard lecture --check                # every quick entry, pass or fail

Where a slide is wrong, a computation fails as printed and passes corrected; both are run. Figures *on record* come from
longer trainings ([results.md](../results.md)). The exercises that the lectures set are `regard exercise`.
"""


def pages() -> dict[str, str]:
    """The text of each page, by its name."""
    lines = [HEAD, "| deck | title | course | entries | errata |", "|---|---|---|---|---|"]
    for deck in decks():
        errata = sum(len(entry.errata) for entry in deck.entries)
        lines.append(
            f"| [{deck.deck}]({deck.deck}.md) | {deck.title} | {deck.course} | {len(deck.entries)} | {errata} |"
        )
    return {"index.md": "\n".join(lines) + "\n", **{f"{deck.deck}.md": page(deck) for deck in decks()}}


def page(deck: Deck) -> str:
    """All entries of a deck; the errata once more at the top."""
    lines = [f"# {deck.deck}: {deck.title}", "", f"{deck.course}. [All lectures](index.md)."]
    wrong = [(entry, erratum) for entry in deck.entries for erratum in entry.errata]
    if wrong:
        lines += ["", "## Errata", ""]
        lines += [
            f"- [{deck.deck}.{entry.number}](#{_anchor(deck, entry)}): {one.says}" for entry, one in wrong
        ]
    lines += ["", "## Entries"]
    for entry in deck.entries:
        lines += ["", *_lines(deck, entry)]
    return "\n".join(lines) + "\n"


def _lines(deck: Deck, entry: Entry) -> list[str]:
    name = f"{deck.deck}.{entry.number}"
    source = answered_by(name)
    lines = [f"### {name} · {entry.place} · {entry.kind}", "", _safe(entry.claim)]
    if shown := command(name):
        lines += ["", f"    {shown}"]
    told = [_told(check) for check in source.checks]
    for erratum in source.errata:
        told.append(f"as printed, {_told(erratum.printed)}: fails")
        told.append(f"corrected, {_told(erratum.corrected)}: passes")
    if told:
        lines += ["", "Expected:", "", *(f"- {_safe(one)}" for one in told)]
    for erratum in source.errata:
        lines += ["", f"**Erratum.** {_safe(erratum.says)}"]
    if entry.like:
        number = entry.like.partition(".")[0]
        lines += ["", f"As [{entry.like}]({number}.md)."]
    for note in (entry.nothing, entry.note or source.note):
        if note:
            lines += ["", _safe(note)]
    if drawing(name) is not None:
        lines += ["", f"Figure: `regard lecture --open {name}`"]
    return lines


def _told(check: Check) -> str:
    if isinstance(check, TrainedCheck):
        return f"{check.told()}; on record {check.figure.strip()} (`regard train {check.trained}`)"
    return check.told()


def _anchor(deck: Deck, entry: Entry) -> str:
    """The link to a heading as GitHub makes it: signs that are no letters are dropped, spaces become dashes."""
    title = f"{deck.deck}.{entry.number} · {entry.place} · {entry.kind}".lower()
    return "".join(sign for sign in title if sign.isalnum() or sign in " -").replace(" ", "-")


def _safe(text: str) -> str:
    """Signs that Markdown would take for its own."""
    return text.replace("*", "\\*").replace("|", "\\|").replace("_", "\\_").replace("<", "&lt;")


def write(folder: Path) -> None:
    """The pages below a folder of documents."""
    for name, text in pages().items():
        write_text(folder / "lectures" / name, text)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not folder.is_dir():
        sys.exit(f"{folder} is no folder of documents.")
    write(folder)
