"""The sections of a page, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regard.inspect.scene import Scene
from regard.inspect.shaded_table import ShadedTable
from regard.trace import Trace


@dataclass(frozen=True)
class Card:
    """A figure with its own heading: a word, its output, and the attention."""

    figure: Scene | Trace
    heading: str = ""
    answer: str = ""
    note: str = ""


@dataclass(frozen=True)
class PageSection:
    """A part of a page. Empty fields are left out; the others appear in their order.

    facts   key figures by name: {"PER": "8.9 %"}
    steps   one figure as it fills up: a slider chooses the step; without scripts, all are shown
    table   the header and the rows
    sortable  whether a script, where there is one, may sort and filter the table
    shaded  a table whose numbers are shaded by how good they are
    html    ready-made HTML, whose texts are escaped
    beside  further sections, side by side: one for each of several models
    below   further sections, with smaller headings
    """

    heading: str = ""
    text: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    steps: Sequence[Card] = ()
    figures: Sequence[Scene | Trace | Card] = ()
    table: tuple[Sequence[str], Sequence[Sequence[object]]] | None = None
    sortable: bool = False
    shaded: ShadedTable | None = None
    html: str = ""
    code: str = ""
    beside: Sequence[PageSection] = ()
    below: Sequence[PageSection] = ()
