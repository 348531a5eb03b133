"""The pages of the decks, from their entries: `python -m regard.course.lectures.reference docs` writes
docs/lectures."""

from __future__ import annotations

import sys
from pathlib import Path

from regard.course.lectures.catalog import answered_by, deck, decks, drawing, errata
from regard.course.lectures.checks import Check, OrderCheck, TrainedCheck
from regard.course.lectures.entry import Deck, LectureEntry
from regard.course.lectures.evidence import NoEvidence
from regard.course.lectures.session import session
from regard.storage.files import write_text

HEAD = """# The lectures

Five lectures on recurrent networks and attention: what each claims, the command that shows it, and what to expect.
Made from the entries in `regard/course/lectures` (`python -m regard.course.lectures.reference docs`).

    regard lecture                        # list the decks
    regard lecture 004                    # walk through one: every entry is run, with what was expected and found
    regard lecture 000.32                 # one entry
    regard lecture 000.58 --code          # with the Python of its computation, to try and to change
    regard lecture --open 004.29          # its figure, in the terminal and as a page
    regard lecture --check                # every quick entry, pass or fail

How to read an entry. Its first line has the number, the place in the lecture (`s` slides, `L` lines of its text) and
the kind of thing. Then come the claim in our words, what to type, and what to expect. After `pip install .` the lines
work as printed, from any folder. A line marked *once* trains a model into `runs/`: entries share these models, and
where the folder is already there, skip the line. The times are those of [Results](../results.md), on one or two
cores. `regard lecture 004.2` computes what an entry expects, in seconds, and needs no training.

- *on the board*: pieces of the equations that `regard describe` prints.
- *trained*: a figure of a longer training, read from its stored result with command, commit and machine; without one
  the answer is *unknown*, which is no pass.
- *Not shown*: what the slide claims does not show in our systems or data; such an entry counts as no pass.
- *Erratum*: the slide is wrong. What it prints must fail and what is right must pass; both are computed.

The exercises that the lectures set are `regard exercise`.
"""


def pages() -> dict[str, str]:
    """The text of each page, by its name."""
    lines = [HEAD, "| deck | title | course | entries | errata |", "|---|---|---|---|---|"]
    for one in decks():
        lines.append(
            f"| [{one.deck}]({one.deck}.md) | {one.title} | {one.course} | {len(one.entries)} | {len(errata(one))} |"
        )
    return {"index.md": "\n".join(lines) + "\n", **{f"{one.deck}.md": page(one) for one in decks()}}


def page(of: Deck) -> str:
    """All entries of a deck, with the errata repeated at the top."""
    lines = [
        f"# {of.deck}: {of.title}",
        "",
        f"{of.course}. [All lectures, and how to read an entry](index.md).",
    ]
    if wrong := errata(of):
        lines += ["", "## Errata", ""]
        lines += [
            f"- [{of.deck}.{entry.number}](#{_anchor(of, entry)}): {_safe(one.says)}" for entry, one in wrong
        ]
    lines += ["", "## Entries"]
    for entry in of.entries:
        lines += ["", *_lines(of, entry)]
    return "\n".join(lines) + "\n"


def _lines(of: Deck, entry: LectureEntry) -> list[str]:
    name = f"{of.deck}.{entry.number}"
    source = answered_by(name)
    lines = [f"### {name} · {entry.place} · {entry.kind}", "", _safe(entry.claim)]
    if typed := session(name):
        lines += ["", *(f"    {line}" for line in typed)]
    if source.checks:
        lines += ["", "Expected:", "", *(f"- {_safe(_told(check))}" for check in source.checks)]
    for erratum in source.errata:
        lines += ["", f"**Erratum.** {_safe(erratum.says)}", ""]
        lines.append(f"- as printed, fails: {_safe(_told(erratum.printed))}")
        lines.append(f"- corrected, passes: {_safe(_told(erratum.corrected))}")
    if entry.like:
        number, _, place = entry.like.partition(".")
        other = deck(number)
        lines += ["", f"As [{entry.like}]({number}.md#{_anchor(other, other.entries[int(place) - 1])})."]
    if source.unshown:
        lines += ["", f"**Not shown.** {_safe(source.unshown)}"]
    for note in (entry.nothing, entry.note or source.note):
        if note:
            lines += ["", _safe(note)]
    if drawing(name) is not None:
        lines += ["", f"Figure: `regard lecture --open {name}`"]
    return lines


def _told(check: Check) -> str:
    if isinstance(check, OrderCheck):
        try:
            return f"{check.told()}; trained {check.said(check.value())}"
        except NoEvidence as error:
            return f"{check.told()}; unknown: {error}"
    if isinstance(check, TrainedCheck):
        try:
            return f"{check.told()}; trained {check.said(check.value())} (`regard train {check.trained}`)"
        except NoEvidence as error:
            return f"{check.told()}; unknown: {error} (`regard train {check.trained}`)"
    return check.told()


def _anchor(of: Deck, entry: LectureEntry) -> str:
    """GitHub's anchor of a heading: punctuation is dropped, spaces become dashes."""
    title = f"{of.deck}.{entry.number} · {entry.place} · {entry.kind}".lower()
    return "".join(sign for sign in title if sign.isalnum() or sign in " -").replace(" ", "-")


def _safe(text: str) -> str:
    """Escape the characters that Markdown would interpret."""
    return text.replace("*", "\\*").replace("|", "\\|").replace("_", "\\_").replace("<", "&lt;")


def write(folder: Path) -> None:
    """Write the pages to a documentation folder."""
    for name, text in pages().items():
        write_text(folder / "lectures" / name, text)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not folder.is_dir():
        sys.exit(f"{folder} is no folder of documents.")
    write(folder)
