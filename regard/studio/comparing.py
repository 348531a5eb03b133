"""Two runs on one input: their texts, figures, and where they first diverge."""

from __future__ import annotations

from typing import Any

from regard.live import scene_json
from regard.studio.answering import look_json
from regard.studio.looking import Looking
from regard.studio.requests import Compare, Look
from regard.studio.runs import Run


def one_json(run: Run, asked: Compare) -> tuple[dict[str, Any], Any]:
    """The look of one of the runs, and its inputs as `Model.predict` takes them."""
    look = Look(
        run=run.name, inputs=asked.inputs, output=asked.output, edits=asked.edits, search=asked.search
    )
    looking = Looking.of(run, look)
    return look_json(looking), looking.inputs.alone


def compared_json(
    runs: tuple[Run, Run], looks: tuple[dict[str, Any], dict[str, Any]], value: Any
) -> dict[str, Any]:
    """Both looks, and where the models diverge on this input."""
    result: dict[str, Any] = {
        "runs": [run.name for run in runs],
        "texts": [look["text"] for look in looks],
        "scenes": [look["scene"] for look in looks],
        "looks": list(looks),
    }
    try:
        from regard.questions import diverging
    except ImportError:
        return result | {"divergence": {}}
    found = diverging(runs[0].model, runs[1].model, value)
    result["divergence"] = found.to_dict()
    if (scene := getattr(found, "plot", None)) is not None:
        result["divergence"]["scene"] = scene_json(scene())
    return result
