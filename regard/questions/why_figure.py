"""The figure of `why`: the model's own attention, the least change of one row, and the answer after it."""

from __future__ import annotations

import math

import numpy as np

from regard.inspect import figure
from regard.inspect.drawings.drawing import Style
from regard.inspect.scene import Scene
from regard.inspect.titles import headline
from regard.questions.why import Why
from regard.trace import Trace


def why_scenes(found: Why, *, style: Style = "smooth") -> list[Scene]:
    """The figures, for a terminal one below the other; `side_by_side` joins them to one."""
    own = found.prediction.trace
    scenes = [] if own is None else [figure(own, title=f"own attention:  {headline(own)}", style=style)]
    if found.distance > 0 and (own is None or found.input not in own.seen):
        scenes.append(figure(_rows(found), title=_title(found)))
    after = None if found.changed is None else found.changed.trace
    if after is not None:
        scenes.append(figure(after, title=f"after the change:  {headline(after)}", style=style))
    return scenes


def _title(found: Why) -> str:
    if not found.found:
        return f"{found.word}: no look was found that makes it the likeliest; this one makes it most probable"
    return f"the least change:  {found.distance:.2f} of the weight moves"


def _rows(found: Why) -> Trace:
    """The two rows as a trace: the piece that is said with each of them, and its probability."""
    said = math.nan if found.prediction.trace is None else float(found.prediction.trace.scores[_place(found)])
    return Trace(
        input={found.input: list(found.positions)},
        output=[found.said, found.word],
        attention={found.input: np.stack([found.own, found.row])},
        scores=np.array([said, math.log(max(found.after, 1e-300))]),
    )


def _place(found: Why) -> int:
    trace = found.prediction.trace
    return 0 if trace is None or trace.single else found.step
