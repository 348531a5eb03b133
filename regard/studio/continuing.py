"""Language models: the surprisal of a text, and its continuation."""

from __future__ import annotations

import math
from typing import Any

from regard.errors import RegardError
from regard.live import scene_json
from regard.live.answer import finite, shown
from regard.reporting.terminal import LINES, printable
from regard.studio.requests import Continue, LookRequest
from regard.studio.runs import Run


def surprisal_json(run: Run, asked: LookRequest) -> dict[str, Any]:
    """The tokens of a text, each with its probability, and the figure of their surprisal."""
    from regard.cli.continuing import surprise_figure

    for key in ("edits", "prefix", "target", "panel"):
        if getattr(asked, key):
            raise RegardError("a language model reads no input that it could attend to.", where=key)
    values = [text for text in asked.inputs.values() if isinstance(text, str)]
    if len(values) != 1 or not values[0]:
        raise RegardError("expected a text.", where="inputs", fix="Type some text.")
    found = list(run.model.surprises(values))
    total = -sum(one.nats for one in found)
    folder = str(run.folder)
    return {
        "run": run.name,
        "text": shown(values[0]),
        "score": finite(total),
        "pieces": [{"text": shown(one.token), "p": math.exp(-one.nats)} for one in found],
        "changed": [],
        "effects": [],
        "handles": {"inputs": {}},
        "scene": scene_json(surprise_figure(found)),
        "panels": [],
        "command": printable(_command("show", folder, values[0]), LINES),
        "python": printable(
            f"import regard\n\nmodel = regard.load({folder!r})\nmodel.surprise({values[0]!r})", LINES
        ),
    }


def continued_json(run: Run, asked: Continue) -> dict[str, Any]:
    """A prompt with its continuation."""
    if not run.model.continues:
        raise RegardError("this model answers inputs; it continues no text.", where=run.name)
    options = asked.model_dump(exclude={"run", "prompt"}, exclude_none=True)
    found = run.model.generate(asked.prompt, **options)
    folder = str(run.folder)
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    words = ["generate", folder, "--prompt", asked.prompt]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return {
        "run": run.name,
        "text": shown(found.text),
        "score": finite(found.score),
        "command": printable(_command(*words), LINES),
        "python": printable(
            f"import regard\n\nmodel = regard.load({folder!r})\nmodel.generate({asked.prompt!r}{given}).text",
            LINES,
        ),
    }


def _command(*words: str) -> str:
    import shlex

    return shlex.join(["regard", *words])
