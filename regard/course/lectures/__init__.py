"""Five lectures on recurrent networks and attention, claim by claim, each with a computation that shows it.

Entries are data, one YAML file per deck. `regard lecture 004` walks through a deck; `regard lecture --check`
runs all quick entries.

    from regard.course import lectures
    lectures.examine(lectures.entry("000.62")).state
"""

from regard.course.lectures.catalog import deck, decks, entry, errata, names
from regard.course.lectures.entry import Deck, LectureEntry
from regard.course.lectures.examining import ANSWERED, CheckResult, EntryResult, examine

__all__ = [
    "ANSWERED",
    "CheckResult",
    "Deck",
    "EntryResult",
    "LectureEntry",
    "deck",
    "decks",
    "entry",
    "errata",
    "examine",
    "names",
]
