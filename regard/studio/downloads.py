"""A view as a file: the figure as SVG or PNG, the prediction as JSON, the trace, or a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.errors import RegardError
from regard.studio.looking import Looking
from regard.studio.requests import Download

TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
    "trace": "application/octet-stream",
    "html": "text/html; charset=utf-8",
}


def file_of(looking: Looking, asked: Download) -> tuple[bytes, str, str]:
    """The content, its type and its name."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", looking.run.name).strip("-") or "regard"
    return _content(looking, asked), TYPES[asked.kind], f"{name}.{asked.kind}"


def _content(looking: Looking, asked: Download) -> bytes:
    found = looking.shown
    if asked.kind == "json":
        return json.dumps(found.to_dict(), ensure_ascii=False).encode("utf-8", errors="replace")
    trace = found.trace
    if trace is None:
        raise RegardError("this model has no attention to show.", where="as", fix="Download the JSON.")
    if asked.kind == "trace":
        return _trace_file(trace)
    if asked.kind == "html":
        return trace.html().encode("utf-8", errors="replace")
    scene = _scene(trace, asked.panel)
    if asked.kind == "svg":
        return str(scene.svg()).encode("utf-8")
    from regard.inspect.pyplot import png

    return png(scene)


def _trace_file(trace: Any) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "look.trace"
        trace.save(path)
        return path.read_bytes()


def _scene(trace: Any, panel: str | None) -> Any:
    if panel is None:
        return trace.plot()
    chosen = next((one for one in trace.panels() if one.name == panel), None)
    if chosen is None:
        raise RegardError(f"there is no panel {panel!r}.", where="panel")
    return chosen.scene if chosen.scene is not None else chosen.steps[-1]
