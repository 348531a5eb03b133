"""A lab: a small computation of a lecture's claim, with a figure and one sentence that says what to see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from regard import parts
from regard.inspect.layout import Block, below, frame
from regard.inspect.page import page
from regard.inspect.plot import WIDTH
from regard.inspect.scene import Scene
from regard.inspect.section import Card, PageSection
from regard.inspect.table import caption
from regard.parts.contract import base, required
from regard.trace import Array

Table = tuple[Sequence[str], Sequence[Sequence[object]]]
"""Header and rows: the key numbers of a lab."""


@dataclass(frozen=True, eq=False)
class LabResult:
    """The result of a lab.

    see       one sentence: what to see in the figure
    blocks    the drawings, from top to bottom
    table     the key numbers, printed under the figure
    numbers   everything that was computed, as plain data for --json
    worked    equations with their numbers, one per line; empty if the lab has none
    steps     the figure at each step, for a page with a slider; empty if there is only one
    """

    title: str
    see: str
    blocks: Sequence[Block]
    table: Table
    numbers: Mapping[str, Any]
    worked: Sequence[str] = ()
    steps: Sequence[Card] = ()

    @property
    def description(self) -> str:
        """The alternative text of the figure: the sentence and the key numbers."""
        head, rows = self.table
        facts = "; ".join(
            ", ".join(f"{name} {written(cell)}" for name, cell in zip(head, row, strict=True) if str(cell))
            for row in rows
        )
        return f"{self.see} {facts}." if facts else self.see

    @property
    def figure(self) -> Scene:
        """The whole figure, with its title above and its sentence below."""
        width = max([WIDTH, *(block.width for block in self.blocks)])
        whole = below([*self.blocks, caption(self.see, width, color="ink")], gap=18)
        return frame(whole, title=self.title, description=self.description)

    def page(self) -> str:
        """One HTML page with the figure (or its steps with a slider), the key numbers and the equations."""
        head, rows = self.table
        shown = [[written(cell) for cell in row] for row in rows]
        drawing = frame(
            below(self.blocks, gap=18), description=self.description
        )  # the page has its own title and sentence
        sections = [
            PageSection(steps=self.steps) if self.steps else PageSection(figures=[drawing]),
            PageSection("Numbers", table=(head, shown)) if rows else PageSection(),
            PageSection("Worked out", code="\n".join(self.worked)) if self.worked else PageSection(),
        ]
        return page(self.title, sections, subtitle=self.see)


@base("lab", check="regard.course.checking:check_lab")
class Lab:
    """Base class of labs. A lab defines options, each with a default, and `run`.

    summary   what the lab shows, in one line
    """

    class Options(parts.Options):
        """Each lab defines its own options."""

    summary: ClassVar[str] = ""

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        return None if cls.summary else "lacks summary, one line about what it shows"

    @classmethod
    @required("by `regard lab NAME`")
    def run(cls, options: Any) -> LabResult:
        """Compute the numbers and draw the figure."""
        raise NotImplementedError


def written(value: object) -> str:
    """Format a number for people: 20,752, 117.4, 0.00515, 3.2e-16."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}".replace("-", "−")
    if not isinstance(value, float | np.floating):
        return str(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else f"{value}".replace("inf", "∞").replace("-", "−")
    size = abs(float(value))
    if 1000 <= size < 1e7:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e").replace("-", "−")


def gradient_range(found: Sequence[Array]) -> tuple[float, float]:
    """The range of a logarithmic axis, in powers of ten, for norms of gradients, which may all be 0 or infinite."""
    values = np.concatenate(found)
    values = np.clip(values[(values > 0) & np.isfinite(values)], 1e-12, 1e300)
    low, high = values.min(initial=1.0), values.max(initial=2.0)
    return 10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high))


def plain(value: Any) -> Any:
    """Convert arrays and numbers to JSON types; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
