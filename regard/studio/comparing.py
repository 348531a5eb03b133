"""Two runs on one input: their texts, figures, and where they first diverge."""

from __future__ import annotations

from typing import Any

from regard.errors import RegardError
from regard.live.answer import shown
from regard.studio.answering import look_json
from regard.studio.inputs import GivenInputs
from regard.studio.looking import Looking
from regard.studio.requests import Compare, LookRequest
from regard.studio.runs import Run


def one_json(
    run: Run, asked: Compare, inputs: GivenInputs | None = None
) -> tuple[dict[str, Any], GivenInputs]:
    """The look of one of the runs, and its inputs; those of the first run are those of the second."""
    look = LookRequest(
        run=run.name, inputs=asked.inputs, output=asked.output, edits=asked.edits, search=asked.search
    )
    looking = Looking.of(run, look) if inputs is None else Looking.at(run, look, inputs)
    return look_json(looking), looking.inputs


def compared_json(
    runs: tuple[Run, Run], looks: tuple[dict[str, Any], dict[str, Any]], value: Any
) -> dict[str, Any]:
    """Both looks, and where the models diverge on this input."""
    return {
        "runs": [run.name for run in runs],
        "texts": [look["text"] for look in looks],
        "scenes": [look["scene"] for look in looks],
        "looks": list(looks),
        "divergence": _divergence(runs, looks[0]["output"], value),
    }


def _divergence(runs: tuple[Run, Run], output: str, value: Any) -> dict[str, Any]:
    """Where the models diverge: in words, and as data."""
    from regard.questions import diverging

    first, second = runs
    try:
        found = diverging(first.model, second.model, value, output=output)
    except RegardError as error:  # models that cannot be compared piece by piece
        return {"told": shown(str(error))}
    return {**found.to_dict(), "told": shown("\n".join(found.told(first.name, second.name)))}
