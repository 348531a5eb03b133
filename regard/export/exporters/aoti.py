"""Programs that torch's Inductor compiled ahead of time, for one kind of machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.export.exporters.torch import TorchExporter
from regard.export.graphs import ExportedGraph
from regard.parts import register
from regard.private import OPENED, compile_ahead, open_compiled


@register("exporter", "aoti")
class CompiledExporter(TorchExporter):
    """The programs of `--to torch`, compiled ahead of time (AOTInductor) for the CPU of this machine."""

    opens = OPENED

    @classmethod
    def put(cls, graph: ExportedGraph, path: Path) -> None:
        compile_ahead(graph.program, path)

    @classmethod
    def opened(cls, path: Path) -> Callable[..., Any]:
        found: Callable[..., Any] = open_compiled(path)
        return found
