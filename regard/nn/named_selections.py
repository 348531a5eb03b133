"""Selections by name, with their usual options."""

from __future__ import annotations

from regard.errors import RegardError
from regard.nn.hard import Hard
from regard.nn.segments import Segments
from regard.nn.selections import Local, Oracle, Selection, Sigmoid, Softmax, Uniform

PLAIN: dict[str, type[Selection]] = {
    "uniform": Uniform,
    "softmax": Softmax,
    "hard": Hard,
    "sigmoid": Sigmoid,
    "segments": Segments,
    "oracle": Oracle,
}


def make_selection(name: str, query_size: int) -> Selection:
    if name == "local":
        return Local(query_size)
    if name not in PLAIN:
        raise RegardError(
            f"There is no selection {name!r}.", fix=f"Choose one of {', '.join((*PLAIN, 'local'))}."
        )
    return PLAIN[name]()
