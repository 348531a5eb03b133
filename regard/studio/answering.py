"""Predictions as the page needs them: pieces with probabilities, what an edit changed, figures, commands."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from regard.live.answer import answer_json, shown
from regard.studio.calls import command_of, python_of
from regard.studio.looking import Looking


def look_json(looking: Looking) -> dict[str, Any]:
    """The answer to a look."""
    started = perf_counter()
    found, asked = looking.shown, looking.asked
    before = looking.before if asked.edits else None
    result: dict[str, Any] = {"run": looking.run.name, "output": looking.output}
    result |= answer_json(found, before=before, panel=asked.panel)
    listed = {one["name"] for one in result["panels"]}
    result["panels"] += [one for one in looking.further if one["name"] not in listed]
    result["inputs"] = {
        name: shown(value)
        for name, value in looking.inputs.values.items()
        if isinstance(value, str) and not looking.run.model.columns[name].names_files
    }
    true = looking.inputs.true(looking.output)
    if true:
        result["target"] = [shown(text) for text in true]
    result["command"], result["python"] = command_of(looking), python_of(looking)
    result["ms"] = round(1000 * (perf_counter() - started), 1)
    return result
