"""Which path runs which attention decoder; `python -m regard.fast.table docs/performance.md` writes the tables.

fused     compiled kernels for the CPU (`paths.fused`)
graphed   our kernels for CUDA, captured as graphs (`paths.graphed`)
recorded  torch's kernels on CUDA, captured as graphs (`paths.recorded`)
plain     torch, step by step
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from regard.fast.paths import graphed, recorded
from regard.fast.recurrence import decoder_lacks
from regard.nn.attention import Attention
from regard.nn.decoders.conditioning import GIVES
from regard.nn.decoders.recurrent import RecurrentDecoder
from regard.nn.embedding import Embedding
from regard.nn.memory import Memory
from regard.nn.scores import make_score
from regard.nn.selections import make_selection
from regard.parts import names, part
from regard.storage.files import write_text

SIZE, POSITIONS = 4, 3
BEGIN, END = (
    "<!-- paths: made by `python -m regard.fast.table docs/performance.md` -->",
    "<!-- end of paths -->",
)


def own(kind: str) -> dict[str, Any]:
    """Our parts of a kind, by name."""
    found = {name: part(kind, name) for name in names(kind)}
    return {name: one for name, one in found.items() if one.__module__.startswith("regard.")}


def suiting(kind: str) -> list[str]:
    """The scores or selections whose needs a recurrent decoder meets."""
    return [
        name
        for name, one in own(kind).items()
        if one.needs <= set(GIVES) and getattr(one, "joint", "") != "queries"
    ]


def paths_of(
    cell: str, score: str, selection: str, *, copies: bool = False, **options: Any
) -> tuple[str, str]:
    """The paths on the CPU and on CUDA of a decoder with one attended memory.

    copies    whether the decoder copies words from the memory
    options   options of the decoder
    """
    memory = Memory(torch.zeros(1, POSITIONS, SIZE), torch.ones(1, POSITIONS).bool(), torch.zeros(1, SIZE))
    source: Any = SimpleNamespace(value_size=SIZE, summary_size=SIZE)
    attention = Attention(
        SIZE, SIZE, score=make_score(score, SIZE, SIZE), select=make_selection(selection, SIZE)
    )
    decoder = RecurrentDecoder(
        Embedding(4, SIZE),
        {"source": source},
        cell=cell,
        size=SIZE,
        attention={"source": attention},
        copies=("source", []) if copies else None,
        **options,
    )
    memories = {"source": memory}
    on_cuda = "plain" if recorded.lacks(decoder, memories) else "recorded"
    return (
        "plain" if decoder_lacks(decoder, memories) else "fused",
        on_cuda if graphed.lacks(decoder, memories) else "graphed",
    )


def table() -> str:
    """The paths of all cells, scores and selections; scores and cells with the same paths share a line."""
    selections = suiting("selection")
    lines: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = {}
    for cell in own("cell"):
        for score in suiting("score"):
            served = [paths_of(cell, score, selection) for selection in selections]
            for device, index in (("CPU", 0), ("CUDA", 1)):
                lines.setdefault((device, tuple(one[index] for one in served)), []).append((cell, score))
    shown = ["| device | cell | score | " + " | ".join(selections) + " |"]
    shown.append("|" + "---|" * (3 + len(selections)))
    for (device, served_by), pairs in sorted(lines.items()):
        for cells, scores in _together(pairs):
            shown.append(f"| {device} | {cells} | {scores} | " + " | ".join(served_by) + " |")
    return "\n".join(shown)


def copying_table() -> str:
    """The paths of decoders with common parts that copy words, for each `state` of the attention."""
    states: dict[str, dict[str, Any]] = {
        "previous": {"state": "previous"},
        "current": {"state": "current"},
        "current, feed: false": {"state": "current", "feed": False},
    }
    shown = ["| device | " + " | ".join(f"`state: {state}`" for state in states) + " |"]
    shown.append("|" + "---|" * (1 + len(states)))
    for device, index in (("CPU", 0), ("CUDA", 1)):
        served = [
            paths_of("lstm", "additive", "softmax", copies=True, **one)[index] for one in states.values()
        ]
        shown.append(f"| {device} | " + " | ".join(served) + " |")
    return "\n".join(shown)


def gating_table() -> str:
    """The paths of decoders with common parts and the summary at the output, or gates on the context."""
    ways: dict[str, dict[str, Any]] = {
        "condition: [start, output, attention]": {"condition": ("start", "output", "attention")},
        "condition: [start, gate, attention]": {"condition": ("start", "gate", "attention")},
        "attention.gate: true": {"gated": ("source",)},
    }
    shown = ["| device | " + " | ".join(f"`{way}`" for way in ways) + " |", "|" + "---|" * (1 + len(ways))]
    for device, index in (("CPU", 0), ("CUDA", 1)):
        served = [paths_of("lstm", "additive", "softmax", **one)[index] for one in ways.values()]
        shown.append(f"| {device} | " + " | ".join(served) + " |")
    return "\n".join(shown)


def _together(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of a cell and a score in few lines: cells with the same scores share a line."""
    by_cell: dict[str, list[str]] = {}
    for cell, score in pairs:
        by_cell.setdefault(cell, []).append(score)
    by_scores: dict[str, list[str]] = {}
    for cell, scores in by_cell.items():
        by_scores.setdefault(", ".join(scores), []).append(cell)
    return [(", ".join(cells), scores) for scores, cells in by_scores.items()]


def written(page: str) -> str:
    """The page with the current tables between its markers."""
    copying = (
        "A decoder that copies words (`copy`), with cells and attentions that have kernels, in training (a search goes "
        "step by step, without kernels of its own):"
    )
    gating = (
        "A decoder whose output layer reads the encoding, or whose state gates the context, with cells and attentions "
        "that have kernels:"
    )
    parts = [BEGIN, table(), copying, copying_table(), gating, gating_table(), END]
    made = "\n\n".join(parts)
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: made, page, flags=re.DOTALL)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_text(target, written(target.read_text(encoding="utf-8")))
