"""A prediction as a page shows it: pieces with probabilities, what an edit changed, figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.live.scene import scene_json
from regard.reporting.terminal import LINES, printable

if TYPE_CHECKING:
    from regard.trace import Trace
    from regard.trace.prediction import Prediction

MOST_LABELS = 50


def answer_json(
    found: Prediction, *, before: Prediction | None = None, panel: str | None = None
) -> dict[str, Any]:
    """The answer, what changed from the one before, and its figures.

    before   the prediction without edits; None: there are none
    panel    the name of a panel to draw besides the figure
    """
    result = prediction_json(found)
    result["changed"], result["effects"] = [], []
    if before is not None:
        result["before"] = prediction_json(before)
        result["changed"], result["effects"] = changes(before, found)
    pieces = {} if found.trace is None else found.trace.input
    result["handles"] = {"inputs": {name: [shown(one) for one in some] for name, some in pieces.items()}}
    return result | figures(found.trace, panel)


def prediction_json(found: Prediction) -> dict[str, Any]:
    """Text, score and pieces of a prediction."""
    result: dict[str, Any] = {
        "text": shown(found.text),
        "score": finite(found.score),
        "pieces": pieces_json(found.trace),
    }
    if found.alternatives:
        result["alternatives"] = [
            {"text": shown(one.text), "score": finite(one.score)} for one in found.alternatives
        ]
    if found.probabilities:
        likely = sorted(found.probabilities.items(), key=lambda one: -one[1])[:MOST_LABELS]
        result["probabilities"] = [{"text": shown(str(name)), "p": finite(share)} for name, share in likely]
    return result


def pieces_json(trace: Trace | None) -> list[dict[str, Any]]:
    """The output pieces, each with its probability if it is known."""
    if trace is None:
        return []
    known = trace.probabilities
    return [
        {"text": shown(piece), "p": None if known is None else finite(known[t])}
        for t, piece in enumerate(trace.output)
    ]


def changes(before: Prediction, after: Prediction) -> tuple[list[int], list[float | None]]:
    """The pieces that an edit changed, and by how much it changed log p of each other piece (None: it is new)."""
    if before.trace is None or after.trace is None:
        return [], []
    old, new = list(before.trace.output), list(after.trace.output)
    then, now = before.trace.scores, after.trace.scores
    scored = len(then) == len(old) and len(now) == len(new)
    effects: list[float | None] = [None] * len(new)
    changed = set(range(len(new)))
    for a, b, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for place in range(size):
            changed.discard(b + place)
            if scored:
                effects[b + place] = finite(now[b + place] - then[a + place])
    return sorted(changed), effects


def figures(trace: Trace | None, wanted: str | None) -> dict[str, Any]:
    """The figure of a trace, the list of its panels, and the panel that was asked for."""
    if trace is None:
        return {"scene": None, "panels": []}
    panels = trace.panels()
    result: dict[str, Any] = {
        "scene": scene_json(trace.plot()),
        "panels": [{"name": one.name, "title": one.title} for one in panels],
    }
    if wanted is not None:
        chosen = next((one for one in panels if one.name == wanted), None)
        if chosen is None:
            raise RegardError(
                f"there is no panel {wanted!r}.",
                where="panel",
                fix=f"There are {_listed(one.name for one in panels)}.",
            )
        result["panel"] = panel_json(chosen)
    return result


def panel_json(panel: Any) -> dict[str, Any]:
    """A panel: its scene, or the scenes of its steps."""
    scene = panel.scene
    drawn = (
        {"steps": [scene_json(one) for one in panel.steps]} if scene is None else {"scene": scene_json(scene)}
    )
    return {"name": panel.name, "title": panel.title, **drawn}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def finite(number: float) -> float | None:
    """A number for JSON; None for what JSON does not have."""
    value = float(number)
    return value if math.isfinite(value) else None


def shown(text: str) -> str:
    """A text for the page: without controls and marks that turn other text around."""
    return printable(text, LINES)


def several(texts: Sequence[str]) -> list[str]:
    return [shown(text) for text in texts]
