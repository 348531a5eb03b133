"""`regard list runs`: the trained models in a folder, with their scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.storage.files import read_json

DEEPEST = 3
"""Depth to which folders are searched for runs."""


def list_runs(folder: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from regard.reporting.console import safe_console

    if not folder.is_dir():
        raise RegardError("no such folder.", where=str(folder), fix="Name the folder that holds the runs.")
    found = list(find_runs(folder))
    if not found:
        raise RegardError("there is no run here.", where=str(folder), fix="`regard train NAME` makes one.")
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("run", "scores", "steps", "trained"):
        table.add_column(head, justify="right" if head == "steps" else "left", overflow="fold")
    for run in found:
        metrics = read(run / "metrics.json")
        training = metrics.get("training") or {}
        steps = training.get("steps")
        table.add_row(
            Text(str(run), style="cyan"),
            Text(scores(metrics) or state(run)),
            f"{steps:,}" if isinstance(steps, int) else "",
            Text(when(run)),
        )
    safe_console().print(table)


def find_runs(folder: Path, depth: int = DEEPEST) -> Iterator[Path]:
    """The folders with a spec.yaml that regard wrote, in alphabetical order."""
    if (folder / "spec.yaml").is_file() and (folder / "columns.json").is_file():
        yield folder
        return
    if depth:
        for inner in sorted(folder.iterdir()):
            if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
                yield from find_runs(inner, depth - 1)


def scores(metrics: dict[str, Any]) -> str:
    """The scores on test, or else on dev."""
    measured = metrics.get("scores")
    if not isinstance(measured, dict) or not measured:
        return ""
    split = "test" if "test" in measured else next(iter(measured))
    figures = [
        f"{name} {score['value']:.4g}"
        for name, score in measured[split].items()
        if isinstance(score, dict) and isinstance(score.get("value"), int | float)
    ]
    return f"{split}: {', '.join(figures)}"


def state(run: Path) -> str:
    """The state of a run without scores."""
    if (run / ".regard.lock").exists():
        return "in training"
    if (run / "state" / "training.safetensors").is_file():
        return f"interrupted; regard train --resume {run}"
    return "not measured"


def when(run: Path) -> str:
    from datetime import datetime

    newest = max(path.stat().st_mtime for path in run.iterdir() if path.is_file())
    return f"{datetime.fromtimestamp(newest):%Y-%m-%d %H:%M}"


def read(path: Path) -> dict[str, Any]:
    """The content of a JSON file; empty if it is absent or damaged, so that one bad run does not hide the others."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
