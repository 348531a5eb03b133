"""Five lectures on recurrent networks and attention, claim by claim, each with a computation that shows it.

Entries are data, one YAML file per deck. `regard lecture 004` walks through a deck; `regard lecture --check`
runs all quick entries.

    from regard.course import lectures
    lectures.examine(lectures.entry("000.62")).state
"""

from regard.course.lectures.entry import Deck, Entry
from regard.course.lectures.examining import EntryResult, Finding, examine
from regard.course.lectures.shelf import deck, decks, entry, errata, names

__all__ = ["Deck", "Entry", "EntryResult", "Finding", "deck", "decks", "entry", "errata", "examine", "names"]
