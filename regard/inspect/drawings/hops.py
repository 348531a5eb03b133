"""Hops: the sentences of a story as rows, hops as columns, with the weights of each hop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text

from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View, held
from regard.inspect.drawings.hops_svg import UNUSED, draw_hops, hop_legend
from regard.inspect.drawings.hops_terminal import draw_hops as terminal_hops
from regard.inspect.drawings.hops_terminal import hop_notes
from regard.inspect.drawings.panels import in_rows
from regard.inspect.layout import Block, below, frame
from regard.inspect.scene import Scene
from regard.inspect.writing import visible
from regard.parts import register
from regard.trace import Hops, Panel, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink


@register("drawing", "hops")
@dataclass(frozen=True, eq=False)
class HopTable(TracedDrawing):
    """Positions (sentences of a story) as rows, hops as columns, with the weights of each hop."""

    rank: ClassVar[int] = 50
    traced = Hops
    lacking: ClassVar[str] = "has no hops over"

    positions: tuple[str, ...]
    hops: Hops
    title: str = ""
    over: str = ""

    def is_best(self, position: int, hop: int) -> bool:
        return self.hops.best is not None and int(self.hops.best[hop]) == position

    def reads(self, hop: int) -> bool:
        """Whether a hop has any weight; a structured selection may stop before its last hop."""
        return bool((self.hops.weights[hop] > 0).any())

    def true_order(self, position: int) -> list[int]:
        """The ranks of this position among the true facts, from 1; may be none or several."""
        truth = () if self.hops.truth is None else self.hops.truth
        return [place + 1 for place, true in enumerate(truth) if int(true) == position]

    def is_true(self, position: int, hop: int) -> bool:
        """Whether this hop should have read the position; if hops and facts differ in number, whether it is any true
        fact."""
        orders = self.true_order(position)
        if self.hops.truth is not None and len(self.hops.truth) == len(self.hops.weights):
            return hop + 1 in orders
        return bool(orders) and self.is_best(position, hop)

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> HopTable:
        """The hops over an input, with the texts of its positions."""
        found: Any = trace.structures[name]
        return cls(tuple(found.positions or trace.input[name]), found, view.title, over=name)

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        return ("attention",)

    @classmethod
    def panels(cls, trace: Trace) -> Sequence[Panel]:
        """The hops one by one."""
        found = [name for name, one in trace.structures.items() if cls.draws(one)]
        return [
            Panel(
                f"hops over {name}" if len(found) > 1 else "hops",
                f"Hop by hop over {name}",
                cls.of(trace, name).steps,
                stepwise=True,
            )
            for name in found
        ]

    def steps(self) -> list[Scene]:
        """After each hop, what has been read so far."""
        scenes = []
        count = len(self.hops.weights)
        for hop in range(1, count + 1):
            read = np.arange(count) < hop
            best = None if self.hops.best is None else np.where(read, self.hops.best, -1)
            so_far = replace(self.hops, weights=self.hops.weights * read[:, None], best=best, samples=None)
            table = replace(self, hops=so_far, over="")
            block = below([table.block(), *self.legend([table])], gap=16)
            scenes.append(frame(block, title=f"after hop {hop} of {count}", description=table.description()))
        return scenes

    def block(self, *, row_labels: bool = True) -> Block:
        return draw_hops(self, row_labels=row_labels)

    @classmethod
    def legend(cls, shown: Sequence[HopTable]) -> list[Block]:
        return [hop_legend(shown)]

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return terminal_hops(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[HopTable], width: int, ink: Ink) -> Iterator[Text]:
        return hop_notes([table for table in shown if table.positions], width, ink)

    def truth_panel(self) -> HopTable | None:
        truth, count = self.hops.truth, self.hops.weights.shape[1]
        if truth is None:
            return None
        gold = np.eye(count)[truth] if count else np.zeros((len(truth), 0))
        return replace(self, hops=Hops(gold, truth=truth), over="")

    @classmethod
    def arranged(cls, shown: Sequence[HopTable], across: int | None) -> Block:
        def draw(table: HopTable, first: HopTable | None) -> Block:
            return table.block(row_labels=first is None or table.positions != first.positions)

        return below([in_rows(shown, draw, across), *cls.legend(shown)], gap=20)

    @classmethod
    def descriptions(cls, shown: Sequence[HopTable]) -> str:
        return " ".join(f"{table.title}: {table.description()}." for table in shown)

    def description(self) -> str:
        """The choice of each hop in words, and the true facts."""
        parts = []
        for hop, weights in enumerate(self.hops.weights):
            if not len(weights):
                continue
            if not self.reads(hop):
                parts.append(f"Hop {hop + 1} is {UNUSED}")
                continue
            best = int(weights.argmax()) if self.hops.best is None else int(self.hops.best[hop])
            read = f"{visible(self.positions[best])} ({weights[best]:.2f})" if best >= 0 else "nothing"
            parts.append(f"Hop {hop + 1} reads: {read}")
        if self.hops.truth is not None:
            facts = "; ".join(visible(self.positions[place]) for place in self.hops.truth.tolist())
            parts.append(f"True facts: {facts or 'none'}")
        return " · ".join(parts)


def hops(trace: Trace, *, over: str | None = None, title: str = "") -> Scene:
    """The attention to an input, hop by hop.

    over   the input to show if several have hops; default: the first
    """
    table = HopTable.of(trace, held(trace, HopTable, over, "hops over"))
    block = below([table.block(), *HopTable.legend([table])], gap=16)
    return frame(block, title=title, description=table.description())
