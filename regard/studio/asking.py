"""Questions about a look: which attention makes the model say another word, and which training rows are alike."""

from __future__ import annotations

from typing import Any

from regard.errors import RegardError
from regard.live.answer import shown
from regard.studio.jobs import Progress
from regard.studio.looking import Looking
from regard.studio.requests import Like, WhyRequest
from regard.studio.runs import Run


def why_json(run: Run, asked: WhyRequest, progress: Progress) -> dict[str, Any]:
    """The least change of attention that makes the model write a word, and in words."""
    from regard.questions import why

    looking = Looking.of(run, asked)
    found = why(run.model, looking.inputs.alone, asked.word, asked.step, output=looking.output)
    return {"told": shown(str(found)), **found.to_dict()}


def like_json(run: Run, asked: Like, progress: Progress) -> dict[str, Any]:
    """The training rows whose states are nearest at a step."""
    from regard.questions import like

    looking = Looking.of(run, asked)
    if asked.step is None:
        raise RegardError("which step?", where="step", fix="Choose a piece of the output.")
    found = like(run.model, looking.inputs.alone, asked.step, output=looking.output, progress=progress)
    return {"neighbours": [one.to_dict() for one in found]}
