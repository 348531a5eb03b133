"""Samples of a structure as small drawings, with their frequencies."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from regard.errors import RegardError
from regard.inspect.drawings.drawing import View, drawing_for
from regard.inspect.layout import WIDEST, Block, flowing, frame
from regard.inspect.scene import Scene
from regard.trace import Trace, TracedStructure


def samples(trace: Trace, *, over: str | None = None, most: int = 6, title: str = "") -> Scene:
    """The distinct samples in a trace, most frequent first, each with its count.

    over   the input if several structures have samples; default: the first
    most   maximum number of drawings
    """
    found = {name: one for name, one in trace.structures.items() if one.samples is not None}
    name = over if over is not None else next(iter(found), None)
    if name is None or name not in found:
        raise RegardError(f"the trace has no samples of {name!r}; it has: {', '.join(found) or 'none'}.")
    block, told, rest = draw_samples(trace, name, most)
    more = f"{rest} more are not drawn" if rest else ""
    return frame(
        block, title=title, subtitle=more, description=" · ".join(filter(None, (f"Samples: {told}", more)))
    )


def draw_samples(trace: Trace, name: str, most: int) -> tuple[Block, str, int]:
    """The drawings, the count of each sample in words, and the number of distinct samples not drawn."""
    drawn = counted_samples(trace.structures[name])
    total = sum(count for _, count in drawn)
    captions = [f"{count} of {total}" for _, count in drawn[:most]]
    blocks = [
        _block(replace(trace, structures={name: one}, truth={}), name, caption)
        for (one, _), caption in zip(drawn, captions, strict=False)
    ]
    return flowing(blocks, widest=WIDEST), ", ".join(captions), len(drawn) - len(blocks)


def counted_samples(structure: TracedStructure) -> list[tuple[TracedStructure, int]]:
    """Each distinct sample as a structure, with its count, most frequent first."""
    if structure.samples is None:
        return []
    arrays = {sample.tobytes(): sample for sample in structure.samples}
    counts = Counter(sample.tobytes() for sample in structure.samples)
    return [(structure.of_sample(arrays[key]), count) for key, count in counts.most_common()]


def _block(trace: Trace, name: str, caption: str) -> Block:
    drawing = drawing_for(trace.structures[name])
    if drawing is None:
        raise RegardError(f"there is no drawing of {trace.structures[name].kind!r}.")
    block: Block = drawing.of(trace, name, View(title=caption)).block()
    return block
