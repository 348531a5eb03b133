"""An exporter: the names of the weights, a line for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import regard


@regard.register("exporter", "names")
class NamesExporter(regard.export.Exporter):
    """The names and shapes of all weights, as text."""

    @classmethod
    def refused(cls, model: Any, output: str) -> str:
        return ""

    @classmethod
    def write(cls, model: Any, output: str, folder: Path) -> list[str]:
        lines = [f"{name} {tuple(one.shape)}" for name, one in model.network.named_parameters()]
        (folder / "names.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ["- `names.txt`: the weights, a line for each"]
